#!/usr/bin/env python3
"""What it takes to compile what a host writes, as a table: seconds of CPU and peak memory of the compiler.

    tests/benchmarks/door/measure.py [NAME...]

Every translation unit is compiled once header-only and once with SHARDWEAVE_COMPILED, by $CXX (g++) with -O2. NAME: some
of them alone. $EIGEN3_INCLUDE_DIR and $BOOST_ROOT tell where the two are, if not in the usual places.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
root = here.parents[2]
units = [here / f"{name}.cpp" for name in
         ("planner_header", "entry_header", "smallest_trws", "smallest_default", "error_in_main")]
units.append(root / "examples/gallery/pipeline.cpp")
options = ["-std=c++20", "-O2", "-I", str(root / "include"),
           "-isystem", os.environ.get("EIGEN3_INCLUDE_DIR", "/usr/include/eigen3")]
if "BOOST_ROOT" in os.environ:
    options += ["-isystem", os.environ["BOOST_ROOT"] + "/include"]


def cost(source, *more):
    with tempfile.NamedTemporaryFile(suffix=".o") as made:
        child = subprocess.Popen([os.environ.get("CXX", "g++"), *options, *more, "-c", str(source), "-o", made.name],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
    if (status != 0) != (source.stem == "error_in_main"):
        sys.exit(f"measure.py: {source}: the compiler ended with status {status}")
    return f"{used.ru_utime + used.ru_stime:.1f} s, {used.ru_maxrss / 1000:.0f} MB"


print("| translation unit | header-only | with `compiled` |\n|---|---|---|", flush=True)
for unit in units:
    if not sys.argv[1:] or unit.stem in sys.argv[1:]:
        print(f"| {unit.stem} | {cost(unit)} | {cost(unit, '-DSHARDWEAVE_COMPILED')} |", flush=True)
