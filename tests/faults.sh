#!/usr/bin/env bash
# tests/faults.sh stops [N [SEED]]   SIGINT at N random moments (default 1,000) over every program and stage
# tests/faults.sh deadlines [N [SEED]]   as many random limits of time, of the programs that take one
# tests/faults.sh kills [N [SEED]]   SIGKILL at as many: what was there before is there, or its successor is, whole
# tests/faults.sh writes             every write of every program fails: full disk, files that may not grow, read-only folder
#
# tests/faults.sh hostile            files that claim more than they hold, in 3 GiB of address space
#
# What is expected stands in tests/faults/programs.py, which prints a table and ends with 1 if anything else happened.
# Builds the programs as examples/run.sh does, unless SHARDWEAVE_PROGRAMS names a folder that has them.
set -euo pipefail
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$tests")
. "$root/examples/packages.sh"
case ${1:-} in
  stops | deadlines | kills | writes | hostile) ;;
  *) say "usage: tests/faults.sh stops [N [SEED]] | deadlines [N [SEED]] | kills [N [SEED]] | writes | hostile" && exit 2 ;;
esac
programs=${SHARDWEAVE_PROGRAMS:-}
if [ -z "$programs" ]; then
  build=$root/build/examples
  need_build_tools "$root/build/packages"
  want_mpi
  install_missing
  configure "$root" "$build" -DCMAKE_BUILD_TYPE=Release -DSHARDWEAVE_BUILD_TESTS=OFF
  quietly "$build/build.log" cmake --build "$build" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
  programs=$build/programs
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for archive in "$tests"/data/{placement,tables,tasks,training}.tar.xz; do tar -xJf "$archive" -C "$work"; done
python3 -B "$tests/faults/programs.py" "$programs" "$root/examples/configs" "$work" "$@"
