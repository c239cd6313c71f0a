#!/usr/bin/env python3
"""reports.py BROWSER SOURCES FOLDER REPORT LARGE_REPORT

Opens reports from files in a Chromium without a window: the one of the program REPORT, as wide as a screen and as a phone,
those that stand in docs, and the one of LARGE_REPORT, of more than 20,000 tasks. By keys alone, as a keyboard sends them,
they are searched, zoomed and gone through; what they tell is compared with what the program prints and other pages say.
Ends with 1 where something is wrong or the browser complains.
"""
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from chromium import Chromium

FOCUSABLE = 'a[href], button, input, select, summary, [tabindex="0"]'


class Report:
    """A report in a browser. `wrong` has what was not as expected."""

    def __init__(self, page, address):
        self.page, self.address, self.wrong = page, address, []
        page.open(address)

    def expect(self, holds, what):
        if not holds:
            self.wrong.append(what)

    def text(self, name):
        return self.page.value(f"document.getElementById('{name}').textContent")

    def focus(self):
        return self.page.value("document.activeElement.id || document.activeElement.tagName")

    def window(self):
        """First and last nanosecond that the timeline shows."""
        return self.page.value("['from', 'to'].map((x) => Number(document.getElementById('channels').dataset[x]))")

    def tells(self, known):
        """`known`: by row of the table of figures, the first cells."""
        rows = self.page.value("""Object.fromEntries([...document.querySelectorAll('#figures tr')].map((row) =>
            [row.cells[0].textContent, [...row.cells].slice(1).map((cell) => cell.textContent)]))""")
        for name, cells in known.items():
            told = rows.get(name, [])[:len(cells)]
            self.expect(cells and told == cells, f"{name} is told as {told}, expected {cells}")
        if known:
            end = known["end to end"][0]
            heads = self.page.value("""['#step h3', '.tiles dd'].map((x) =>
                document.querySelector(x).textContent.split(': ').pop())""")
            self.expect(heads == [end, end], f"the step and the first tile tell {heads}, expected {end}")

    def used(self, word):
        """Search and zoom, by keys alone."""
        page, expect = self.page, self.expect
        expect(page.value("document.documentElement.dataset.ready") == "true", "the script has not come to its end")
        expect(page.value("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window")
        whole = self.window()
        totals = page.value("JSON.parse(document.getElementById('data').textContent).plans[0].totals")
        expect(whole == [0, totals["end_to_end_ns"]], f"the timeline shows {whole}")
        colours = page.value("""(() => {
            const canvas = document.getElementById('channels'), seen = new Set();
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            new Uint32Array(data.buffer).forEach((p) => { if (p >>> 24 === 255) seen.add(p); });
            return seen.size; })()""")
        expect(colours >= 4, f"the timeline has {colours} colours")

        page.press("/")
        expect(self.focus() == "find", f"/ leads to {self.focus()}, not to the search")
        page.type(word)
        count = self.text("found-count")
        expect(re.match(r"[1-9][0-9,]* match", count), f"searching {word} tells '{count}'")
        listed = page.value("document.querySelectorAll('#found button').length")
        expect(listed == min(100, int(re.sub("[^0-9]", "", count) or 0)), f"{listed} of '{count}' are listed")
        page.press("Enter")
        first = self.text("picked")
        expect(word in first or "members" in first, f"Enter selects '{first}'")
        close = self.window()
        expect(close[1] - close[0] < whole[1], "a match is not shown closer")
        expect(self.text("found-count").startswith("1 of "), f"the first match is '{self.text('found-count')}'")
        page.press("Enter")
        several = not count.startswith("1 match")
        expect(self.text("found-count").startswith("2 of " if several else "1 of "), "Enter does not go on to the next")
        page.press("Shift+Enter")
        expect(self.text("picked") == first, "Shift and Enter do not lead back to the first")
        page.type(" nosuchtask")
        expect(self.text("found-count") == "0 matches", f"nothing is found as '{self.text('found-count')}'")
        page.press("Escape")
        expect(self.focus() == "channels", f"Escape leads to {self.focus()}, not to the timeline")

        page.press("0")
        expect(self.window() == whole, "0 does not show all")
        page.press("ArrowUp", "+")
        zoomed = self.window()
        expect(abs((zoomed[1] - zoomed[0]) / whole[1] - 0.36) < 0.01, f"two steps closer show {zoomed}")
        page.press("Home", "ArrowRight")
        moved = self.window()
        expect(abs(moved[0] - 0.2 * (zoomed[1] - zoomed[0])) < 2, f"a step to the right begins with {moved[0]}")
        page.press("ArrowLeft", "ArrowDown", "-")
        expect(self.window() == whole, f"back again shows {self.window()}")
        told = set()
        for _ in range(3):
            page.press("n")
            told.add(self.text("picked"))
        expect(len(told) == 3, f"n goes through {told}")
        before = self.text("picked")
        page.press("j")
        expect(self.text("picked") != before, "j stays on its channel")
        page.press("k")

    def reached(self):
        """Everything that can be used is reached by Tab, seen then, and opened by Enter."""
        page, expect = self.page, self.expect
        page.open(self.address)
        page.press("Tab")
        expect(page.value("document.activeElement.className") == "skip", "the first Tab does not offer the timeline")
        page.press("Enter")
        expect(page.value("location.hash") == "#timeline", "Enter does not lead to the timeline")
        page.open(self.address)
        page.value(f"""
            window.useful = (where) => [...where.querySelectorAll('{FOCUSABLE}')].filter((e) => e.checkVisibility());
            window.left = new Set(useful(document)), window.first = null;""")
        opened = 0
        for _ in range(1000):
            page.press("Tab")
            name, seen, ends = page.value("""(({ activeElement: e }) => {
                const box = e.getBoundingClientRect(), y = box.top + Math.min(box.height, 20) / 2;
                const x = (Math.max(0, box.left) + Math.min(innerWidth, box.right)) / 2;
                const ends = e === document.body || e === first;
                first ??= e;
                left.delete(e);
                return [e.tagName + ' ' + (e.id || e.textContent), e.contains(document.elementFromPoint(x, y)), ends];
                })(document)""")
            if ends:
                break
            expect(seen, f"{name} has the focus and is not seen")
            if name.startswith("SUMMARY"):
                page.press("Enter")
                opened += page.value("""(({ parentElement: part }) => {
                    useful(part).filter((e) => e.tagName !== 'SUMMARY').forEach((e) => left.add(e));
                    return part.open && part.children.length > 1; })(document.activeElement)""")
        missed = page.value("[...left].map((e) => e.tagName + ' ' + (e.id || e.textContent))")
        expect(not missed, f"Tab does not reach {missed}")
        summaries = page.value("document.querySelectorAll('summary').length")
        expect(summaries > 0 and opened == summaries, f"{opened} of {summaries} parts open by Enter")

    def beside(self, plans):
        """Both plans in the timeline, and the other light, by keys."""
        page, expect = self.page, self.expect
        ends = page.value("""JSON.parse(document.getElementById('data').textContent).plans
            .map((p) => p.totals.end_to_end_ns)""")
        expect(len(ends) == plans, f"there are {len(ends)} plans")
        page.value("document.querySelector('#timeline select').focus()")
        page.press("End")
        expect(page.value("document.activeElement.value") == "all", "End does not choose all plans")
        expect(self.window()[1] == max(ends), f"all plans end at {self.window()[1]}")
        heads = page.value("document.querySelectorAll('#figures thead th').length")
        expect(heads == plans + 2, f"the table of figures has {heads} columns")
        ground = "getComputedStyle(document.body).backgroundColor"
        was = page.value(ground)
        page.value("document.getElementById('theme').focus()")
        page.press(" ")
        expect(page.value(ground) != was, "the button does not change light and dark")


    def places(self):
        """The placements of two plans, by keys: how many values differ, and the cells that say so."""
        page, expect = self.page, self.expect
        placed = page.value("JSON.parse(document.getElementById('data').textContent).placement")
        one, other = ({**placed["plans"][0]["rows"], **plan["rows"]} for plan in placed["plans"])
        rows = list(zip(one["kind"], one["part"], one["label"], other["label"]))
        apart = sum(a != b for *_, a, b in rows)
        picture = "document.querySelector('#placement {}')"
        told = page.value(picture.format(".count") + ".textContent")
        expect(apart > 0 and told.startswith(f"{apart:,} of {len(rows):,} values"), f"{apart} differ, told is '{told}'")
        page.value(picture.format("select") + ".focus()")
        for plan, key in (0, "Home"), (1, "End"):
            page.press(key)
            parts = {}  # of the first picture: the marks of each part
            for kind, part, *labels in rows:
                if kind == 0 and labels[0] != labels[1]:
                    parts.setdefault(placed["parts"][part], set()).add("≠ " + placed["labels"][labels[plan]])
            cells = page.value("""[...document.querySelector('#placement table').querySelectorAll('td.differs')]
                .map((cell) => [cell.parentElement.cells[0].textContent, cell.textContent])""")
            marked = {}
            for part, mark in cells:
                marked.setdefault(part, set()).add(mark)
            expect(parts and marked == parts, f"plan {plan}: {marked} are marked, expected {parts}")

    def painted(self):
        """When something is seen, and when the scripts have run, in milliseconds: the least of a few times, as others may use the
        machine."""
        times = []
        while not times or (len(times) < 5 and min(times)[0] >= 2000):
            self.page.open(self.address)
            times.append(self.page.value("""new Promise((done) => new PerformanceObserver((list) => {
                for (const paint of list.getEntriesByName('first-contentful-paint'))
                    done([paint.startTime, performance.getEntriesByType('navigation')[0].loadEventEnd]);
                }).observe({ type: 'paint', buffered: true }))"""))
        return min(times)


def printed_row(text, name):
    """The figures with units of the first row of that name in a text that programs print."""
    cells = re.search(rf"^ *{name}  +(.*)$", text, re.M)[1]
    return re.findall(r"[0-9][0-9.,]* (?:ns|µs|ms|s|B|KiB|MiB|GiB)\b", cells)


def main():
    browser, (sources, folder), programs = sys.argv[1], map(pathlib.Path, sys.argv[2:4]), sys.argv[4:6]
    folder.mkdir(parents=True, exist_ok=True)
    small, large = folder / "small.html", folder / "large.html"
    printed = subprocess.run([programs[0], small], check=True, capture_output=True, text=True).stdout
    print(subprocess.run([programs[1], large], check=True, capture_output=True, text=True).stdout.strip(), "in", large.name)

    # the texts have the order as given first, the reports last
    readme, performance = ((sources / name).read_text() for name in ("README.md", "docs/performance.md"))
    known_small = {name: printed_row(printed, name)[::-1] for name in ("end to end", "peak memory")}
    known_main = {name: printed_row(readme, row)[:0:-1] for name, row in (
        ("end to end", "end to end"), ("peak memory", "peak memory"), ("stalls", "exposed"))}
    known_main["end to end"].append(re.search(r"least sum takes ([0-9.]+ ms)", readme)[1])  # the plan beside it
    captured = re.search(r"^\| llama3-8b-bw-64-2d \| measured \| ([0-9.]+) \|", performance, re.M)[1]
    wide, phone, wrong = (1200, 900), (390, 844), []
    for file, size, word, known in [
            (small, wide, "gather3", known_small), (small, phone, "gather3", known_small),
            (sources / "docs/llama3-8b.html", wide, "layers.7.w1", known_main),
            (sources / "docs/captured_llama3-8b.html", phone, "reduce_scatter_tensor_12", {"end to end": [captured + " ms"]}),
            (large, wide, "c4321", {})]:
        with Chromium(browser, *size) as page:
            report = Report(page, file.resolve().as_uri())
            report.tells(known)
            report.used(word)
            if file.name == "llama3-8b.html":
                report.places()
            if file == small:
                report.beside(2)
                report.reached()
            else:
                paint, ready = report.painted()
                megabytes = file.stat().st_size / 1e6
                told = f"{megabytes:.2f} MB, first painted after {paint:.0f} ms, ready after {ready:.0f} ms"
                report.expect(megabytes < 10 and paint < 2000, told)
                print(f"{file.name}: {told}")
            wrong += [f"{file.name}, {size[0]} wide: {what}" for what in report.wrong + page.complaints]
    for what in wrong:
        print(what)
    sys.exit(bool(wrong))


main()
