#!/usr/bin/env bash
# tests/fuzz.sh MINUTES [NAME...]: libFuzzer, guided by coverage, under sanitizers, for so long of CPU time for each target, a
# reader or algorithms (solvers, proofs, orders): those named, or all
# tests/fuzz.sh coverage [NAME...]: which lines and branches the stored corpus runs, replayed as every run of the tests does
#
# Begins with the corpus of tests/fuzz and what the tests unpack. What it finds is kept in build/fuzz/NAME-*: once mended it
# belongs into tests/fuzz/corpus/NAME. Needs clang++ from 16 on. Ends with 1 if anything was found.
set -euo pipefail
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$tests")
. "$root/examples/packages.sh"
if [ $# = 0 ]; then say "usage: tests/fuzz.sh MINUTES|coverage [NAME...]" && exit 2; fi
minutes=$1
[[ $minutes =~ ^([0-9]+|coverage)$ ]] || { say "fuzz.sh: MINUTES is a whole number, found $minutes" && exit 2; }
shift
if [ $# = 0 ]; then set -- $(cd "$tests/fuzz" && ls -- *_fuzz.cpp | sed 's/_fuzz\.cpp$//'); fi
want_clang
install_missing
find_clang || { say "fuzz.sh: there is no clang++ from 16 on whose sanitizers link" && exit 2; }
work=$root/build/fuzz
mkdir -p "$work"
headers=(-I "$root/include" -I "$tests" -I "$root" -isystem /usr/include/eigen3)
flags=(-std=c++20 -O1 -g -fno-sanitize-recover=all -fsanitize=fuzzer-no-link,address,undefined "${headers[@]}")
launcher=$(command -v ccache || true)
if [ "$minutes" = coverage ]; then
  version=$("$clang" -dumpversion | cut -d. -f1)
  need "llvm-$version" has_command "llvm-cov-$version"
  need python3 has_command python3
  install_missing
  work=$work/coverage
  rm -rf "$work/profiles"
  mkdir -p "$work/tests" "$work/profiles"
  flags=(-std=c++20 -O1 -fprofile-instr-generate -fcoverage-mapping "${headers[@]}")
  echo '#include <boost/json/src.hpp>' >"$work/json.cpp"
  $launcher "$clang" -std=c++20 -O1 -c "$work/json.cpp" -o "$work/json.o"
  for name in "$@"; do
    $launcher "$clang" "${flags[@]}" -c "$tests/fuzz/${name}_fuzz.cpp" -o "$work/$name.o"
    $launcher "$clang" -std=c++20 -O1 -D "SHARDWEAVE_FUZZ_TARGETS=TARGET($name)" -c "$tests/fuzz/replay.cpp" -o "$work/replay.o"
    "$clang" -fprofile-instr-generate "$work/$name.o" "$work/replay.o" "$work/json.o" -lz -pthread -o "$work/tests/test_$name"
    LLVM_PROFILE_FILE="$work/$name.profraw" "$work/tests/test_$name" "$name" "$tests/fuzz/corpus/$name" >"$work/$name.log"
    "llvm-profdata-$version" merge -sparse "$work/$name.profraw" -o "$work/profiles/$name.profdata"
    rm "$work/$name.profraw"
  done
  table=$(python3 -B "$tests/coverage.py" "$work" "$root/include/shardweave" "llvm-cov-$version")
  printf '%s\n' "$table"
  # fuzz targets read from memory: files, and what writes, are another matter
  awk '$1 ~ /^io\/./ && $1 !~ /text_input|atomic_file|json_file|writ/ {run += $2 * $4 / 100; of += $4}
       END {printf "readers: %.1f %% of %d lines\n", 100 * run / of, of}' <<<"$table"
  exit 0
fi
compile() { $launcher "$clang" "${flags[@]}" "$@"; }
echo '#include <boost/json/src.hpp>' >"$work/json.cpp"
compile -c "$work/json.cpp" -o "$work/json.o"

found=0
files=$(mktemp -d)  # what an interrupted target leaves goes with this
trap 'rm -rf "$files"' EXIT
for name in "$@"; do
  compile -c "$tests/fuzz/${name}_fuzz.cpp" -o "$work/$name.o"
  compile -D "SHARDWEAVE_FUZZ_TARGETS=TARGET($name)" -c "$tests/fuzz/libfuzzer.cpp" -o "$work/entry.o"
  "$clang" -fsanitize=fuzzer,address,undefined "$work/$name.o" "$work/entry.o" "$work/json.o" -lz -o "$work/fuzz_$name"
  mkdir -p "$work/corpus/$name"
  status=0
  lengths=(-max_len=65536)
  case $name in
    solvers | proofs | orders)  # problems that are chosen byte by byte: some at random to begin with
      lengths=(-max_len=300 -len_control=0)
      for i in {1..150}; do head -c 250 /dev/urandom >"$work/corpus/$name/random-$i"; done ;;
  esac
  TMPDIR=$files "$work/fuzz_$name" -rss_limit_mb=4096 -timeout=60 "${lengths[@]}" -print_final_stats=1 \
    -artifact_prefix="$work/$name-" "$work/corpus/$name" "$tests/fuzz/corpus/$name" >"$work/$name.log" 2>&1 &
  while sleep 1 && ticks=$(awk '{print $14 + $15}' /proc/$!/stat 2>/dev/null); do
    if ((ticks >= minutes * 60 * $(getconf CLK_TCK))); then kill -INT $! && break; fi
  done
  wait $! || status=$?
  [ $status != 72 ] || status=0  # it was interrupted
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
  cover=$(grep -oE 'cov: [0-9]+' "$work/$name.log" | tail -n 1)
  if [ $status = 0 ]; then
    say "$name: ${runs:-?} inputs, ${cover:-no figure}, nothing found"
  else
    found=$((found + 1))
    say "$name: FOUND something, see $work/$name.log and $work/$name-*"
  fi
done
[ $found = 0 ]
