# cmake -C: the first build of tests/run.sh. Assertions stay on; optimized is what gains more by it than it costs.
set(CMAKE_BUILD_TYPE "" CACHE STRING "")
set(CMAKE_CXX_FLAGS "-O0" CACHE STRING "")
set(SHARDWEAVE_LONG_RUNNING_FLAGS "-O1" CACHE STRING "")
# A room's tests are one unit, and so is the gallery: they share most of what they read and instantiate.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 60 CACHE STRING "")
