# cmake -C: the first build of tests/run.sh. Assertions stay on; optimized is what gains more by it than it costs.
set(CMAKE_BUILD_TYPE "" CACHE STRING "")
set(SHARDWEAVE_LONG_RUNNING_FLAGS "-O1" CACHE STRING "")
include(${CMAKE_CURRENT_LIST_DIR}/units.cmake)
# A seventh of the compiler's time is spent on collecting its garbage; where there is memory, it starts later.
cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)  # MiB
math(EXPR heap "${memory} * 1024 / 8")
if(heap GREATER 4194304)
  set(heap 4194304)
endif()
set(CMAKE_CXX_FLAGS "-O0 --param ggc-min-heapsize=${heap}" CACHE STRING "")
