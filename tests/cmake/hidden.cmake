# cmake -D packages=NAME,... -D "words=REGEX|REGEX|..." ... -P hidden.cmake
# Configures the project as if these packages were not installed: what needs them is absent, and said to be, or the project is
# refused by a name. Then once more in the same folder, as if they had been installed since: nothing of it is left.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${work_dir})
set(command ${CMAKE_COMMAND} -S ${source_dir} -B ${work_dir} -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
            -D CMAKE_PROJECT_TOP_LEVEL_INCLUDES=${source_dir}/tests/cmake/hide.cmake)
string(REPLACE "|" ";" words "${words}")
if(NOT packages STREQUAL Boost)
  list(APPEND command -D Boost_DIR=${boost_dir})
endif()

execute_process(COMMAND ${command} -D HIDDEN=${packages} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
foreach(word IN LISTS words)
  if(NOT output MATCHES "${word}")
    message(FATAL_ERROR "without ${packages}, '${word}' is not said:\n${output}")
  endif()
endforeach()
if(packages MATCHES "^(Boost|Eigen3)$")
  if(status EQUAL 0)
    message(FATAL_ERROR "without ${packages} the core cannot be there:\n${output}")
  endif()
elseif(NOT status EQUAL 0)
  message(FATAL_ERROR "without ${packages} the rest must still be there:\n${output}")
endif()

execute_process(COMMAND ${command} -D HIDDEN= -D Boost_DIR=${boost_dir} RESULT_VARIABLE status OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "once ${packages} were not found, they are not found again:\n${output}")
endif()
foreach(word IN LISTS words)
  if(output MATCHES "${word}")
    message(FATAL_ERROR "of ${packages}, once they were not found, one is not found again:\n${output}")
  endif()
endforeach()
