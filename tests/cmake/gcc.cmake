# cmake -C: the first build of tests/run.sh. Assertions stay on; not optimized, which shortens the whole.
set(CMAKE_BUILD_TYPE "" CACHE STRING "")
set(CMAKE_CXX_FLAGS "-O0 -g1" CACHE STRING "")
