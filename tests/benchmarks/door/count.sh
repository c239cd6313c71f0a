#!/usr/bin/env bash
# tests/benchmarks/door/count.sh         fails where what a host includes has grown by more than 3 %
# tests/benchmarks/door/count.sh whole   looks at shardweave.hpp and the default solver alone, too (`tests/run.sh full`)
# tests/benchmarks/door/count.sh least   looks at planner.hpp, `trws`, and the default solver with `compiled` (`tests/run.sh`)
# tests/benchmarks/door/count.sh update  writes the counts anew
#
# counts.txt holds, for a few translation units, how many templates clang++-16 instantiates and how many lines it parses,
# with libstdc++ 12 and Boost 1.81: figures that do not depend on the machine. With others it says so and ends with 77.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
options=(-std=c++20 -I "$root/include" -isystem "${EIGEN3_INCLUDE_DIR:-/usr/include/eigen3}")
[ -z "${BOOST_ROOT:-}" ] || options+=(-isystem "$BOOST_ROOT/include")
known='BOOST_LIB_VERSION "1_81" _GLIBCXX_RELEASE 12'
here_is=$(printf '#include <boost/version.hpp>\n#include <version>\n' | clang++-16 "${options[@]}" -x c++ -E -dM - 2>/dev/null |
  sed -n 's/^#define \(_GLIBCXX_RELEASE\|BOOST_LIB_VERSION\) /\1 /p' | sort | tr '\n' ' ' || true)
if [ "${here_is% }" != "$known" ]; then
  echo "skipped: the counts are of clang++-16 with $known; here: ${here_is:-no clang++-16}"
  exit 77
fi
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT

counted=
while read -r name unit macro; do
  case ${1:-} in
    '') if [[ $name = @(smallest_default|entry_header|error_in_main) ]]; then continue; fi ;;
    least) if [[ $name != @(planner_header|smallest_trws|smallest_default,compiled) ]]; then continue; fi ;;
  esac
  said=$(clang++-16 "${options[@]}" $macro -fsyntax-only -ftime-trace="$trace" -ftime-trace-granularity=0 "$root/$unit" 2>&1) ||
    [[ $name = error_in_main && $(grep -c 'error: ' <<<"$said") = 1 ]] || { echo "$said" && exit 1; }
  templates=$(grep -o '"name":"Instantiate' "$trace" | wc -l)
  lines=$(clang++-16 "${options[@]}" $macro -E -P "$root/$unit" | wc -l)
  counted+="$name $templates $lines"$'\n'
done <<'UNITS'
planner_header tests/benchmarks/door/planner_header.cpp
entry_header tests/benchmarks/door/entry_header.cpp
error_in_main tests/benchmarks/door/error_in_main.cpp
smallest_trws tests/benchmarks/door/smallest_trws.cpp
smallest_default tests/benchmarks/door/smallest_default.cpp
smallest_default,compiled tests/benchmarks/door/smallest_default.cpp -DSHARDWEAVE_COMPILED
pipeline,compiled examples/gallery/pipeline.cpp -DSHARDWEAVE_COMPILED
UNITS

if [ "${1:-}" = update ]; then
  printf 'unit templates lines\n%s' "$counted" >"$here/counts.txt"
  exit 0
fi
status=0
while read -r name templates lines; do
  read -r _ old_templates old_lines < <(grep "^$name " "$here/counts.txt") || { echo "$name is not in counts.txt" && exit 1; }
  echo "$name: $templates templates ($old_templates), $lines lines ($old_lines)"
  if [ $((templates * 100)) -gt $((old_templates * 103)) ] || [ $((lines * 100)) -gt $((old_lines * 103)) ]; then
    echo "$name has grown by more than 3 %: include less, or say why in the change that updates counts.txt"
    status=1
  fi
done < <(printf '%s' "$counted")
exit $status
