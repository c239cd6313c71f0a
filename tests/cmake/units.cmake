# What both builds of tests/run.sh share: a room's tests are compiled as a few units, and shared headers are precompiled.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12 CACHE STRING "")
set(SHARDWEAVE_PRECOMPILE ON CACHE BOOL "")
