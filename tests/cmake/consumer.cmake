# cmake -D way=installed|subdirectory -D components=NAME,... -D each=BOOL ... -P consumer.cmake
# Builds and runs tests/consumer, a project of its own, as a host would: from an installed package, or with the
# sources beside its own. With `each` what is told at once is also told alone: a component that has gone, pkg-config's package
# without what is compiled; a host without exceptions also runs a pipeline.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${work_dir})
set(listed ${components})
string(REPLACE "," ";" components "${components}")
set(options -S ${source_dir}/tests/consumer -B ${work_dir}/build -G ${generator} -DCMAKE_CXX_COMPILER=${compiler}
            -DCMAKE_CXX_COMPILER_LAUNCHER=${launcher} -DBoost_DIR=${boost_dir} -DCOMPONENTS=${listed} -DEACH=${each})
if(way STREQUAL installed)
  # what the manifest lists is all that there is
  run(${CMAKE_COMMAND} --install ${build_dir} --prefix ${work_dir}/gone)
  file(STRINGS ${build_dir}/install_manifest.txt manifest)
  file(REMOVE ${manifest})
  file(GLOB_RECURSE left ${work_dir}/gone/*)
  list(LENGTH manifest count)
  if(left OR count LESS 100)
    message(FATAL_ERROR "of ${count} installed files these are left once those of the manifest are removed: ${left}")
  endif()
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
if(way STREQUAL installed)
  run(${work_dir}/build/no_exceptions)
endif()

find_program(pkg_config pkg-config)
if(way STREQUAL installed AND pkg_config)
  # without CMake: what pkg-config says, in the place that the package was moved to
  set(ENV{PKG_CONFIG_PATH} ${work_dir}/moved/share/pkgconfig)
  cmake_path(SET boost_include NORMALIZE ${boost_dir}/../../../../include)  # .../lib/TRIPLE/cmake/Boost-VERSION
  function(pkg_config_consumer package)
    run(${pkg_config} --cflags --libs ${package})
    separate_arguments(told UNIX_COMMAND "${output}")
    separate_arguments(same UNIX_COMMAND "${flags}")
    list(TRANSFORM ARGN PREPEND ${source_dir}/tests/consumer/ OUTPUT_VARIABLE sources)
    run(${launcher} ${compiler} -std=c++20 -D ALONE ${same} ${sources} ${told} -I${boost_include} -o ${work_dir}/${package})
    run(${work_dir}/${package})
  endfunction()
  if(each OR NOT compiled IN_LIST components)  # which needs it
    pkg_config_consumer(shardweave other.cpp)
  endif()
  if(compiled IN_LIST components)
    pkg_config_consumer(shardweave-compiled other.cpp)  # of which the library has the sorted graph
  endif()
  foreach(backend glpk clp cbc)
    if(backend IN_LIST components)
      run(${pkg_config} --exists --print-errors shardweave-${backend})
    endif()
  endforeach()
endif()

if(way STREQUAL installed)
  # a component that does not exist is refused by its name, and an optional one is only absent
  list(APPEND options --fresh)
  execute_process(COMMAND ${CMAKE_COMMAND} ${options} -DCOMPONENTS=no_such RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(status EQUAL 0 OR NOT output MATCHES "shardweave has no component no_such")
    message(FATAL_ERROR "component no_such was not refused: ${output}")
  endif()
  run(${CMAKE_COMMAND} ${options} -DCOMPONENTS= -DOPTIONAL=no_such)
  # while the version begins with 0 another minor one may be another interface
  execute_process(COMMAND ${CMAKE_COMMAND} ${options} -DCOMPONENTS= -DWANTED_VERSION=0.0 RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0 OR NOT output MATCHES "requested[ \n]+version \"0.0\"")
    message(FATAL_ERROR "an earlier minor version was not refused: ${output}")
  endif()

  # so is one whose libraries have gone since
  list(APPEND options -D CMAKE_PROJECT_TOP_LEVEL_INCLUDES=${source_dir}/tests/cmake/hide.cmake)
  set(gone)
  set(hidden)
  foreach(pair io=ZLIB glpk=GLPK clp=CLP cbc=CBC highs=highs mpi=MPI nccl=NCCL)
    string(REGEX MATCH "(.*)=(.*)" pair ${pair})
    if(CMAKE_MATCH_1 IN_LIST components)
      list(APPEND gone ${CMAKE_MATCH_1})
      list(APPEND hidden ${CMAKE_MATCH_2})
    endif()
  endforeach()
  # expect_gone(COMPONENTS PACKAGES): those components are not there, once those packages are not
  function(expect_gone gone hidden)
    list(JOIN gone "," listed)
    list(JOIN hidden "," hidden)
    run(${CMAKE_COMMAND} ${options} -D COMPONENTS= -D OPTIONAL=${listed} -D HIDDEN=${hidden})
    foreach(component IN LISTS gone)
      if(NOT output MATCHES "without ${component}")
        message(FATAL_ERROR "component ${component} is there, but not what it needs:\n${output}")
      endif()
    endforeach()
  endfunction()
  if(gone)
    expect_gone("${gone}" "${hidden}")
  endif()
  if(each)
    foreach(component package IN ZIP_LISTS gone hidden)
      expect_gone(${component} ${package})
    endforeach()
  endif()
endif()
