# cmake -C: the build of examples/run.sh, of which a first call waits for all: few units, -O1, which takes a fifth less to
# compile than -O2 and a third less than -O3 (plans take as long), and no warnings, whose search is a tenth of the rest:
# tests/run.sh looks for them.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG" CACHE STRING "")
set(CMAKE_UNITY_BUILD ON CACHE BOOL "")
set(SHARDWEAVE_BUILD_TESTS OFF CACHE BOOL "")
if(NOT "$ENV{CXX}" MATCHES "clang")
  include(${CMAKE_CURRENT_LIST_DIR}/collector.cmake)
endif()
set(CMAKE_CXX_FLAGS "$ENV{CXXFLAGS} -w ${late_collector}" CACHE STRING "")
