# cmake -C: the build of tests/run.sh, by clang++, which is the faster one at headers. Sanitized is what reads arbitrary input (the
# fuzz inputs); all rooms are by `tests/run.sh full` (sanitized.cmake). Optimized is what is compiled once for costs in double; all
# try as few random problems as under sanitizers, and of each fuzz input fewer changes are replayed.
set(CMAKE_CXX_COMPILER clang++-16 CACHE STRING "")  # or a later one: tests/run.sh says which
set(CMAKE_BUILD_TYPE "" CACHE STRING "")
set(CMAKE_CXX_FLAGS "-O0" CACHE STRING "")
set(SHARDWEAVE_LONG_RUNNING_FLAGS -O1 -mllvm -inline-threshold=60 CACHE STRING "")  # of 225 costs a fifth more, and gains nothing
set(SHARDWEAVE_COMPILED_BATCH 50 CACHE STRING "")  # all in one: what they share is parsed once
set(SHARDWEAVE_INT64_FLAGS "" CACHE STRING "")
set(SHARDWEAVE_SANITIZED_TESTS core fuzz CACHE STRING "")
set(SHARDWEAVE_SMALL_TESTS bucketing cost engine faults fuzz graph io lowering memory models overlap placement planner programs report
                           schedule simulate solve spmd step tasks CACHE STRING "")
set(SHARDWEAVE_CHECK_LESS ON CACHE BOOL "")
set(SHARDWEAVE_GALLERY planner report CACHE STRING "")
include(${CMAKE_CURRENT_LIST_DIR}/fast_linker.cmake)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 60 CACHE STRING "")  # what units share is instantiated fewer times
include(${CMAKE_CURRENT_LIST_DIR}/units.cmake)
