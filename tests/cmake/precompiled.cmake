# shardweave_precompile(name headers...): object library `name`, whose precompiled headers others take by
# shardweave_precompiled(target name) when their compiler's options are the same. With clang the code of what these headers
# instantiate is compiled once and linked to all of them, in place of once in each of their units: a third of what a unit
# of tests takes. SHARDWEAVE_PRECOMPILED_FLAGS are options for that code.
#
# With clang, which loads no more of it than a source uses, tests, gallery and programs share one of them, target
# shared_precompiled.
set(SHARDWEAVE_PRECOMPILED_FLAGS "" CACHE STRING "More options for the code of what is precompiled, with clang")
function(shardweave_precompile name)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp CONTENT "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cpp)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_GENERATOR MATCHES "Ninja")
    target_compile_options(${name} PRIVATE -fpch-codegen)
    set(header ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch)
    set(code ${CMAKE_CURRENT_BINARY_DIR}/${name}_code${CMAKE_CXX_OUTPUT_EXTENSION})
    # of the root's folder, whose commands Ninja begins first: it takes longest
    cmake_language(EVAL CODE "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL shardweave_compile_precompiled
                                             [[${name}]] [[${header}]] [[${code}]])")
    set_target_properties(${name} PROPERTIES shardweave_code ${code})
  endif()
endfunction()

function(shardweave_compile_precompiled name header code)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${SHARDWEAVE_PRECOMPILED_FLAGS}")
  get_target_property(options ${name} COMPILE_OPTIONS)
  list(REMOVE_ITEM options -fpch-codegen)
  add_custom_command(OUTPUT ${code} COMMAND ${CMAKE_CXX_COMPILER} ${flags} ${options} -ffunction-sections -c ${header} -o ${code}
                     DEPENDS ${name} ${header} VERBATIM)
  add_custom_target(${name}_code DEPENDS ${code})
endfunction()

function(shardweave_precompiled target name)
  target_precompile_headers(${target} REUSE_FROM ${name})
  shardweave_precompiled_code(${target} ${name})
endfunction()

# Alone for who links objects of others that were compiled with it.
function(shardweave_precompiled_code target name)
  get_target_property(code ${name} shardweave_code)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    set(scope INTERFACE)
  elseif(type STREQUAL EXECUTABLE)
    set(scope PRIVATE)
  endif()
  if(code AND scope)
    # nothing but linking waits for it; as a source of the target, compiling would, too
    target_link_libraries(${target} ${scope} ${code} $<$<TARGET_EXISTS:without_doctest>:$<TARGET_OBJECTS:without_doctest>>)
    target_link_options(${target} ${scope} LINKER:--gc-sections)  # not all that is precompiled can be linked
  endif()
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/entries.cmake)
find_package(CLI11 QUIET)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND SHARDWEAVE_BUILD_EXAMPLES AND TARGET doctest_as_used AND CLI11_FOUND
   AND NOT SHARDWEAVE_PROGRAM_FLAGS AND NOT SHARDWEAVE_TESTED_ROOMS)
  shardweave_entries(entries)
  list(TRANSFORM entries REPLACE "(.+)" "<\\1>")
  # and what many tests include besides, none of which depends on how many problems a room tries
  shardweave_precompile(shared_precompiled <doctest/doctest.h> <CLI/CLI.hpp> ${entries} <boost/graph/adjacency_list.hpp>
                        <filesystem> <fstream> <iostream> <map> <set> <sstream> <support/random_tasks.hpp> <support/refusal.hpp>)
  target_link_libraries(shared_precompiled PRIVATE doctest_as_used CLI11::CLI11 shardweave_own_headers)
  target_include_directories(shared_precompiled PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  add_library(without_doctest OBJECT tests/support/without_doctest.cpp)
  target_link_libraries(without_doctest PRIVATE doctest_as_used)
  set_target_properties(shared_precompiled without_doctest PROPERTIES CXX_EXTENSIONS OFF)
endif()
