# cmake -D compiler=... -D compiler_id=... -D source=FILE -D include_dirs=LIST -D definitions=LIST -P refused.cmake
# Passes if the compiler refuses FILE in at most 15 lines that match each regular expression of its first lines.
cmake_minimum_required(VERSION 3.25)

file(STRINGS ${source} expectations REGEX "^// expect: ")
file(STRINGS ${source} first LIMIT_COUNT 1)
if(NOT first MATCHES "^// expect: .")
  message(FATAL_ERROR "${source}: the first line must be '// expect: REGEX'")
endif()
list(TRANSFORM include_dirs PREPEND "-I")
list(TRANSFORM definitions PREPEND "-D")
if(compiler_id MATCHES "Clang")
  set(no_quotes -fno-caret-diagnostics)
else()
  set(no_quotes -fno-diagnostics-show-caret)
endif()
execute_process(COMMAND ${compiler} -std=c++20 -fsyntax-only ${no_quotes} ${include_dirs} ${definitions} -D SHARDWEAVE_REFUSED
                        ${source}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REPLACE "${source}" "" output "${output}")  # a file's name must not answer for the compiler
if(status EQUAL 0)
  message(FATAL_ERROR "${source} compiles, but should be refused: ${expectations}")
endif()
# what a user has to read; where headers are included from does not count
string(REGEX REPLACE "(^|\n)(In file included| +from )[^\n]*" "" text "${output}")
string(REGEX MATCHALL "\n[^\n]" lines "\n${text}")
list(LENGTH lines count)
if(count GREATER 15)
  message(FATAL_ERROR "${source} is refused in ${count} lines, expected at most 15:\n${output}")
endif()
foreach(line IN LISTS expectations)
  string(REGEX REPLACE "^// expect: " "" expected "${line}")
  if(NOT output MATCHES "${expected}")
    message(FATAL_ERROR "${source} is refused, but not with '${expected}':\n${output}")
  endif()
endforeach()
