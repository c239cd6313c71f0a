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


def exported(cov, binary, profile, headers):
    """What ran of each header, by files of the format that llvm-cov exports."""
    command = [cov, "export", "-skip-functions", "-skip-expansions", f"-instr-profile={profile}", str(binary), str(headers)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for file in json.loads(told)["data"][0]["files"]:
        path = pathlib.Path(file["filename"])
        if path.is_relative_to(headers):
            yield str(path.relative_to(headers)), file["segments"], file["branches"]


def add_lines(found, segments):
    """Adds how often each line ran, as llvm-cov counts: the most of what goes on from the line before and what begins on it."""
    before, at = None, 0  # the last segment of earlier lines
    for line in range(segments[0][0], segments[-1][0] + 1) if segments else ():
        of_line = []
        while at < len(segments) and segments[at][0] == line:
            of_line.append(segments[at])
            at += 1
        begin = [count for _, _, count, counted, enters, gap in of_line if counted and enters and not gap]
        skipped = of_line and of_line[0][4] and not of_line[0][3]
        if not skipped and (begin or (before and before[3])):
            found[line] = max([found.get(line, 0), *begin] + ([before[2]] if before else []))
        before = of_line[-1] if of_line else before


def add_branches(found, segments, branches):
    """Adds, by place, whether each side of a branch ran."""
    places = [(s[0], s[1]) for s in segments]
    for line, column, last, end, yes, no, *_ in branches:
        at = bisect.bisect_right(places, (line, column)) - 1
        reached = at >= 0 and segments[at][2] > 0
        sides = found.setdefault((line, column, last, end), [False, False, False])
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
            for header, segments, of_header in exported(cov, binary, profile, headers):
                add_lines(lines[header], segments)
                add_branches(branches[header], segments, of_header)
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
