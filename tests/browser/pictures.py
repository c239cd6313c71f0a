#!/usr/bin/env python3
"""tests/browser/pictures.py [BROWSER]  makes the pictures of the report in docs/plots anew: docs/llama3-8b.html in a Chromium
without a window (default: chromium), light, dark and as wide as a phone. Look at them before they are handed in.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
from chromium import Chromium

root = pathlib.Path(__file__).resolve().parents[2]
PICTURES = {  # by name: width, height, pixels a point, whether it is dark, and the part that is seen
    "report_light": (1200, 860, 0.6, False, "timeline"),
    "report_dark": (1200, 800, 0.6, True, "placement"),
    "report_phone": (390, 720, 0.8, False, "timeline")}

for name, (width, height, scale, dark, part) in PICTURES.items():
    file = root / f"docs/plots/{name}.png"
    with Chromium(sys.argv[1] if len(sys.argv) > 1 else "chromium", width, height, dark) as page:
        page.open((root / "docs/llama3-8b.html").as_uri())
        page.value(f"document.getElementById('{part}').scrollIntoView()")
        page.settle()
        page.picture(file, scale)
        if page.complaints:
            sys.exit(f"the browser complains: {page.complaints}")
    print(f"{file.relative_to(root)}: {file.stat().st_size:,} bytes")
