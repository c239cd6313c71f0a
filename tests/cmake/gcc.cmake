# cmake -C: the first build of tests/run.sh. Assertions stay on; optimized as much as shortens the whole, build and run.
set(CMAKE_BUILD_TYPE "" CACHE STRING "")
set(CMAKE_CXX_FLAGS "-O1 -g1" CACHE STRING "")
