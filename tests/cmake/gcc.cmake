# cmake -C: the first build of tests/run.sh. Assertions stay on; what runs for long is optimized (tests/CMakeLists.txt).
set(CMAKE_BUILD_TYPE "" CACHE STRING "")
set(CMAKE_CXX_FLAGS "-O0" CACHE STRING "")
# A room's tests are one unit, and so is the gallery: they share most of what they read and instantiate.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12 CACHE STRING "")
