# cmake -C: the first build of tests/run.sh. Assertions stay on; optimization is as much as shortens the whole.
set(CMAKE_BUILD_TYPE "" CACHE STRING "")
set(CMAKE_CXX_FLAGS "-O1 -g1" CACHE STRING "")
