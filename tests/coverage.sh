#!/usr/bin/env bash
# tests/coverage.sh [ROOM...]: which lines and branches of include/ the tests run, of all rooms or those named
#
# Builds the tests of each room (and the programs, for room `programs`) with clang's source-based coverage, runs them, and
# prints a table by room and header. What an earlier call ran of other rooms stays counted. The
# lines and branches that nothing runs are listed in build/coverage/uncovered.txt. Needs clang++ from 16 on and llvm-profdata
# and llvm-cov of the same version.
set -euo pipefail
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$tests")
. "$root/examples/packages.sh"
if [ $# = 0 ]; then
  set -- $(cd "$tests" && find . -name "*_test.cpp" | cut -d/ -f2 | sort -u)
fi
for room in "$@"; do
  [ -d "$tests/$room" ] || { say "coverage.sh: there is no folder $room in tests" && exit 2; }
done
want_clang
install_missing
find_clang || { say "coverage.sh: there is no clang++ from 16 on" && exit 2; }
version=$("$clang" -dumpversion | cut -d. -f1)
need "llvm-$version" has_command "llvm-cov-$version"
need python3 has_command python3
need_build_tools "$root/build/packages"
need doctest-dev has_header '#include <doctest/doctest.h>'
install_missing

build=$root/build/coverage
configure "$root" "$build" -D CMAKE_CXX_COMPILER="$clang" -C "$tests/cmake/coverage.cmake"
mkdir -p "$build/profiles"
for room in "$@"; do
  targets=("test_$room")
  if [ "$room" = programs ]; then targets+=(all); fi
  quietly "$build/build.log" cmake --build "$build" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target "${targets[@]}"
  raw=$build/raw-$room
  rm -rf "$raw" && mkdir "$raw"
  status=0
  (cd "$build" && LLVM_PROFILE_FILE="$raw/%4m.profraw" "$build/tests/test_$room") >"$build/$room.log" 2>&1 || status=$?
  [ $status = 0 ] || say "coverage.sh: tests of $room fail, see $build/$room.log"
  find "$raw" -name '*.profraw' >"$raw.list"
  "llvm-profdata-$version" merge -sparse -f "$raw.list" -o "$build/profiles/$room.profdata"
  rm -rf "$raw" "$raw.list"
done
python3 -B "$tests/coverage.py" "$build" "$root/include/shardweave" "llvm-cov-$version"
