# cmake -C: the build of `tests/run.sh quick`, the first one of `tests/run.sh full`. Assertions stay on; optimized is what gains more by it than it costs.
set(CMAKE_BUILD_TYPE "" CACHE STRING "")
set(SHARDWEAVE_LONG_RUNNING_FLAGS "-O1" CACHE STRING "")
include(${CMAKE_CURRENT_LIST_DIR}/units.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/collector.cmake)
set(CMAKE_CXX_FLAGS "-O0 ${late_collector}" CACHE STRING "")
