#!/usr/bin/env python3
"""clang-tidy on the lines that changed: `tests/tidy.py [--quick] [--seconds N] [BASE]`, BASE a commit (default: where the
branch left the one it was cloned from, or else the commit before the last).

Headers that changed are looked at together, in as many translation units as there are cores, and so are the sources of a
folder: what they share is parsed once. What stands in lines that did not change is not told. --quick leaves out what
follows paths through functions (clang-analyzer). After N seconds it ends, and the files that it did not get to are told.
Ends with status 1 if there is a finding, or a file that does not compile, 2 without clang-tidy 19 or later or the
commit."""
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
own_folders = [root / "include", root / "tests", root / "examples", root]
# of MPI its compiler says where its headers are: Open MPI's, MPICH's
of_mpi = [word for option in ("--showme:compile", "-compile_info") if shutil.which("mpicxx")
          for word in subprocess.run(["mpicxx", option], capture_output=True, text=True).stdout.split() if word.startswith("-I")]
other_folders = ["/usr/include/eigen3", "/usr/include/coin", "/usr/include/highs", "/usr/local/cuda/include",
                 *(word[2:] for word in of_mpi)]
flags = ["-std=c++20", *(f"-I{folder}" for folder in own_folders), *(f"-isystem{folder}" for folder in other_folders),
         "-DDOCTEST_CONFIG_VOID_CAST_EXPRESSIONS=", "-DSHARDWEAVE_SMALL_TESTS",
         *(f'-DSHARDWEAVE_{name}="."' for name in ("SOURCE_DIR", "PROGRAM_DIR", "TEST_DATA"))]


# headers of libraries that a component needs and a machine may lack
of_libraries = {"mpi.h", "nccl.h", "cuda_runtime_api.h", "cublas_v2.h", "glpk.h", "Highs.h", "benchmark/benchmark.h",
                "coin/CbcModel.hpp", "CbcModel.hpp", "ClpSimplex.hpp"}


def git(*words: str) -> str:
    run = subprocess.run(["git", "-C", str(root), *words], capture_output=True, encoding="utf-8", errors="replace")
    return run.stdout if run.returncode == 0 else ""  # inputs hold any bytes


def left_at() -> str:
    """Where the branch left the one it was cloned from; the commit before the last if it did not."""
    left = git("merge-base", "HEAD", "origin/HEAD").strip()
    return left if left and left != git("rev-parse", "HEAD").strip() else "HEAD~1"


def changed_lines(base: str) -> dict[str, list[list[int]]]:
    """By file: first and last line of what was added since `base`, in the working tree."""
    lines: dict[str, list[list[int]]] = {}
    name = ""
    for line in git("diff", "-U0", base, "--", "include", "examples", "tests").splitlines():
        if line.startswith("+++ "):
            name = line[6:] if line.startswith("+++ b/") else ""
        elif (at := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)) and name.endswith((".hpp", ".cpp")):
            first, count = int(at[1]), int(at[2] or 1)
            if count > 0:
                lines.setdefault(name, []).append([first, first + count - 1])
    for name in git("ls-files", "--others", "--exclude-standard", "--", "include", "examples", "tests").splitlines():
        if name.endswith((".hpp", ".cpp")):
            lines[name] = [[1, 10**6]]
    return lines


def absent_header(name: str, seen: set[str]) -> str | None:
    """The first header of a library that a file needs, by its own includes and those of ours, and that is not here."""
    seen.add(name)
    for wanted in re.findall(r'^#include [<"]([^>"]+)[>"]', (root / name).read_text(errors="replace"), re.M):
        ours = next((folder / wanted for folder in [(root / name).parent, *own_folders] if (folder / wanted).is_file()), None)
        if ours is not None:
            path = str(ours.relative_to(root)) if ours.is_relative_to(root) else None
            if path and path not in seen and (absent := absent_header(path, seen)):
                return absent
        elif wanted in of_libraries and not any(
                (pathlib.Path(folder) / wanted).is_file() for folder in ["/usr/include", "/usr/local/include", *other_folders]):
            return wanted
    return None


def units(names: list[str]) -> list[list[str]]:
    """Files that are looked at together. Headers of programs and tests are seen with the sources that include them."""
    headers = [n for n in names if n.startswith("include/")]
    shares = min(len(headers), os.cpu_count() or 1)
    folders: dict[str, list[str]] = {}
    for name in names:
        if name.endswith(".cpp"):
            folders.setdefault(name if name.startswith("examples/") else str(pathlib.Path(name).parent), []).append(name)
    return [headers[i::shares] for i in range(shares)] + list(folders.values())


def findings(tidy: str, unit: list[str], lines: dict[str, list[list[int]]], folder: str, checks: list[str],
             end: float) -> str | None:
    """What clang-tidy says of some lines of files; nothing if it has not said it by then."""
    source = pathlib.Path(folder) / (unit[0].replace("/", "_") + ".cpp")
    source.write_text("".join(f'#include "{root / name}"\n' for name in unit))
    told = unit + [name for name in lines if name.endswith(".hpp") and not name.startswith("include/")]
    only = json.dumps([{"name": name, "lines": lines[name]} for name in told])
    rest = end - time.monotonic()
    if rest <= 0:
        return None
    try:
        run = subprocess.run([tidy, "--quiet", f"--config-file={root / '.clang-tidy'}", "--header-filter=.*", *checks,
                              f"--line-filter={only}", str(source), "--", *flags], capture_output=True, text=True,
                             timeout=None if rest == float("inf") else rest)
    except subprocess.TimeoutExpired:
        return None
    said = [line for line in run.stdout.splitlines() if line]
    return "\n".join(said) if said or run.returncode == 0 else f"{', '.join(unit)}: error: {run.stderr.strip()}"


def main() -> int:
    names = ["clang-tidy"] + [f"clang-tidy-{v}" for v in range(25, 18, -1)]
    tidy = next((path for n in reversed(names) if (path := shutil.which(n)) and version_of(path) >= 19), None)
    if tidy is None:
        print("tidy.py: no clang-tidy from 19 on is here", file=sys.stderr)
        return 2
    arguments = argparse.ArgumentParser(description="clang-tidy on the lines that changed")
    arguments.add_argument("base", nargs="?", default=None)
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    arguments.add_argument("--quick", action="store_true")
    asked = arguments.parse_args()
    end = time.monotonic() + asked.seconds
    base = asked.base or left_at()
    if not git("rev-parse", "-q", "--verify", base + "^{commit}"):
        print(f"tidy.py: there is no commit '{base}' here", file=sys.stderr)
        return 2
    lines = changed_lines(base)
    absent = {name: header for name in sorted(lines) if (header := absent_header(name, set()))}
    for name in absent:
        del lines[name]
    checks = ["--checks=-clang-analyzer-*"] if asked.quick else []
    found = 0
    left: list[str] = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(unit, pool.submit(findings, tidy, unit, lines, folder, checks, end)) for unit in units(sorted(lines))]
        for unit, job in jobs:
            text = job.result()
            if text is None:
                left += unit
            elif text:
                found += text.count("error:") + text.count("warning:")
                print(text, flush=True)
    print(f"clang-tidy: {len(lines)} files changed, {found} findings" + (f"; not looked at for want of time: {', '.join(left)}" if left else "") +
          (f"; nor, for want of {', '.join(sorted(set(absent.values())))}: {', '.join(absent)}" if absent else ""))
    return 1 if found else 0


def version_of(tidy: str) -> int:
    text = subprocess.run([tidy, "--version"], capture_output=True, text=True).stdout
    return int(at[1]) if (at := re.search(r"version (\d+)", text)) else 0


if __name__ == "__main__":
    sys.exit(main())
