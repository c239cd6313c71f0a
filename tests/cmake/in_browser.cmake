# Included by scripts that open pages: needs `browser` and `work_dir`.

# open_page(RESULT url width,height): the page as it stands once its scripts have run; fails where the browser complains.
function(open_page result url size)
  execute_process(COMMAND ${browser} --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run
                          --user-data-dir=${work_dir}/profile --window-size=${size} --virtual-time-budget=20000
                          --enable-logging=stderr --v=0 --dump-dom ${url}
                  OUTPUT_VARIABLE dom ERROR_VARIABLE complaints RESULT_VARIABLE status TIMEOUT 120)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${browser} ends with ${status}: ${complaints}")
  endif()
  if(complaints MATCHES "(CONSOLE[^\n]*)")
    message(FATAL_ERROR "${url}, ${size}: the browser complains: ${CMAKE_MATCH_1}")
  endif()
  set(${result} "${dom}" PARENT_SCOPE)
endfunction()

# check_page(url width,height): its script has written "ok" into the attribute data-checked
function(check_page url size)
  open_page(dom ${url} ${size})
  if(NOT dom MATCHES "data-checked=\"([^\"]*)\"")
    message(FATAL_ERROR "${url}, ${size}: the check has not come to its end")
  endif()
  if(NOT CMAKE_MATCH_1 STREQUAL "ok")
    message(FATAL_ERROR "${url}, ${size}: ${CMAKE_MATCH_1}")
  endif()
endfunction()
