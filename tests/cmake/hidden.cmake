# cmake -D package=NAME -D "words=REGEX" ... -P hidden.cmake
# Configures the project as if that package was not installed: what needs it is absent, and said to be, or the project is
# refused by its name. Then once more in the same folder, as if it had been installed since: nothing of it is left.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${work_dir})
set(command ${CMAKE_COMMAND} -S ${source_dir} -B ${work_dir} -G ${generator} -D CMAKE_CXX_COMPILER=${compiler}
            -D CMAKE_PROJECT_TOP_LEVEL_INCLUDES=${source_dir}/tests/cmake/hide.cmake)
if(NOT package STREQUAL Boost)
  list(APPEND command -D Boost_DIR=${boost_dir})
endif()

execute_process(COMMAND ${command} -D HIDDEN=${package} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(NOT output MATCHES "${words}")
  message(FATAL_ERROR "without ${package}, '${words}' is not said:\n${output}")
endif()
if(package MATCHES "^(Boost|Eigen3)$")
  if(status EQUAL 0)
    message(FATAL_ERROR "without ${package} the core cannot be there:\n${output}")
  endif()
elseif(NOT status EQUAL 0)
  message(FATAL_ERROR "without ${package} the rest must still be there:\n${output}")
endif()

execute_process(COMMAND ${command} -D HIDDEN= -D Boost_DIR=${boost_dir} RESULT_VARIABLE status OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(NOT status EQUAL 0 OR output MATCHES "${words}")
  message(FATAL_ERROR "${package}, once it was not found, is not found again:\n${output}")
endif()
