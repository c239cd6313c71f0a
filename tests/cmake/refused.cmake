# cmake -D compiler=... -D compiler_id=... -D source=FILE -D include_dirs=LIST -D definitions=LIST -D flags=TEXT
#       -D options=LIST -D twin=BOOL -P refused.cmake
# Passes if the compiler refuses FILE with the words of its first lines (expected.cmake) and, with `twin`, takes it where
# SHARDWEAVE_REFUSED is not defined. `flags` name what is precompiled; a file whose twin includes more is compiled without.
cmake_minimum_required(VERSION 3.25)

file(READ ${source} text)
if(text MATCHES "#ifn?def SHARDWEAVE_REFUSED\n#include")
  set(flags "")
endif()
separate_arguments(flags UNIX_COMMAND "${flags}")
include(${CMAKE_CURRENT_LIST_DIR}/syntax_only.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/expected.cmake)
if(compiler_id MATCHES "Clang")
  set(no_quotes -fno-caret-diagnostics)
else()
  set(no_quotes -fno-diagnostics-show-caret)
endif()
if(twin AND text MATCHES "SHARDWEAVE_REFUSED")
  execute_process(COMMAND ${compile} ${source} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${source} does not compile without SHARDWEAVE_REFUSED:\n${output}")
  endif()
endif()
execute_process(COMMAND ${compile} -w ${no_quotes} -D SHARDWEAVE_REFUSED ${source}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  set(output "")
endif()
said_as_expected(${source} "${output}")
