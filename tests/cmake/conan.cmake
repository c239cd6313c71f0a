# cmake -D source_dir=DIR -D work_dir=DIR -D conan=FILE -P conan.cmake
# Makes the Conan package and runs its test package, with Boost, Eigen and zlib as the system has them: nothing is fetched.
# Without component compiled, and with it.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${work_dir})
file(MAKE_DIRECTORY ${work_dir})
set(ENV{CONAN_HOME} ${work_dir}/home)
run(${conan} profile detect)
file(READ ${work_dir}/home/profiles/default profile)
string(REGEX REPLACE "compiler.cppstd=[a-z0-9]+" "compiler.cppstd=20" profile "${profile}")
file(WRITE ${work_dir}/home/profiles/system "${profile}
[platform_requires]
boost/1.83.0
eigen/3.4.0
zlib/1.3.1
")
set(ways False True)
foreach(way IN LISTS ways)
  run(${conan} create ${source_dir}/docs/packaging/conan -pr:a system --no-remote -o "&:compiled=${way}"
      -c tools.cmake.cmake_layout:test_folder=${work_dir}/test_${way})
  if(NOT output MATCHES "Running test\\(\\)")
    message(FATAL_ERROR "the test package did not run:\n${output}")
  endif()
endforeach()
message(STATUS "a host builds with the Conan package; with component compiled: ${ways}")
