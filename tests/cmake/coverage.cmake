# cmake -C: the build of tests/coverage.sh, which counts what tests run.
set(CMAKE_CXX_COMPILER clang++-16 CACHE STRING "")  # or a later one: tests/coverage.sh says which
set(CMAKE_BUILD_TYPE "" CACHE STRING "")
set(CMAKE_CXX_FLAGS "-O0 -fprofile-instr-generate -fcoverage-mapping" CACHE STRING "")
set(SHARDWEAVE_CHECK_ONCE OFF CACHE BOOL "")
set(SHARDWEAVE_EXAMPLE_FOLDERS programs CACHE STRING "")
set(SHARDWEAVE_PRECOMPILE OFF CACHE BOOL "")  # what is in a precompiled header is not counted
include(${CMAKE_CURRENT_LIST_DIR}/units.cmake)
