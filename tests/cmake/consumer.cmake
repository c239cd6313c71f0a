# cmake -D way=installed|subdirectory ... -P consumer.cmake
# Builds and runs tests/consumer, a project of its own, as a host would: from an installed package, or with the
# sources beside its own.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(output "${output}" PARENT_SCOPE)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " text)
    message(FATAL_ERROR "${text}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${work_dir})
string(REPLACE "," ";" components "${components}")
set(options -S ${source_dir}/tests/consumer -B ${work_dir}/build -G ${generator} -DCMAKE_CXX_COMPILER=${compiler}
            -DCMAKE_CXX_COMPILER_LAUNCHER=${launcher} -DBoost_DIR=${boost_dir} "-DCOMPONENTS=${components}")
if(way STREQUAL installed)
  run(${CMAKE_COMMAND} --install ${build_dir} --prefix ${work_dir}/installed)
  # what is installed must work where it is moved to
  file(RENAME ${work_dir}/installed ${work_dir}/moved)
  # the compiled component was built with these
  list(APPEND options -DCMAKE_PREFIX_PATH=${work_dir}/moved "-DCMAKE_EXE_LINKER_FLAGS=${flags}")
else()
  list(APPEND options -DSHARDWEAVE_SOURCE=${source_dir})
endif()
run(${CMAKE_COMMAND} ${options})
run(${CMAKE_COMMAND} --build ${work_dir}/build)
run(${work_dir}/build/consumer)
if(way STREQUAL installed AND compiled IN_LIST components)
  run(${work_dir}/build/compiled_consumer)
endif()
if(way STREQUAL subdirectory)
  run(${work_dir}/build/no_exceptions)
endif()

if(way STREQUAL installed)
  # a component that does not exist is refused by its name, and an optional one is only absent
  list(APPEND options --fresh)
  execute_process(COMMAND ${CMAKE_COMMAND} ${options} -DCOMPONENTS=no_such RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(status EQUAL 0 OR NOT output MATCHES "shardweave was installed without component no_such")
    message(FATAL_ERROR "component no_such was not refused: ${output}")
  endif()
  run(${CMAKE_COMMAND} ${options} -DCOMPONENTS= -DOPTIONAL=no_such)

  # so is one whose libraries have gone since
  list(APPEND options -D CMAKE_PROJECT_TOP_LEVEL_INCLUDES=${source_dir}/tests/cmake/hide.cmake)
  foreach(pair io=ZLIB glpk=GLPK clp=CLP cbc=CBC highs=highs mpi=MPI nccl=NCCL)
    string(REGEX MATCH "(.*)=(.*)" pair ${pair})
    set(component ${CMAKE_MATCH_1})
    if(component IN_LIST components)
      run(${CMAKE_COMMAND} ${options} -D COMPONENTS= -D OPTIONAL=${component} -D HIDDEN=${CMAKE_MATCH_2})
      if(NOT output MATCHES "without ${component}")
        message(FATAL_ERROR "component ${component} is there, but not what it needs:\n${output}")
      endif()
    endif()
  endforeach()
endif()
