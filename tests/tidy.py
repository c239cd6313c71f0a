#!/usr/bin/env python3
"""clang-tidy on the lines that changed: `tests/tidy.py [--seconds N] [BASE]`, BASE a commit (default: the one before the
last). After N seconds it ends, and how many files are left is told: a large one takes a minute or two.

Of every header that changed a translation unit of its own is looked at, of every source itself. What stands in lines
that did not change is not told. Ends with status 1 if there is a finding, 2 without clang-tidy 19 or later."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parents[1]
flags = ["-std=c++20", "-I", str(root / "include"), "-I", str(root / "tests"), "-isystem", "/usr/include/eigen3"]


def changed_lines(base: str) -> dict[str, list[list[int]]]:
    """By file: first and last line of what was added since `base`, in the working tree."""
    diff = subprocess.run(["git", "-C", str(root), "diff", "-U0", base, "--", "include", "examples", "tests"],
                          check=True, capture_output=True, encoding="utf-8", errors="replace").stdout  # inputs of any bytes
    lines: dict[str, list[list[int]]] = {}
    name = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            name = line[6:] if line.startswith("+++ b/") else ""
        elif (at := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)) and name.endswith((".hpp", ".cpp")):
            first, count = int(at[1]), int(at[2] or 1)
            if count > 0:
                lines.setdefault(name, []).append([first, first + count - 1])
    return lines


def findings(tidy: str, name: str, ranges: list[list[int]], folder: str, end: float) -> str | None:
    """What clang-tidy says of some lines of a file; nothing if it has not said it by then."""
    source = root / name
    if name.startswith("include/"):
        source = pathlib.Path(folder) / (name.replace("/", "_") + ".cpp")
        source.write_text(f"#include <{name.removeprefix('include/')}>\n")
    elif name.endswith(".hpp"):
        return ""  # of programs and tests: seen with the sources that include them
    only = json.dumps([{"name": name, "lines": ranges}])
    rest = end - time.monotonic()
    if rest <= 0:
        return None
    try:
        run = subprocess.run([tidy, "--quiet", f"--config-file={root / '.clang-tidy'}", "--header-filter=.*",
                              f"--line-filter={only}", str(source), "--", *flags], capture_output=True, text=True,
                             timeout=None if rest == float("inf") else rest)
    except subprocess.TimeoutExpired:
        return None
    return "\n".join(line for line in run.stdout.splitlines() if line)


def main() -> int:
    names = ["clang-tidy"] + [f"clang-tidy-{v}" for v in range(25, 18, -1)]
    tidy = next((path for n in reversed(names) if (path := shutil.which(n)) and version_of(path) >= 19), None)
    if tidy is None:
        print("tidy.py: no clang-tidy from 19 on is here", file=sys.stderr)
        return 2
    arguments = argparse.ArgumentParser(description="clang-tidy on the lines that changed")
    arguments.add_argument("base", nargs="?", default="HEAD~1")
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    asked = arguments.parse_args()
    end = time.monotonic() + asked.seconds
    lines = changed_lines(asked.base)
    found = left = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(findings, tidy, name, ranges, folder, end) for name, ranges in sorted(lines.items())]
        for job in jobs:
            text = job.result()
            left += text is None
            if text:
                found += text.count("error:") + text.count("warning:")
                print(text, flush=True)
    print(f"{len(lines)} files changed, {left} of them not looked at for want of time, {found} findings" if left else
          f"{len(lines)} files changed, {found} findings")
    return 1 if found else 0


def version_of(tidy: str) -> int:
    text = subprocess.run([tidy, "--version"], capture_output=True, text=True).stdout
    return int(at[1]) if (at := re.search(r"version (\d+)", text)) else 0


if __name__ == "__main__":
    sys.exit(main())
