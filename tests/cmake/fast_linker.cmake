# Included by what is given to cmake -C, for clang: lld, where it is, links programs of this size in a fifth of the time.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -fuse-ld=lld -Wl,--version RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
if(status EQUAL 0)
  set(CMAKE_EXE_LINKER_FLAGS -fuse-ld=lld CACHE STRING "")
endif()
