# cmake -D compiler=... -D source=FILE -D include_dirs=LIST -D definitions=LIST -D options=LIST -P accepted.cmake
# Passes if the compiler takes FILE, warnings aside unless `options` make them errors.
cmake_minimum_required(VERSION 3.25)
set(flags)
if(compiler MATCHES "(^|/)g[+][+]")
  include(${CMAKE_CURRENT_LIST_DIR}/collector.cmake)
  separate_arguments(flags UNIX_COMMAND "${late_collector}")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/syntax_only.cmake)
execute_process(COMMAND ${compile} ${source} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${compiler} does not take ${source}:\n${output}")
endif()
