# cmake -D source_dir=DIR -D work_dir=DIR -D bazel=FILE -D rules=DIR -D include_dirs=LIST -P bazel.cmake
# Builds and runs hosts in a workspace of Bazel, with the build file that docs/packaging/README.md tells of. Nothing is
# fetched: the rules that Bazel would load are those that Debian packages (`rules`), and for C++ those that it holds itself.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${work_dir}/workspace)
file(COPY ${source_dir}/tests/consumer/ DESTINATION ${work_dir}/workspace PATTERN CMakeLists.txt EXCLUDE)
file(WRITE ${work_dir}/workspace/WORKSPACE "new_local_repository(
    name = \"shardweave\",
    path = \"${source_dir}\",
    build_file = \"${source_dir}/docs/packaging/bazel/shardweave.BUILD\",
)\n")
file(WRITE ${work_dir}/workspace/BUILD
     "cc_binary(name = \"host\", srcs = [\"main.cpp\", \"other.cpp\"], deps = [\"@shardweave//:shardweave\"])
cc_binary(name = \"host_of_compiled\", srcs = [\"compiled.cpp\"], deps = [\"@shardweave//:compiled\"])\n")
set(own ${work_dir}/rules_cc)
foreach(file WORKSPACE BUILD cc/BUILD)
  file(WRITE ${own}/${file} "")
endforeach()
file(WRITE ${own}/cc/defs.bzl "")
foreach(rule binary import library proto_library test toolchain toolchain_suite)
  file(APPEND ${own}/cc/defs.bzl "cc_${rule} = native.cc_${rule}\n")
endforeach()

list(TRANSFORM include_dirs PREPEND "--cxxopt=-isystem")
set(targets host host_of_compiled)
foreach(target IN LISTS targets)
  execute_process(COMMAND ${bazel} --batch --output_user_root=${work_dir}/out build --jobs=1 --symlink_prefix=${work_dir}/
                          --override_repository=rules_cc=${own} --override_repository=platforms=${rules}/../platforms
                          --override_repository=rules_java=${rules}/java --override_repository=rules_proto=${rules}/proto
                          --cxxopt=-std=c++20 ${include_dirs} //:${target}
                  WORKING_DIRECTORY ${work_dir}/workspace RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${target} is not built:\n${output}")
  endif()
  execute_process(COMMAND ${work_dir}/bin/${target} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${target} ends with status ${status}")
  endif()
endforeach()
message(STATUS "built and run in a workspace of Bazel: ${targets}")
