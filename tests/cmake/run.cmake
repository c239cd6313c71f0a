# Included by scripts that run commands.

# run_in(FOLDER COMMAND...): ends with what the command says if it fails; else that is in `output`
function(run_in folder)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${folder} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  set(output "${output}" PARENT_SCOPE)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " text)
    message(FATAL_ERROR "${text}\n${output}")
  endif()
endfunction()

# run(COMMAND...)
macro(run)
  run_in(${CMAKE_CURRENT_BINARY_DIR} ${ARGN})
endmacro()

# expect_of(SCRIPT ARGUMENT REGEX): the check refuses in such words, or, if the regex is "accepted", does not
function(expect_of script argument regex)
  execute_process(COMMAND ${CMAKE_COMMAND} -D ${argument} -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${script}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(regex STREQUAL "accepted")
    if(NOT status EQUAL 0)
      message(SEND_ERROR "refused without need: ${output}")
    endif()
  elseif(status EQUAL 0 OR NOT output MATCHES "${regex}")
    message(SEND_ERROR "expected a refusal with '${regex}', got status ${status}: ${output}")
  endif()
endfunction()
