# cmake -D source_dir=DIR -D python=FILE -D browser=FILE -D work_dir=DIR -P site.cmake
# Makes the site of pages and headers (docs/build.sh: what Doxygen warns of and links that lead nowhere are errors) and uses
# it in a browser (tests/browser/site.py). Without a browser the site is made, and not opened.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${work_dir})
file(MAKE_DIRECTORY ${work_dir})
set(site ${work_dir}/site)
execute_process(COMMAND ${CMAKE_COMMAND} -E env PYTHON=${python} ${source_dir}/docs/build.sh ${site}
                OUTPUT_VARIABLE told ERROR_VARIABLE reason RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "docs/build.sh ends with ${status}:\n${told}${reason}")
endif()
string(STRIP "${told}" told)
message(STATUS "${told}")
execute_process(COMMAND ${source_dir}/docs/build.sh --help WORKING_DIRECTORY ${work_dir} OUTPUT_QUIET ERROR_QUIET
                RESULT_VARIABLE status)
if(NOT status EQUAL 2 OR EXISTS ${work_dir}/--help)
  message(FATAL_ERROR "docs/build.sh takes an option for a folder: status ${status}")
endif()
if(NOT browser)
  message(STATUS "the site was not opened: Chromium was not found")
  return()
endif()

execute_process(COMMAND ${python} ${source_dir}/tests/browser/site.py ${browser} ${site} ${source_dir}/tests/site/questions.js
                OUTPUT_VARIABLE told ERROR_VARIABLE reason RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the site does not work in ${browser}:\n${told}${reason}")
endif()
message(STATUS "the site opens, answers what newcomers ask, and is used by keys")
