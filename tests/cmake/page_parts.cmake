# cmake -D source_dir=DIR [-D UPDATE=ON] -P page_parts.cmake
# The look and the behaviour of a report are written as CSS and JavaScript, in docs/page/; headers hold the same texts,
# without what a browser passes over, as string literals, in pieces that every compiler takes. Says where the two differ;
# with UPDATE it writes the headers.
cmake_minimum_required(VERSION 3.25)
cmake_path(ABSOLUTE_PATH source_dir)  # relative to where one stands

set(piece_length 12000)  # characters; compilers promise 64 KiB, MSVC 16

# What a browser needs of docs/page/FILE: no comments, no indentation, short lines put together. A comment behind code has
# two blanks before it; statements end in semicolons.
function(packed result file)
  file(READ ${source_dir}/docs/page/${file} text)
  string(REGEX REPLACE "/\\*[^\n]*\\*/" "" text "${text}")
  string(REGEX REPLACE "(^|\n) *//[^\n]*" "\\1" text "${text}")
  string(REGEX REPLACE "  // [^\n]*" "" text "${text}")
  string(REGEX REPLACE "[ \n]*\n[ \n]*" "\n" text "${text}")
  string(REGEX REPLACE "^\n" "" text "${text}")
  set(made "")
  set(line "")
  set(size 0)
  while(NOT text STREQUAL "")
    string(FIND "${text}" "\n" end)
    string(SUBSTRING "${text}" 0 ${end} next)
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${text}" ${end} -1 text)
    math(EXPR size "${size} + 1 + ${end}")
    if(size GREATER 120 AND NOT line STREQUAL "")
      string(APPEND made "${line}\n")
      set(line "${next}")
      set(size ${end})
    elseif(line STREQUAL "")
      set(line "${next}")
    else()
      string(APPEND line " ${next}")
    endif()
  endwhile()
  set(${result} "${made}${line}\n" PARENT_SCOPE)
endfunction()

# include/shardweave/report/detail/report_NAME.hpp of docs/page/FILE
function(made_header name file what)
  set(header ${source_dir}/include/shardweave/report/detail/report_${name}.hpp)
  packed(text ${file})
  if(text MATCHES "\\)page\"" OR text MATCHES "</[sS]")
    message(FATAL_ERROR "${file}: )page\" would end its literal, and </s its element")
  endif()
  set(pieces "")
  set(count 0)
  string(LENGTH "${text}" left)
  while(left GREATER 0)
    string(SUBSTRING "${text}" 0 ${piece_length} piece)
    if(left GREATER piece_length)  # whole lines
      string(FIND "${piece}" "\n" end REVERSE)
      math(EXPR end "${end} + 1")
      string(SUBSTRING "${text}" 0 ${end} piece)
    endif()
    string(LENGTH "${piece}" taken)
    string(SUBSTRING "${text}" ${taken} -1 text)
    string(LENGTH "${text}" left)
    string(APPEND pieces "    R\"page(${piece})page\",\n")
    math(EXPR count "${count} + 1")
  endwhile()
  set(made "#pragma once

#include <array>
#include <string_view>

/// \\file
/// ${what}: made of docs/page/${file} by tests/cmake/page_parts.cmake.

// clang-format off
namespace shardweave::inline v0::detail {

/// `docs/page/${file}`.
inline constexpr std::array<std::string_view, ${count}> report_${name} = {
${pieces}};

}  // namespace shardweave::inline v0::detail
")
  if(UPDATE)
    file(WRITE ${header} "${made}")
    return()
  endif()
  set(there "")
  if(EXISTS ${header})
    file(READ ${header} there)
  endif()
  if(NOT there STREQUAL made)
    message(FATAL_ERROR "${header} is not made of docs/page as it stands (-D UPDATE=ON writes it)\n")
  endif()
endfunction()

# the reports that stand in docs have them, too
set(old)
foreach(example llama3-8b captured_llama3-8b)
  set(example ${source_dir}/docs/${example}.html)
  file(READ ${example} page)
  set(new "${page}")
  foreach(part "report.css=<style>\n=</style>" "report.js=</script>\n<script>\n=</script>\n</body>")
    string(REGEX MATCH "^(.*)=(.*)=(.*)$" part "${part}")
    set(open "${CMAKE_MATCH_2}")
    set(close "${CMAKE_MATCH_3}")
    packed(text ${CMAKE_MATCH_1})
    string(FIND "${new}" "${open}" from REVERSE)
    string(FIND "${new}" "${close}" to REVERSE)
    string(LENGTH "${open}" length)
    math(EXPR from "${from} + ${length}")
    string(SUBSTRING "${new}" 0 ${from} before)
    string(SUBSTRING "${new}" ${to} -1 after)
    set(new "${before}${text}${after}")
  endforeach()
  if(UPDATE)
    file(WRITE ${example} "${new}")
  elseif(NOT new STREQUAL page)
    list(APPEND old ${example})
  endif()
endforeach()
if(old)
  message(FATAL_ERROR "${old}: does not have the page as it stands (-D UPDATE=ON writes it)\n")
endif()

made_header(style report.css "What a report looks like")
made_header(script report.js "What a report does")
message(STATUS "the page of a report is made of its parts")
