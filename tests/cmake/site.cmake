# cmake -D source_dir=DIR -D python=FILE -D browser=FILE -D work_dir=DIR -P site.cmake
# Makes the site of pages and headers (docs/build.sh: what Doxygen warns of and links that lead nowhere are errors), opens
# some of its pages at the width of a screen and of a phone, and asks its search what newcomers ask. Without a browser the
# site is made, and not opened.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/in_browser.cmake)
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
if(NOT browser)
  message(STATUS "the site was not opened: Chromium was not found")
  return()
endif()

file(COPY ${source_dir}/tests/site/questions.js DESTINATION ${site})
file(WRITE ${site}/questions_test.html "<!DOCTYPE html><html><head><link rel=\"icon\" href=\"data:,\"></head><body>
<script src=\"index.js\"></script><script src=\"search.js\"></script><script src=\"questions.js\"></script>
<script>const open = unanswered(), ok = questions.length >= 20 && !open.length;
document.documentElement.dataset.checked = ok ? 'ok' : open.length + ' questions are not answered: ' + open.join('; ');</script>
</body></html>\n")
check_page(file://${site}/questions_test.html 1200,900)
foreach(size "1200,900" "390,844")
  foreach(page index guide reference/index reference/report/html rooms/solve)
    open_page(dom file://${site}/${page}.html ${size})
  endforeach()
endforeach()
open_page(dom "file://${site}/guide.html?q=which%20header%20has%20glpk" 1200,900)
if(NOT dom MATCHES "<ol id=\"found\"[^>]*><li><a href=\"reference/solve/backend/glpk.html")
  message(FATAL_ERROR "the search of a page does not show where glpk is")
endif()
message(STATUS "the site opens, and answers what newcomers ask")
