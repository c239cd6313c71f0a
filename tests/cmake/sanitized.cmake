# cmake -C: the second build of `tests/run.sh full`. What one compiler is enough for (headers alone, consumers, fuzz inputs) is
# checked here; of the examples the gallery is. With -D SHARDWEAVE_SANITIZERS=thread before it: data races.
set(CMAKE_CXX_COMPILER clang++-16 CACHE STRING "")  # or a later one: tests/run.sh says which
set(CMAKE_BUILD_TYPE "" CACHE STRING "")
set(SHARDWEAVE_SANITIZERS address,undefined CACHE STRING "As of clang's -fsanitize")
set(CMAKE_CXX_FLAGS "-O0 -fno-omit-frame-pointer -fsanitize=${SHARDWEAVE_SANITIZERS} -fno-sanitize-recover=all\
 -fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/sanitized_not.txt" CACHE STRING "")
include(${CMAKE_CURRENT_LIST_DIR}/fast_linker.cmake)
set(SHARDWEAVE_EXAMPLE_FOLDERS gallery CACHE STRING "")
# what is compiled once is worth it: tests run in less than half of the time; inlining would cost the compiler more
set(SHARDWEAVE_PRECOMPILED_FLAGS "-O1 -mllvm -inline-threshold=0" CACHE STRING "")
include(${CMAKE_CURRENT_LIST_DIR}/units.cmake)
