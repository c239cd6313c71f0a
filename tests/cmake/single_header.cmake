# cmake -D source_dir=DIR -D work_dir=DIR -D compiler=FILE -D launcher=FILE -D python=FILE "-D include_dirs=DIR|DIR"
#       -P single_header.cmake
# Makes one header of shardweave.hpp, and builds and runs the first program of the gallery with it alone.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${work_dir})
file(MAKE_DIRECTORY ${work_dir})
run(${python} -B ${source_dir}/docs/packaging/single_header.py ${work_dir}/shardweave.hpp)
file(READ ${source_dir}/examples/gallery/planner.cpp program)
string(REGEX REPLACE "#include <shardweave/[^>]*>" "#include \"shardweave.hpp\"" program "${program}")
file(WRITE ${work_dir}/planner.cpp "${program}")
string(REPLACE "|" ";" include_dirs "${include_dirs}")
list(TRANSFORM include_dirs PREPEND -isystem)
run(${launcher} ${compiler} -std=c++20 -O0 ${include_dirs} ${work_dir}/planner.cpp -o ${work_dir}/planner -pthread)
run(${work_dir}/planner)
message(STATUS "a host builds with one header")
