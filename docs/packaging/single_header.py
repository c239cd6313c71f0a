#!/usr/bin/env python3
"""Makes one header of an entry header and all of ours that it includes: single_header.py OUT [HEADER]

HEADER is as a host includes it (default: shardweave/shardweave.hpp, what planning takes; others: shardweave/report.hpp
and so on). OUT needs Boost and Eigen as before, and must not be mixed with the headers that it is made of. Components
(io, backends, engines of other libraries) are not for it: they come with what they link.
"""

import re
import sys
from pathlib import Path

include_dir = Path(__file__).resolve().parents[2] / "include"


def expand(header, known, others):
    """The text of a header, with ours in place of their first includes; of others' the lines, for the top."""
    known.add(header)
    told = []
    for line in (include_dir / header).read_text().splitlines():
        ours = re.match(r"#include <(shardweave/[^>]*)>", line)
        if ours:
            if ours[1] not in known:
                told.append(expand(ours[1], known, others))
        elif line.startswith("#include "):
            others.add(line)
        elif line != "#pragma once":
            told.append(line)
    return f"// --- {header}\n" + "\n".join(told)


def main():
    out = Path(sys.argv[1])
    header = sys.argv[2] if len(sys.argv) > 2 else "shardweave/shardweave.hpp"
    if not (include_dir / header).is_file():
        sys.exit(f"single_header.py: there is no {header} in {include_dir}")
    known, others = set(), set()
    body = expand(header, known, others)
    version = ".".join(re.findall(r"#define SHARDWEAVE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (include_dir / "shardweave/version.hpp").read_text()))
    system = sorted(others, key=lambda line: ("/" not in line, line))  # Boost and Eigen first
    out.write_text(f"""// shardweave {version}, <{header}> in one file, made of {len(known)} headers by docs/packaging/single_header.py
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#ifdef SHARDWEAVE_COMPILED
#error "one header has all definitions: component compiled has nothing to add to it"
#endif

{chr(10).join(system)}

{re.sub(chr(10) + "{3,}", chr(10) * 2, body)}
""")
    print(f"{out}: {len(known)} headers, {len(out.read_text().splitlines())} lines")


if __name__ == "__main__":
    main()
