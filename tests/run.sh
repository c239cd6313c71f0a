#!/usr/bin/env bash
# tests/run.sh        rooms and programs once, with clang++, the readers' fuzz inputs under its sanitizers; a host with g++; what
#                     it leaves to `full` stands in a table of docs/contributing.md
# tests/run.sh quick  all with g++ alone, all random problems
# tests/run.sh full   all with g++, all under the sanitizers, that of threads too, with every other compiler that packages
#                     reach, and on bare machines (tests/bare.sh): hours, as root
# tests/run.sh full PART...  only these parts of it: tidy, tests, sanitized, threads, compilers, libcxx, boost174, mutate,
#                     faults, valgrind, soak, fuzz, bare
#
# Installs what is missing (Debian and Ubuntu), builds into build/, ends with the summary of ctest. With
# CMAKE_COMPILE_WARNING_AS_ERROR=ON in the environment a warning is an error.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/examples/packages.sh"
usage="usage: tests/run.sh [quick | full [PART...]]"
case ${1:-all} in
  all | quick | full) mode=${1:-all} ;;
  *) say "$usage" && exit 2 ;;
esac
all_parts=(tidy tests sanitized threads compilers libcxx boost174 mutate faults valgrind soak fuzz bare)
parts=("${@:2}")
for part in "${parts[@]}"; do
  if [ "$mode" = full ] && [[ " ${all_parts[*]} " == *" $part "* ]]; then continue; fi
  say "$usage; PART is one of: ${all_parts[*]}; found $part" && exit 2
done
# wanted PART: whether it is asked for; without any all are
wanted() { [ ${#parts[@]} = 0 ] || [[ " ${parts[*]} " == *" $1 "* ]]; }
# left_out PART WHY: says so; who asks for the part by its name has asked for nothing then, and it ends with 1
left_out() {
  say "$1 is left out: $2"
  [ ${#parts[@]} = 0 ] || exit 1
}
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
# glibc's allocator asks for huge pages: a sixth of the time of clang++, which touches much memory
export GLIBC_TUNABLES=${GLIBC_TUNABLES:-glibc.malloc.hugetlb=1}

# find_new_clang: a clang++ whose libc++ reads floating numbers, as it does from 20 on: its number in `new_clang`
find_new_clang() {
  for new_clang in 22 21 20; do
    if has_command "clang++-$new_clang"; then return 0; fi
  done
  return 1
}

need_build_tools "$root/build/packages"
need doctest-dev has_header '#include <doctest/doctest.h>'
if [ "$mode" != quick ]; then
  want_clang
  want 'lld-16|lld-17|lld-18|lld-19|lld-20|lld-21' has_lld  # a fifth of the time to link what is sanitized
  want clang-format-16 has_command clang-format-16  # test `format`
  want clang-tidy-19 has_command clang-tidy-19  # tests/tidy.py
fi
others=(g++-{12..15} clang++-{16..22})
if [ "$mode" = full ] && wanted sanitized; then
  # packages, the site and what a browser opens: each has a test, which is skipped where its tools are not
  want 'dpkg-dev' has_command dpkg-buildpackage
  want debhelper has_command dh
  want bazel-bootstrap has_command bazel
  want bazel-rules-java test -e /usr/share/bazel/rules/java
  want bazel-rules-proto test -e /usr/share/bazel/rules/proto
  want doxygen has_command doxygen
  want python3-markdown-it /usr/bin/python3 -c 'import markdown_it'
  want python3-pygments /usr/bin/python3 -c 'import pygments'
  want python3-venv /usr/bin/python3 -c 'import ensurepip'
  want chromium has_command chromium
fi
if [ "$mode" = full ] && wanted compilers; then
  for compiler in "${others[@]}"; do want "${compiler/clang++/clang}" has_command "$compiler"; done
fi
if [ "$mode" = full ] && wanted libcxx; then
  want 'clang-22|clang-21|clang-20' find_new_clang
fi
want coinor-libcbc-dev has_header '#include <coin/CbcModel.hpp>'  # components clp and cbc
want toulbar2 has_command toulbar2  # a referee: the tests that ask it are skipped without
want_mpi  # component mpi, whose tests run on four ranks
install_missing

# Conan is no package of Debian's; of PyPI's, kept in the build folder
if [ "$mode" = full ] && wanted sanitized && ! has_command conan >/dev/null; then
  if { [ -x "$root/build/conan/bin/conan" ] || { /usr/bin/python3 -m venv "$root/build/conan" &&
    "$root/build/conan/bin/pip" install -q conan; }; } >/dev/null 2>&1; then
    PATH=$PATH:$root/build/conan/bin
  else
    say "Going on without Conan"
  fi
fi

# Packages of two versions exclude each other, so these are not installed.
# unpack FOLDER PACKAGE...: what the packages hold
unpack() {
  if [ -e "$1" ]; then return 0; fi
  rm -rf "$1.part" && mkdir -p "$1.part" || return
  (cd "$1.part" && apt-get download -qq "${@:2}" && for package in *.deb; do dpkg -x "$package" . || exit; done) || return
  mv "$1.part" "$1"
}
# unpack_boost_174: the oldest Boost that there may be, into `old_boost`
unpack_boost_174() {
  old_boost=$root/build/boost-1.74
  unpack "$old_boost" libboost1.74-dev
}
# unpack_libcxx: that of the new clang++, into `libcxx`
unpack_libcxx() {
  find_new_clang || return 1
  libcxx=$root/build/libc++-$new_clang/usr/lib/llvm-$new_clang
  unpack "$root/build/libc++-$new_clang" "libc++-$new_clang-dev" "libc++abi-$new_clang-dev"
}

# check NAME OPTIONS...: configure, build and test in build/NAME
check() {
  local build=$root/build/$1 start=$SECONDS
  configure "$root" "$build" "${@:2}" -D CMAKE_COMPILE_WARNING_AS_ERROR="${CMAKE_COMPILE_WARNING_AS_ERROR:-OFF}"
  grep -E 'shardweave: ' "$build/configure.log" >&2 || true  # what is left out, and why
  say "$1: building"
  in_steps "$build/build.log" cmake --build "$build" --parallel "$jobs"
  if grep -q 'warning: ' "$build/build.log"; then say "$1: the compiler warns, see $build/build.log"; fi
  say "$1: built in $((SECONDS - start)) s; testing"
  # one more than there are cores: some tests wait, for other processes or for files to be written
  ctest --test-dir "$build" --parallel $((jobs + 1)) --output-on-failure --no-tests=error </dev/null
}

# what changed
if [ "$mode" != quick ] && wanted tidy && has_command clang-tidy-19 >/dev/null; then
  if git -C "$root" rev-parse -q --verify HEAD~1 >/dev/null; then
    quick=(--quick --seconds 60)
    if [ "$mode" = full ]; then quick=(); fi
    "$root/tests/tidy.py" "${quick[@]}" >&2
  else
    say "clang-tidy is skipped: what changed is not known here"
  fi
fi

# What one compiler is enough for is checked under clang++, which is the faster one at headers.
if [ "$mode" = quick ] || ! find_clang; then
  if wanted tests; then check tests -C "$root/tests/cmake/gcc.cmake"; fi
  [ "$mode" = quick ] || say "No clang++ from 16 on with its sanitizers is here: what is sanitized is skipped"
elif [ "$mode" = all ]; then
  check tests -D CMAKE_CXX_COMPILER="$clang" -D SHARDWEAVE_HOST_COMPILER="$(command -v "$CXX")" -C "$root/tests/cmake/clang.cmake"
else
  if wanted tests; then
    check tests -C "$root/tests/cmake/gcc.cmake" -D SHARDWEAVE_CHECK_ONCE=OFF -D SHARDWEAVE_PROGRAM_FLAGS=-O1
  fi
  if wanted sanitized; then
    check sanitized -D CMAKE_CXX_COMPILER="$clang" -D SHARDWEAVE_CHECK_HEADERS=ON -D SHARDWEAVE_CHECK_PACKAGES=ON \
      -C "$root/tests/cmake/sanitized.cmake"
  fi
fi

if [ "$mode" = full ]; then
  if ! find_clang; then
    for part in sanitized threads fuzz; do ! wanted $part || left_out $part "there is no clang++ whose sanitizers link"; done
  fi
  if wanted threads && find_clang; then  # data races
    check threads -D CMAKE_CXX_COMPILER="$clang" -D SHARDWEAVE_SANITIZERS=thread -D SHARDWEAVE_CHECK_ONCE=OFF \
      -C "$root/tests/cmake/sanitized.cmake"
  fi
  if wanted compilers; then
    found=0
    for compiler in "${others[@]}"; do
      path=$(readlink -f "$(command -v "$compiler")") || continue
      if [ "$path" = "$(readlink -f "$(command -v "$CXX")")" ] || [ "$compiler" = "$clang" ]; then continue; fi
      check "$compiler" -D CMAKE_CXX_COMPILER="$compiler" -D CMAKE_CXX_FLAGS=-O0 -D CMAKE_BUILD_TYPE= -C "$root/tests/cmake/units.cmake"
      found=$((found + 1))
    done
    [ $found != 0 ] || left_out compilers "there is no other one"
  fi
  few=(-D CMAKE_BUILD_TYPE= -D SHARDWEAVE_BUILD_EXAMPLES=OFF -D SHARDWEAVE_CHECK_ONCE=OFF -C "$root/tests/cmake/units.cmake")
  # another standard library, linked whole, since not all versions have a package of a shared one; libraries in C++ stay out
  if wanted libcxx && ! unpack_libcxx >/dev/null 2>&1; then
    left_out libcxx "there is no clang++ from 20 on, or its libc++ cannot be fetched"
  elif wanted libcxx; then
    check libcxx "${few[@]}" -D CMAKE_CXX_COMPILER="clang++-$new_clang" \
      -D "CMAKE_CXX_FLAGS=-O0 -stdlib=libc++ -fexperimental-library -nostdinc++ -isystem $libcxx/include/c++/v1" \
      -D CMAKE_EXE_LINKER_FLAGS="-static-libstdc++ -L$libcxx/lib" \
      -D "CMAKE_CXX_STANDARD_LIBRARIES=-Wl,-Bstatic -lc++ -lc++abi -Wl,-Bdynamic" \
      -D SHARDWEAVE_WITH_CLP=OFF -D SHARDWEAVE_WITH_CBC=OFF -D "SHARDWEAVE_TESTED_ROOMS=core;placement;memory;step"
  fi
  # the oldest Boost, which component io is newer than
  if wanted boost174 && ! unpack_boost_174 >/dev/null 2>&1; then
    left_out boost174 "its package cannot be fetched"
  elif wanted boost174; then
    check boost174 "${few[@]}" -D CMAKE_CXX_FLAGS=-O0 -D Boost_ROOT="$old_boost/usr" -D SHARDWEAVE_WITH_IO=OFF \
      -D "SHARDWEAVE_TESTED_ROOMS=core;graph;planner"
  fi
  if wanted mutate; then "$root/tests/mutate.sh"; fi
  if wanted faults; then for fault in hostile writes "kills 300" "stops 1000" "deadlines 336"; do "$root/tests/faults.sh" $fault; done; fi
  if wanted valgrind; then "$root/tests/valgrind.sh"; fi
  if wanted soak; then "$root/tests/soak.sh" 60; fi
  if wanted fuzz && find_clang; then "$root/tests/fuzz.sh" 10; fi
  if wanted bare; then "$root/tests/bare.sh"; fi
fi
