#!/usr/bin/env python3
"""coverage.py BUILD HEADERS COV: the table and the list of tests/coverage.sh.

A line or a side of a branch counts as run if any instantiation of a template ran it in any test. Conditions that the
compiler knows are no branches.
"""

import bisect
import collections
import json
import pathlib
import subprocess
import sys


def exported(cov, binary, profile, form):
    command = [cov, "export", f"-format={form}", "-skip-functions", "-skip-expansions", f"-instr-profile={profile}", str(binary)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def add_lines(found, text, headers):
    """Adds, of each header, how often each line ran."""
    header = None
    for line in text.splitlines():
        if line.startswith("SF:"):
            path = pathlib.Path(line[3:])
            header = str(path.relative_to(headers)) if path.is_relative_to(headers) else None
        elif header and line.startswith("DA:"):
            number, count = line[3:].split(",")[:2]
            found[header][int(number)] = max(found[header].get(int(number), 0), int(count))


def add_branches(found, text, headers):
    """Adds, of each header, by place, whether each side of a branch ran."""
    for file in json.loads(text)["data"][0]["files"]:
        path = pathlib.Path(file["filename"])
        if not path.is_relative_to(headers):
            continue
        header = str(path.relative_to(headers))
        places = [(s[0], s[1]) for s in file["segments"]]
        for line, column, last, end, yes, no, *_ in file["branches"]:
            at = bisect.bisect_right(places, (line, column)) - 1
            reached = at >= 0 and file["segments"][at][2] > 0
            sides = found[header].setdefault((line, column, last, end), [False, False, False])
            sides[0] |= yes > 0
            sides[1] |= no > 0
            sides[2] |= reached and yes == 0 and no == 0  # the compiler knows it


def percent(part, whole):
    return f"{100 * part / whole:6.1f}" if whole else "     -"


def main(build, headers, cov):
    build, headers = pathlib.Path(build), pathlib.Path(headers)
    lines, branches = collections.defaultdict(dict), collections.defaultdict(dict)
    for profile in sorted((build / "profiles").glob("*.profdata")):
        binaries = [build / "tests" / ("test_" + profile.stem)]
        if profile.stem == "programs":
            binaries += [p for p in (build / "programs").iterdir() if p.is_file() and p.stat().st_mode & 0o100]
        for binary in binaries:  # each for itself: of a function that several have, one alone would count
            add_lines(lines, exported(cov, binary, profile, "lcov"), headers)
            add_branches(branches, exported(cov, binary, profile, "text"), headers)
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    with open(build / "uncovered.txt", "w") as out:
        for header in sorted(lines):
            text = (headers / header).read_text().splitlines()
            never = sorted(n for n, count in lines[header].items() if count == 0)
            sides = {at: (yes, no) for at, (yes, no, known) in branches.get(header, {}).items() if yes or no or not known}
            numbers = (len(lines[header]) - len(never), len(lines[header]),
                       sum(a + b for a, b in sides.values()), 2 * len(sides))
            for key in (header, header.split("/")[0] + "/" if "/" in header else "(entry headers)", "all"):
                rows[key] = [x + y for x, y in zip(rows[key], numbers)]
            for n in never:
                out.write(f"{header}:{n}: {text[n - 1].strip()}\n")
            for (line, column, last, end), (yes, no) in sorted(sides.items()):
                if lines[header].get(line, 0) > 0 and not (yes and no):
                    condition = text[line - 1][column - 1 : end - 1 if last == line else None].strip()
                    out.write(f"{header}:{line}: never {'true' if not yes else 'false'}: {condition}\n")
    print(f"{'':44}  lines           branches")
    for key in sorted(rows, key=lambda k: (k == "all", k.split("/")[0], not k.endswith("/"), k)):
        run, of, sides, of_sides = rows[key]
        name = key if key.endswith("/") or key == "all" else "  " + key
        print(f"{name:44}{percent(run, of)} of {of:5} {percent(sides, of_sides)} of {of_sides:5}")
    print(f"\nwhat nothing runs: {build / 'uncovered.txt'}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
