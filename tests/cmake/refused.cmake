# cmake -D compiler=... -D compiler_id=... -D source=FILE -D include_dirs=LIST -P refused.cmake
# Passes if the compiler refuses FILE with a message that matches the regular expression of its first line, and takes
# its twin: FILE without SHARDWEAVE_REFUSED, if it speaks of that.
cmake_minimum_required(VERSION 3.25)

file(STRINGS ${source} first LIMIT_COUNT 1)
if(NOT first MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "${source}: the first line must be '// expect: REGEX'")
endif()
set(expected "${CMAKE_MATCH_1}")
list(TRANSFORM include_dirs PREPEND "-I")
if(compiler_id MATCHES "Clang")
  set(no_quotes -fno-caret-diagnostics)
else()
  set(no_quotes -fno-diagnostics-show-caret)
endif()
set(compile ${compiler} -std=c++20 -fsyntax-only ${no_quotes} ${include_dirs} ${source})
execute_process(COMMAND ${compile} -D SHARDWEAVE_REFUSED
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REPLACE "${source}" "" output "${output}")  # a file's name must not answer for the compiler
if(status EQUAL 0)
  message(FATAL_ERROR "${source} compiles, but should be refused with '${expected}'")
elseif(NOT output MATCHES "${expected}")
  message(FATAL_ERROR "${source} is refused, but not with '${expected}':\n${output}")
endif()
file(STRINGS ${source} twin REGEX "SHARDWEAVE_REFUSED")
if(twin)
  execute_process(COMMAND ${compile} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "what ${source} shows as right does not compile:\n${output}")
  endif()
endif()
