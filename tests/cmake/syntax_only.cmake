# Included where `compiler`, `flags`, `options`, `include_dirs` and `definitions` are set: in `compile` what has a compiler look at
# a source and make nothing. Warnings are about our own headers.
list(REMOVE_DUPLICATES include_dirs)
list(FILTER include_dirs EXCLUDE REGEX "^/usr/include/?$")  # the compiler knows it
cmake_path(SET root NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../..)
set(include_flags)
foreach(dir IN LISTS include_dirs)
  cmake_path(IS_PREFIX root ${dir} is_own)
  if(is_own)
    list(APPEND include_flags -I${dir})
  else()
    list(APPEND include_flags -isystem ${dir})
  endif()
endforeach()
list(FILTER definitions EXCLUDE REGEX "^$")
list(TRANSFORM definitions PREPEND "-D")
set(compile ${compiler} ${flags} ${options} -std=c++20 -fsyntax-only ${include_flags} ${definitions})
