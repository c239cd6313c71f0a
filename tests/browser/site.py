#!/usr/bin/env python3
"""site.py BROWSER SITE QUESTIONS.js

Opens pages of the site from files in a Chromium without a window, asks its search what newcomers ask, and finds its way by
keys alone, as a keyboard sends them. Ends with 1 where something is wrong or the browser complains.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
from chromium import Chromium


def address(page):
    return page.value("location.href.replace(/.*\\/site\\//, '')")


def focus(page):
    return page.value("""(({ activeElement: e }) =>
        (e.id || e.getAttribute('href') || e.tagName).replace(/^(\\.\\.\\/)+/, ''))(document)""")


def questions(page, file):
    """What is not answered."""
    page.value(file.read_text())
    asked = page.value("questions.length")
    return page.value("unanswered()") + ([] if asked >= 20 else [f"only {asked} questions"])


def by_keys(page):
    """From a page to what was searched, and what is wrong on the way."""
    wrong = []

    def expect(told, wanted, what):
        if told != wanted:
            wrong.append(f"{what} leads to {told}, expected {wanted}")

    hits = "[...document.querySelectorAll('#found a')].map((a) => a.getAttribute('href').replace(/^(\\.\\.\\/)+/, ''))"
    page.press("Tab")
    first = focus(page)
    page.press("/")
    expect(focus(page), "find", "/")
    page.type("which header has glpk")
    found = page.value(hits)
    expect(found[:1], ["reference/solve/backend/glpk.html"], "searching glpk")
    page.press("ArrowDown")
    expect(focus(page), found[0], "the first arrow down")
    page.press("ArrowDown", "ArrowDown")
    expect(focus(page), found[2], "the third arrow down")
    page.press("ArrowUp")
    expect(focus(page), found[1], "an arrow up")
    page.press("Escape")
    expect(page.value(hits), [], "Escape")
    page.press("/")
    page.type("warm start")
    found = page.value(hits)
    page.press("ArrowDown", "ArrowUp")
    expect(focus(page), "find", "an arrow up from the first")
    page.press("ArrowDown", "ArrowDown")
    page.follow("Enter")
    expect(address(page), found[1], "Enter on the second")
    page.press("/")
    page.type("dim_strategy")
    found = page.value(hits)
    page.follow("Enter")
    expect(address(page), found[0], "Enter in the search")
    if first in ("BODY", "find"):
        wrong.append(f"Tab leads to {first} first")
    return wrong


def main():
    browser, site, asked = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
    wrong = []
    for size in ((1200, 900), (390, 844)):
        with Chromium(browser, *size) as page:
            for name in ("index", "guide", "reference/index", "reference/report/html", "rooms/solve"):
                page.open((site / f"{name}.html").as_uri())
                if not page.value("document.documentElement.scrollWidth <= innerWidth"):
                    wrong.append(f"{name} is wider than a window of {size[0]}")
            page.open((site / "guide.html").as_uri() + "?q=which%20header%20has%20glpk")
            first = page.value("document.querySelector('#found a')?.getAttribute('href')")
            if first != "reference/solve/backend/glpk.html":
                wrong.append(f"an address that asks where glpk is shows {first}")
            wrong += [f"not answered: {question}" for question in questions(page, asked)]
            page.open((site / "rooms/solve.html").as_uri())
            wrong += by_keys(page) + page.complaints
    for what in wrong:
        print(what)
    sys.exit(bool(wrong))


main()
