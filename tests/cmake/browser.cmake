# cmake -D browser=FILE -D program=FILE -D check=FILE.js -D work_dir=DIR -P browser.cmake
# Opens the page that `program FILE.html` writes in a browser without a window, as wide as a screen and as narrow as a
# phone, lets `check` use it, and fails where that finds something or the browser complains.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/in_browser.cmake)
file(REMOVE_RECURSE ${work_dir})
file(MAKE_DIRECTORY ${work_dir})
execute_process(COMMAND ${program} ${work_dir}/page.html OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(READ ${work_dir}/page.html page)
file(READ ${check} script)
string(REPLACE "</body>" "<script>\n${script}</script>\n</body>" page "${page}")
file(WRITE ${work_dir}/checked.html "${page}")
check_page(file://${work_dir}/checked.html 1200,900)
check_page(file://${work_dir}/checked.html 390,844)
message(STATUS "the page works in a browser")
