#!/usr/bin/env bash
# tests/benchmarks/run.sh                   every table of docs/performance.md, docs/cost_models.md and docs/rooms, as Markdown
# tests/benchmarks/run.sh TABLE ARGS...     one of them: reading, placement, contest, schedule, peers, search, scaling, training, overlap, changes,
#                                           savings, prefetch, memory, collectives, ablation (hours), solve_ablation (two hours and a half), order_ablation
# tests/benchmarks/run.sh replay            predicted and measured times of a replay on four MPI ranks
# tests/benchmarks/run.sh plots             the charts of docs/plots
# tests/benchmarks/run.sh loops ARGS...     the inner loops, with Google Benchmark
# tests/benchmarks/run.sh estimates ARGS... what one estimate of a collective takes, by model, with the same
#
# ARGS of a table: --seconds S (time limit of one solve), --data FOLDER, and parts of the names of the rows wanted.
# CSV with FORMAT=csv. Where the data are not there, a table stays empty and says so.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$root/build/benchmarks
. "$root/examples/packages.sh"
need_build_tools "$root/build/packages"
want_mpi
want coinor-libcbc-dev has_header '#include <coin/CbcModel.hpp>'
if [ "${1:-}" = loops ] || [ "${1:-}" = estimates ]; then need libbenchmark-dev has_header '#include <benchmark/benchmark.h>'; fi
install_missing
configure "$root" "$build" -DCMAKE_BUILD_TYPE=Release -DSHARDWEAVE_BUILD_EXAMPLES=OFF -DSHARDWEAVE_CHECK_ONCE=OFF

make() { quietly "$build/build.log" cmake --build "$build" --target "$1" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"; }
form=()
if [ "${FORMAT:-markdown}" = markdown ]; then form=(--markdown); fi

case ${1:-all} in
  all)
    make tables
    for table in reading placement contest schedule peers search scaling training overlap changes savings prefetch memory collectives; do
      printf '\n%s\n\n' "$table"
      "$build/benchmarks/table_$table" "${form[@]}"
    done
    ;;
  replay)
    # on four ranks of this machine, which should have nothing else to do
    make table_replay
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    exec mpirun -np 4 --oversubscribe --bind-to none "$build/benchmarks/table_replay" "${form[@]}" "${@:2}"
    ;;
  plots)
    make table_collectives
    mkdir -p "$root/docs/plots"
    "$build/benchmarks/table_collectives" --plots "$root/docs/plots" "${@:2}" > /dev/null
    make table_memory
    "$build/benchmarks/table_memory" --plots "$root/docs/plots"
    ;;
  loops)
    make benchmarks
    exec "$build/benchmarks/benchmark_hot_paths" "${@:2}"
    ;;
  estimates)
    make benchmark_collective_estimates
    exec "$build/benchmarks/benchmark_collective_estimates" "${@:2}"
    ;;
  *)
    make "table_$1"
    exec "$build/benchmarks/table_$1" "${form[@]}" "${@:2}"
    ;;
esac
