#!/usr/bin/env python3
"""table.py PROGRAMS [--seconds N] [FORM:]PROBLEM...: certificates of placement problems, as a table: what the solver
found, what its certificate proves and how far below that is, how large it is, packed, and how long it takes to make and to
check.

PROGRAMS is the folder of solve_placement and check_certificate; FORM is that in which savings count ("off"); the solver
has N seconds (60), its certificate as many again.
"""

import json
import os
import subprocess
import sys
import tempfile


def row(programs, seconds, form, problem, folder):
    proof = os.path.join(folder, "proof.json.gz")
    solve = [os.path.join(programs, "solve_placement"), problem, "--overlap", form, "--seconds", seconds, "--json"]
    told = json.loads(subprocess.run([*solve, "--certificate", proof], capture_output=True, check=True).stdout)
    check = [os.path.join(programs, "check_certificate"), problem, proof, "--json"]
    verdict = json.loads(subprocess.run(check, capture_output=True, check=True).stdout)
    made = told["certificate"]
    gap = 100 * (told["objective"] - verdict["bound"]) / abs(told["objective"])
    proven = "optimum" if made["proves_answer"] else f"{verdict['bound']:,.2f} ({gap:.2g} % below)"
    name = told["problem"] + ("" if form == "off" else f", {form}")
    is_open = made.get("solver_status", told["status"]) != "optimal"
    found = f"{told['objective']:,.2f}" + (" (open)" if is_open else "")
    return (f"| {name} | {found} | {proven} | {made['cases']:,} | {made['seconds']:.1f} "
            f"| {os.path.getsize(proof) / 1e6:.2f} | {verdict['seconds']:.2f} |")


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    print("| problem | found | certified | cases | s to make | MB | s to check |")
    print("|---|---|---|---|---|---|---|")
    programs, *problems = arguments
    seconds = "60"
    if problems[0] == "--seconds":
        seconds, problems = problems[1], problems[2:]
    for argument in problems:
        form, _, problem = argument.rpartition(":")
        with tempfile.TemporaryDirectory() as folder:
            print(row(programs, seconds, form or "off", problem, folder), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
