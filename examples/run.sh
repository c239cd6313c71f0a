#!/usr/bin/env bash
# examples/run.sh                  the main job: plan the training of LLaMA-3 8B on 8x8 H100s
# examples/run.sh PROGRAM ARGS...  builds and runs one program; the working directory stays the caller's
#
# Installs what is missing (Debian and Ubuntu), builds what is needed, runs. A second call takes seconds.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/examples
. "$root/examples/packages.sh"

if [ $# = 0 ]; then
  set -- plan_training "$root/examples/configs/llama3-8b.json" --mesh 8x8 --device h100 --out "$build/plan"
fi
program=$1
shift
source=$(ls "$root/examples/$program.cpp" "$root/examples/gallery/$program.cpp" 2>/dev/null | head -n 1 || true)
if [ -z "$source" ]; then
  say "run.sh: there is no program $program; there are:"
  (cd "$root/examples" && ls -- *.cpp gallery/*.cpp 2>/dev/null | sed 's/^/  /; s/\.cpp$//' >&2) || true
  exit 2
fi

need_build_tools "$root/build/packages"
if grep -q '<shardweave/engine/mpi_' "$source"; then
  want_mpi
else  # no reason to install it, but used where it is there
  holds has_command mpicxx || true
  holds has_command mpirun || true
fi
install_missing
configure "$root" "$build" -C "$root/tests/cmake/examples.cmake"
case $source in
  */gallery/*) binary=$build/gallery/$program ;;
  *) binary=$build/programs/$program ;;
esac
[ -x "$binary" ] || say "Building $program (once, for a minute or two)"
in_steps "$build/build.log" cmake --build "$build" --target "$program" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
exec "$binary" "$@"
