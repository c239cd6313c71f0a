#!/usr/bin/env bash
# tests/mutate.sh [--graphs] [PATTERN]
# tests/mutate.sh --apply   only whether each change still changes something
#
# Do the tests notice when a constant of the named passes changes, a sign, a term or a limit? Makes the changes of
# tests/mutations.txt, one at a time, in a copy of the headers, compiles tests against it and runs them without any data but
# that of tests/data. Prints which test noticed what, and fails if a change passes all. PATTERN: only lines that match it
# (grep -E). --graphs: asks the test on captured graphs, too, where a scenario noticed already. Takes half an hour: by hand,
# or in `tests/run.sh full`.
set -euo pipefail
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$tests")
all=no
if [ "${1:-}" = --graphs ]; then all=yes && shift; fi
pattern=${1:-.}
if [ "${1:-}" = --apply ]; then
  stale=0
  while IFS='|' read -r name header script; do
    [ "$name" != asks ] || continue
    if [ "$(sed "$script" "$root/include/shardweave/$header")" = "$(<"$root/include/shardweave/$header")" ]; then
      echo "$name: NOTHING CHANGES in $header" && stale=$((stale + 1))
    fi
  done < <(grep -v -e '^#' -e '^$' "$tests/mutations.txt")
  exit $((stale > 0))
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/data" "$work/mutated"
for archive in "$tests"/data/t*.tar.xz; do tar -xJf "$archive" -C "$work/data"; done

flags=(-std=c++20 -O0 -I "$tests" -isystem /usr/include/eigen3 -D "SHARDWEAVE_SOURCE_DIR=\"$work\"" -D "SHARDWEAVE_TEST_DATA=\"$work/data\""
       -D DOCTEST_CONFIG_SUPER_FAST_ASSERTS -D DOCTEST_CONFIG_NO_TRY_CATCH_IN_ASSERTS -D DOCTEST_CONFIG_VOID_CAST_EXPRESSIONS=)
compile() { "${CXX:-g++}" "${flags[@]}" "$@"; }
libraries=(-lz)
if echo '#include <glpk.h>' | compile -x c++ -fsyntax-only - 2>/dev/null; then  # without it what asks GLPK tries no backend
  flags+=(-D SHARDWEAVE_HAS_GLPK)
  libraries+=(-lglpk -pthread)
fi
echo '#include <boost/json/src.hpp>' >"$work/json.cpp"
compile -c "$work/json.cpp" -o "$work/json.o"
compile -c "$tests/main.cpp" -o "$work/main.o"

# run TEST INCLUDE: passes, fails (so does what never ends), or does not even compile
run() {
  local program=$work/program
  compile -I "$2" "$tests/$1_test.cpp" "$work/main.o" "$work/json.o" "${libraries[@]}" -o "$program" 2>"$work/errors" || { echo "not compiled"; return; }
  if SHARDWEAVE_SHARED=/nonexistent timeout 1800 "$program" --abort-after=1 >"$work/output" 2>&1; then echo passes; else echo fails; fi
}

missed=0
declare -A sound  # tests that pass before anything is changed
while IFS='|' read -r name header script; do
  if [ "$name" = asks ]; then
    read -r -a asked <<<"$header" && continue
  elif ! grep -qE "$pattern" <<<"$name|$header|$script"; then
    continue
  fi
  for test in "${asked[@]}"; do
    [ -z "${sound[$test]:-}" ] || continue
    sound[$test]=$(run "$test" "$root/include")
    if [ "${sound[$test]}" != passes ]; then
      echo "$test: ${sound[$test]} before anything is changed" && cat "$work/errors" "$work/output" && exit 1
    fi
  done
  rm -rf "$work/mutated" && cp -r "$root/include" "$work/mutated"
  sed -i "$script" "$work/mutated/shardweave/$header"
  if cmp -s "$root/include/shardweave/$header" "$work/mutated/shardweave/$header"; then
    echo "$name: NOTHING CHANGES in $header" && missed=$((missed + 1)) && continue
  fi
  noticed=()
  for test in "${asked[@]}"; do
    [ ${#noticed[@]} = 0 ] || { [ $all = yes ] && [ "$test" = simulate/reference ]; } || continue
    result=$(run "$test" "$work/mutated")
    case $result in
      fails) noticed+=("$test") ;;
      "not compiled") cat "$work/errors" && exit 1 ;;
    esac
  done
  if [ ${#noticed[@]} = 0 ]; then
    echo "$name: NOT NOTICED" && missed=$((missed + 1))
  else
    echo "$name: ${noticed[*]}"
  fi
done < <(grep -v -e '^#' -e '^$' "$tests/mutations.txt")
[ $missed = 0 ] || { echo "$missed changes were not noticed" && exit 1; }
