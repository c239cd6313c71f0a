# cmake -D browser=FILE -D program=FILE -D check=FILE.js -D work_dir=DIR -P browser.cmake
# Opens the page that `program FILE.html` writes in a browser without a window, as wide as a screen and as narrow as a
# phone, lets `check` use it, and fails where that finds something or the browser complains.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${work_dir})
file(MAKE_DIRECTORY ${work_dir})
execute_process(COMMAND ${program} ${work_dir}/page.html OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(READ ${work_dir}/page.html page)
file(READ ${check} script)
string(REPLACE "</body>" "<script>\n${script}</script>\n</body>" page "${page}")
file(WRITE ${work_dir}/checked.html "${page}")

foreach(size "1200,900" "390,844")
  execute_process(COMMAND ${browser} --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run
                          --user-data-dir=${work_dir}/profile --window-size=${size} --virtual-time-budget=20000
                          --enable-logging=stderr --v=0 --dump-dom file://${work_dir}/checked.html
                  OUTPUT_VARIABLE dom ERROR_VARIABLE complaints RESULT_VARIABLE status TIMEOUT 120)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${browser} ends with ${status}: ${complaints}")
  endif()
  if(complaints MATCHES "(CONSOLE[^\n]*)")
    message(FATAL_ERROR "${size}: the browser complains: ${CMAKE_MATCH_1}")
  endif()
  if(NOT dom MATCHES "data-checked=\"([^\"]*)\"")
    message(FATAL_ERROR "${size}: the check has not come to its end")
  endif()
  if(NOT CMAKE_MATCH_1 STREQUAL "ok")
    message(FATAL_ERROR "${size}: ${CMAKE_MATCH_1}")
  endif()
endforeach()
message(STATUS "the page works in a browser")
