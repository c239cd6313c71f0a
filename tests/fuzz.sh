#!/usr/bin/env bash
# tests/fuzz.sh MINUTES [NAME...]: libFuzzer, guided by coverage, under sanitizers, for so long for each reader: those named, or all
#
# Begins with the corpus of tests/fuzz and what the tests unpack. What it finds is kept in build/fuzz/NAME-*: once mended it
# belongs into tests/fuzz/corpus/NAME. Needs clang++ from 16 on. Ends with 1 if anything was found.
set -euo pipefail
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$tests")
. "$root/examples/packages.sh"
if [ $# = 0 ]; then say "usage: tests/fuzz.sh MINUTES [NAME...]" && exit 2; fi
minutes=$1
shift
if [ $# = 0 ]; then set -- $(cd "$tests/fuzz" && ls -- *_fuzz.cpp | sed 's/_fuzz\.cpp$//'); fi
want_clang
install_missing
find_clang || { say "fuzz.sh: there is no clang++ from 16 on whose sanitizers link" && exit 2; }
work=$root/build/fuzz
mkdir -p "$work"
flags=(-std=c++20 -O1 -g -fno-sanitize-recover=all -fsanitize=fuzzer-no-link,address,undefined -I "$root/include" -I "$tests"
       -isystem /usr/include/eigen3)
launcher=$(command -v ccache || true)
compile() { $launcher "$clang" "${flags[@]}" "$@"; }
echo '#include <boost/json/src.hpp>' >"$work/json.cpp"
compile -c "$work/json.cpp" -o "$work/json.o"

found=0
for name in "$@"; do
  compile -c "$tests/fuzz/${name}_fuzz.cpp" -o "$work/$name.o"
  "$clang" -fsanitize=fuzzer,address,undefined "$work/$name.o" "$work/json.o" -lz -o "$work/fuzz_$name"
  mkdir -p "$work/corpus/$name"
  status=0
  "$work/fuzz_$name" -max_total_time=$((minutes * 60)) -rss_limit_mb=4096 -timeout=20 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$work/$name-" "$work/corpus/$name" "$tests/fuzz/corpus/$name" >"$work/$name.log" 2>&1 || status=$?
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
