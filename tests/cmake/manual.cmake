# cmake -D source_dir=DIR -D python=FILE -D programs=FILE|FILE... -D work_dir=DIR -P manual.cmake
# Makes manual pages and completion of the programs, and checks that each page has every option of --help and what the
# exit statuses mean, that groff sees nothing wrong with it, that bash completes options and their values, and that zsh
# can read its own. What is not here (groff, zsh) is left out.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "|" ";" programs "${programs}")
list(LENGTH programs count)
file(REMOVE_RECURSE ${work_dir})
execute_process(COMMAND ${python} -B ${source_dir}/docs/site/manual.py ${work_dir} ${programs} COMMAND_ERROR_IS_FATAL ANY)
find_program(groff groff)
find_program(zsh zsh)
foreach(program IN LISTS programs)
  cmake_path(GET program STEM name)
  file(READ ${work_dir}/man/man1/${name}.1 page)
  string(REPLACE "\\-" "-" page "${page}")
  execute_process(COMMAND ${program} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "\n  (-h,)?--[a-z][a-z0-9-]*" options "${help}")
  foreach(option IN LISTS options)
    string(REGEX MATCH "--[a-z][a-z0-9-]*" option "${option}")
    string(FIND "${page}" "\\fB${option}\\fR" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "the page of ${name} has no ${option}")
    endif()
  endforeach()
  if(page MATCHES "(Excludes|Needs)(:|\\\\fR)")
    message(FATAL_ERROR "the page of ${name} takes '${CMAKE_MATCH_1}' for a part of a value")
  endif()
  foreach(part NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS")
    if(NOT page MATCHES "\n\\.SH ${part}\n")
      message(FATAL_ERROR "the page of ${name} has no part ${part}")
    endif()
  endforeach()
  if(groff)
    execute_process(COMMAND ${groff} -man -Tutf8 -ww -z ${work_dir}/man/man1/${name}.1 ERROR_VARIABLE warnings)
    if(warnings)
      message(FATAL_ERROR "groff on the page of ${name}: ${warnings}")
    endif()
  endif()
  # words typed, and what must be among the answers
  foreach(case "--h=--help" "--j=--json")
    string(REGEX MATCH "(.*)=(.*)" case ${case})
    execute_process(COMMAND bash -c "source ${work_dir}/bash-completion/completions/${name}
        COMP_WORDS=(${name} ${CMAKE_MATCH_1}) COMP_CWORD=1; _shardweave_${name}; printf '%s ' \"\${COMPREPLY[@]}\""
                    OUTPUT_VARIABLE answers COMMAND_ERROR_IS_FATAL ANY)
    if(NOT " ${answers}" MATCHES " ${CMAKE_MATCH_2} ")
      message(FATAL_ERROR "bash completes ${name} ${CMAKE_MATCH_1} to '${answers}'")
    endif()
  endforeach()
  if(name STREQUAL plan_training)
    execute_process(COMMAND bash -c "source ${work_dir}/bash-completion/completions/${name}
        COMP_WORDS=(${name} --device g) COMP_CWORD=2; _shardweave_${name}; printf '%s' \"\${COMPREPLY[*]}\""
                    OUTPUT_VARIABLE answers COMMAND_ERROR_IS_FATAL ANY)
    if(NOT answers STREQUAL "gb200")
      message(FATAL_ERROR "bash completes ${name} --device g to '${answers}'")
    endif()
  endif()
  if(zsh)
    execute_process(COMMAND ${zsh} -n ${work_dir}/zsh/site-functions/_${name} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()

# the page is the same when made from the help of CLI11 2.4
list(FILTER programs INCLUDE REGEX "/collective_cost$")
foreach(program IN LISTS programs)
  file(WRITE ${work_dir}/newer/collective_cost "#!/bin/bash
set -o pipefail
${program} \"$@\" | sed -E 's/^(  -\\S+ [A-Z]+)=(\\S+)/\\1 [\\2] /; s/ (Excludes|Needs): /  \\1: /'
")
  file(CHMOD ${work_dir}/newer/collective_cost PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  execute_process(COMMAND ${python} -B ${source_dir}/docs/site/manual.py ${work_dir}/of_newer ${work_dir}/newer/collective_cost
                  COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${work_dir}/man/man1/collective_cost.1 page)
  file(READ ${work_dir}/of_newer/man/man1/collective_cost.1 of_newer)
  if(NOT page STREQUAL of_newer)
    message(FATAL_ERROR "the page of collective_cost is another one with a newer CLI11, see ${work_dir}/of_newer")
  endif()
endforeach()
message(STATUS "${count} programs have a manual page, and completion")
