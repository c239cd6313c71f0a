#!/usr/bin/env bash
# tests/valgrind.sh: the parts that call GLPK, CLP, CBC and MPI, under valgrind
#
# What sanitizers do not see: reads of memory that a library, which is not compiled with them, never wrote, and what it is
# left to free. Ends with 1 at an error, or at memory that is lost for good. What Open MPI is known to leave behind stands
# in the suppressions that come with it, and in tests/valgrind.supp.
set -euo pipefail
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$tests")
. "$root/examples/packages.sh"
need valgrind has_command valgrind
need libglpk-dev has_header '#include <glpk.h>'
need coinor-libcbc-dev has_header '#include <coin/CbcModel.hpp>'
need doctest-dev has_header '#include <doctest/doctest.h>'
need libeigen3-dev has_header '#include <eigen3/Eigen/Core>'
want_mpi
install_missing
work=$root/build/valgrind
mkdir -p "$work"
launcher=$(command -v ccache || true)
flags=(-std=c++20 -O1 -g -DSHARDWEAVE_HAS_GLPK -DSHARDWEAVE_HAS_CLP -DSHARDWEAVE_HAS_CBC -DDOCTEST_CONFIG_VOID_CAST_EXPRESSIONS=
       -DSHARDWEAVE_SMALL_TESTS -DSHARDWEAVE_SOURCE_DIR="\"$root\"" -I "$root/include" -I "$tests" -isystem /usr/include/eigen3 -isystem /usr/include/coin)
compile() { $launcher "${CXX:-g++}" "${flags[@]}" "$@"; }

compile -c "$tests/main.cpp" -o "$work/main.o"
objects=()
for name in solve/linear/backend solve/linear/ilp solve/linear/savings_rows; do
  object=$work/$(basename "$name").o
  compile -c "$tests/${name}_test.cpp" -o "$object"
  objects+=("$object")
done
compile "${objects[@]}" "$work/main.o" -lglpk -lCbc -lCgl -lOsiClp -lClp -lOsi -lCoinUtils -pthread -o "$work/backends"

check=(valgrind --quiet --track-origins=yes --num-callers=24 --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite
       --suppressions="$tests/valgrind.supp")
failed=0
run() {  # run NAME COMMAND...
  local name=$1 status=0
  shift
  "$@" >"$work/$name.log" 2>&1 </dev/null || status=$?
  if [ $status = 0 ]; then
    say "$name: $(grep -o 'test cases: *[0-9]*' "$work/$name.log" | tail -n 1), nothing found"
  else
    failed=1
    say "$name: status $status, see $work/$name.log"
  fi
}
run backends "${check[@]}" "$work/backends"

if has_command mpicxx >/dev/null && has_command mpirun >/dev/null; then
  read -ra mpi <<<"$(mpicxx --showme:compile) $(mpicxx --showme:link)"
  compile "$tests"/engine/mpi_*_test.cpp "$work/main.o" "${mpi[@]}" -o "$work/mpi"
  known=$(dirname "$(dirname "$(readlink -f "$(command -v mpirun)")")")/share/openmpi/openmpi-valgrind.supp
  if [ -e "$known" ]; then check+=(--suppressions="$known"); fi
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader
  export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_hwloc_base_binding_policy=none
  for case in session 'roll call' meeting engine; do  # MPI begins once in a process
    run "mpi_${case/ /_}" mpirun -np 4 --oversubscribe "${check[@]}" "$work/mpi" --no-skip --test-suite='mpi rank' --test-case="a* $case"
  done
fi
[ $failed = 0 ]
