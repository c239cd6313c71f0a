# cmake -D source_dir=DIR -D work_dir=DIR -D compiler=FILE -D launcher=FILE -P debian.cmake
# Makes the Debian package, unpacks it, and builds a host with what pkg-config and CMake find in it.
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
file(MAKE_DIRECTORY ${work_dir})
run(${source_dir}/docs/packaging/debian.sh ${work_dir})
file(GLOB package ${work_dir}/libshardweave-dev_*_all.deb)
run(dpkg-deb -x ${package} ${work_dir}/root)

set(ENV{PKG_CONFIG_PATH} ${work_dir}/root/usr/share/pkgconfig)
run(pkg-config --cflags --libs shardweave)
separate_arguments(told UNIX_COMMAND "${output}")
set(host ${source_dir}/tests/consumer)
run(${launcher} ${compiler} -std=c++20 ${host}/main.cpp ${host}/other.cpp ${told} -o ${work_dir}/by_pkg_config)
run(${work_dir}/by_pkg_config)
run(pkg-config --exists --print-errors shardweave-clp shardweave-cbc)

run(${CMAKE_COMMAND} -S ${host} -B ${work_dir}/build -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_CXX_COMPILER_LAUNCHER=${launcher}
    -D CMAKE_PREFIX_PATH=${work_dir}/root/usr "-DCOMPONENTS=io;clp")
run(${CMAKE_COMMAND} --build ${work_dir}/build --target consumer)
run(${work_dir}/build/consumer)
message(STATUS "a host builds with the Debian package")
