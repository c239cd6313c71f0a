#!/usr/bin/env python3
"""table.py PROGRAMS [--seconds N] [--second] [FORM:]PROBLEM...: certificates of placement problems, as a table: what the solver
found, what its certificate proves and how far below that is, how large it is, packed, and how long it takes to make and to
check.

PROGRAMS is the folder of solve_placement and check_certificate; FORM is that in which savings count ("off"); the solver
has N seconds (60), its certificate as many again. --second: the second checker is asked, too; one more column has its CPU
seconds, and it ends with 1 where the two do not agree on a bound.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile


def second_opinion(problem, proof, bound):
    """The CPU seconds that the second checker takes to come to the same bound."""
    checker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_certificate.py")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run([sys.executable, "-B", checker, problem, proof], capture_output=True, text=True).stdout.strip()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not said.startswith("accepted: ") or float(said.removeprefix("accepted: ")) != bound:
        sys.exit(f"{problem}: {bound!r}, but the second checker says {said}")
    return f" {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.1f} |"


def row(programs, seconds, second, form, problem, folder):
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
            f"| {os.path.getsize(proof) / 1e6:.2f} | {verdict['seconds']:.2f} |"
            + (second_opinion(problem, proof, verdict["bound"]) if second else ""))


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    programs, *problems = arguments
    seconds = "60"
    if problems[0] == "--seconds":
        seconds, problems = problems[1], problems[2:]
    second = problems[0] == "--second"
    problems = problems[second:]
    print("| problem | found | certified | cases | s to make | MB | s to check |" + " CPU s by the second |" * second)
    print("|---|---|---|---|---|---|---|" + "---|" * second)
    for argument in problems:
        form, _, problem = argument.rpartition(":")
        with tempfile.TemporaryDirectory() as folder:
            print(row(programs, seconds, second, form or "off", problem, folder), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
