"""Makes the site of the pages and the headers: build.py SOURCE XML OUT. Ends with a list of what is wrong, if anything is."""

import html
import json
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, guess_lexer_for_filename
from pygments.util import ClassNotFound

sys.path.insert(0, str(Path(__file__).parent))
import reference

GUIDES = ["index", "guide", "questions", "concepts", "cookbook", "cost_models", "step", "proofs", "reliability", "formats", "trace", "performance", "compile_times"]
ABOUT = ["expectations", "mechanisms", "contributing", "changelog"]


def slug_of(title):
    """The anchor of a heading, as the usual viewers of Markdown make it."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", title).lower()).strip().replace(" ", "-")


def code(text, language, name=""):
    try:
        lexer = get_lexer_by_name(language) if language else guess_lexer_for_filename(name, text)
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    return highlight(text, lexer, HtmlFormatter(nowrap=True)).rstrip("\n")


class Site:
    def __init__(self, source, out):
        self.source, self.out = source, out
        self.pages = {}  # path below `out` -> (title, body, kind)
        self.index = []  # entries of the search
        self.files = []  # of the sources, that pages refer to and that become pages
        self.wrong = []

    # --- pages -----------------------------------------------------------------------------------------------------
    def page_of(self, path):
        """Where a file of the sources stands in the site, whether it does already or not; nothing outside of them."""
        relative = path.resolve().relative_to(self.source)
        text = str(relative)
        if text == "README.md":
            return "index.html"
        if text.startswith("docs/") and text.endswith(".md"):
            return text.removeprefix("docs/").removesuffix(".md") + ".html"
        if path.suffix in (".svg", ".png") or (path.suffix == ".html" and text.startswith("docs/")):
            return text.removeprefix("docs/")
        return "files/" + text + ("/index.html" if path.is_dir() else ".html")

    def target(self, here, link):
        """The link of a page of Markdown as a link of the site."""
        if re.match(r"[a-z]+:", link):
            return link
        path, _, anchor = link.partition("#")
        to = (here.parent / unquote(path)).resolve() if path else here
        if not to.exists() or not to.is_relative_to(self.source):
            self.wrong.append(f"{here.relative_to(self.source)}: there is no {link}")
            return link
        page = self.page_of(to)
        if page.startswith("files/") and to not in self.files:
            self.files.append(to)
        if to.suffix in (".svg", ".png", ".html"):
            (self.out / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(to, self.out / page)
        up = "../" * self.page_of(here).count("/")
        return up + page + ("#" + anchor if anchor else "")

    def add_markdown(self, path):
        text = path.read_text()
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        here, title, used = self.page_of(path), "", {}
        section, sections = None, []
        for i, token in enumerate(tokens):
            if token.type == "heading_open":
                heading = tokens[i + 1].content
                slug = slug_of(heading)
                used[slug] = used.get(slug, 0) + 1
                anchor = slug if used[slug] == 1 else f"{slug}-{used[slug] - 1}"
                token.attrSet("id", anchor)
                title = title or re.sub(r"[`*]", "", heading)
                section = [re.sub(r"[`*]", "", heading), anchor, []]
                sections.append(section)
            elif token.type == "inline":
                for child in token.children:
                    for name in ("href", "src"):
                        if child.attrGet(name):
                            child.attrSet(name, self.target(path, child.attrGet(name)))
                if section and tokens[i - 1].type != "heading_open":
                    section[2].append(re.sub(r"\]\([^)]*\)|[`*\[]", "", token.content))
            elif token.type == "fence" and section:
                section[2].append(token.content)
        renderer = MarkdownIt("commonmark").enable("table")
        env = {}
        renderer.renderer.rules["fence"] = lambda t, i, o, e: self.fence(t[i])
        body = renderer.renderer.render(tokens, renderer.options, env)
        body = re.sub(r"<table>", '<div class="scroll"><table>', body).replace("</table>", "</table></div>")
        self.pages[here] = (title, body, "page")
        for heading, anchor, texts in sections:
            whole = " ".join(texts)
            self.index.append({"t": heading, "p": title, "u": here + ("#" + anchor if anchor != slug_of(title) else ""), "x": whole[:3000], "k": "page"})

    def fence(self, token):
        words = token.info.split()
        language = words[0] if words else "text"
        where = f'<figcaption>{html.escape(" ".join(words[1:]))}</figcaption>' if len(words) > 1 else ""
        return f"<figure><pre><code>{code(token.content, language)}</code></pre>{where}</figure>\n"

    def add_files(self):
        for path in self.files:  # grows meanwhile
            page = self.page_of(path)
            name = str(path.relative_to(self.source))
            if path.is_dir():
                inside = sorted(p for p in path.iterdir() if not p.name.startswith("."))
                rows = []
                for p in inside:
                    if p not in self.files:
                        self.files.append(p)
                    rows.append(f'<li><a href="{"../" * page.count("/")}{self.page_of(p)}">{html.escape(p.name)}</a></li>')
                self.pages[page] = (name, f"<h1>{html.escape(name)}</h1><ul>{''.join(rows)}</ul>", "file")
                continue
            if path.suffix == ".md":
                body = MarkdownIt("commonmark").enable("table").render(path.read_text())
                body = re.sub(r'<a href="(?!https?:)[^"]*">(.*?)</a>', r"\1", body)
            else:
                try:
                    text = path.read_text()
                except UnicodeDecodeError:
                    text = "(not text)"
                body = f"<h1>{html.escape(name)}</h1><figure><pre><code>{code(text[:200_000], '', path.name)}</code></pre></figure>"
            self.pages[page] = (name, body, "file")
            if name.startswith("examples/") and path.suffix == ".cpp":
                comment = " ".join(re.sub(r"^//\s?", "", line) for line in path.read_text().splitlines() if line.startswith("//"))
                self.index.append({"t": path.name, "p": "program", "u": page, "x": comment[:1500], "k": "program"})

    # --- reference -------------------------------------------------------------------------------------------------
    def add_reference(self, xml):
        headers, _ = reference.read(xml, self.source / "include")
        public = {p: h for p, h in headers.items() if h.entities and not re.search(r"/(detail|impl|compiled)/", p)}
        self.wrong += reference.undocumented(public)
        rooms = {}
        for path, h in sorted(public.items()):
            rooms.setdefault(h.room, []).append(h)
            page = reference.page_of(path)
            up = "../" * page.count("/")
            name = path.removeprefix("shardweave/")
            body = [f"<h1>{html.escape(name)}</h1>{h.brief}", f"<figure><pre><code>#include &lt;{html.escape(path)}&gt;</code></pre></figure>"]
            facts = [f"target <code>{h.target}</code>"]
            if h.room:
                facts.append(f'room <a href="{up}rooms/{h.room}.html">{h.room}</a>')
                facts.append(f'entry header <code>&lt;shardweave/{h.room}.hpp&gt;</code>' if h.target == "shardweave::shardweave" or h.room == "io" else "in no entry header")
            body.append(f'<p class="faint">{", ".join(facts)}</p>')
            seen = {}
            for e in h.entities:
                seen[e.name] = seen.get(e.name, 0) + 1
                anchor = e.name if seen[e.name] == 1 else f"{e.name}-{seen[e.name]}"
                body.append(self.entity(e, anchor))
                text = " ".join([e.brief, e.text] + [f"{m[0]} {m[3]}" for m in e.members] + [f"{f.name} {f.brief}" for f in e.functions] + [f"{v[0]} {v[1]}" for v in e.values])
                text = html.unescape(re.sub(r"<[^>]+>", " ", text))
                self.index.append({"t": e.name, "p": name, "u": page + "#" + anchor, "x": re.sub(r"\s+", " ", text)[:1500], "k": e.kind})
                for f in dict.fromkeys(f.name for f in e.functions if f.name != e.name and not f.name.startswith(("operator", "~"))):
                    told = " ".join(f"{g.declaration} {g.brief}" for g in e.functions if g.name == f)
                    self.index.append({"t": f"{e.name}::{f}", "p": name, "u": page + "#" + anchor, "x": html.unescape(re.sub(r"<[^>]+>|\s+", " ", told))[:400], "k": "member"})
            self.index.append({"t": name, "p": "header", "u": page, "x": re.sub(r"<[^>]+>", " ", h.brief) + f" #include <{path}> {h.target} " + " ".join(e.name for e in h.entities), "k": "header"})
            self.pages[page] = (name, "\n".join(body), "reference")
        body = ["<h1>Reference</h1><p>Every public name, by the header that declares it. A host includes the header, or the entry header of its room.</p>"]
        names = sorted({(e.name, reference.page_of(h.path) + "#" + e.name) for h in public.values() for e in h.entities}, key=lambda x: (x[0].lower(), x[1]))
        for room in sorted(rooms, key=lambda r: (r != "", r)):
            body.append(f'<h2 id="{room or "whole"}">{room or "the whole"}</h2><div class="scroll"><table><tbody>')
            for h in rooms[room]:
                links = ", ".join(f'<a href="{reference.page_of(h.path).removeprefix("reference/")}#{e}"><code>{html.escape(e)}</code></a>' for e in dict.fromkeys(x.name for x in h.entities))
                body.append(f'<tr><th><a href="{reference.page_of(h.path).removeprefix("reference/")}">{h.path.split("/")[-1]}</a></th><td>{links}</td></tr>')
            body.append("</tbody></table></div>")
        body.append('<h2 id="names">All names</h2><p class="names">' + " ".join(f'<a href="{u.removeprefix("reference/")}"><code>{html.escape(n)}</code></a>' for n, u in names) + "</p>")
        self.pages["reference/index.html"] = ("Reference", "\n".join(body), "reference")
        self.count = (len(public), len(names))

    def entity(self, e, anchor):
        parts = [f'<section class="entity" id="{html.escape(anchor)}"><h2>{html.escape(e.name)} <small>{e.kind}</small></h2>',
                 f"<figure><pre><code>{code(e.declaration, 'cpp')}</code></pre></figure>", e.brief, e.text]
        if e.values:
            parts.append('<div class="scroll"><table><thead><tr><th>value</th><th>meaning</th></tr></thead><tbody>' + "".join(
                f"<tr><th><code>{html.escape(n)}</code></th><td>{t}</td></tr>" for n, t in e.values) + "</tbody></table></div>")
        if e.members:
            parts.append('<div class="scroll"><table><thead><tr><th>member</th><th>type</th><th>default</th><th>meaning</th></tr></thead><tbody>' + "".join(
                f"<tr><th><code>{html.escape(n)}</code></th><td><code>{html.escape(t)}</code></td><td>{f'<code>{html.escape(d)}</code>' if d else ''}</td><td>{x}</td></tr>"
                for n, t, d, x in e.members) + "</tbody></table></div>")
        for f in e.functions:
            parts.append(f'<div class="member"><figure><pre><code>{code(f.declaration, "cpp")}</code></pre></figure>{f.brief}{f.text}</div>')
        return "\n".join(parts) + "</section>"

    # --- the whole -------------------------------------------------------------------------------------------------
    def navigation(self, up, here):
        def item(page, text):
            current = ' aria-current="page"' if page == here else ""
            return f'<li><a href="{up}{page}"{current}>{html.escape(text)}</a></li>'

        def group(title, pages):
            known = [(p, t) for p, t in pages if p in self.pages]
            return f"<h2>{title}</h2><ul>{''.join(item(p, t) for p, t in known)}</ul>" if known else ""

        rooms = sorted(p for p in self.pages if p.startswith("rooms/"))
        fields = sorted(p for p in self.pages if p.startswith("fields/") and not p.endswith("README.html"))
        return (group("Guide", [(n + ".html", self.pages[n + ".html"][0]) for n in GUIDES if n + ".html" in self.pages])
                + group("Reference", [("reference/index.html", "All names and headers"), ("fields/README.html", "Fields of every struct")])
                + group("Rooms", [(p, Path(p).stem) for p in rooms])
                + group("Fields", [(p, Path(p).stem) for p in fields])
                + group("Project", [("packaging/README.html", "Packages")] + [(n + ".html", self.pages[n + ".html"][0]) for n in ABOUT if n + ".html" in self.pages]))

    def write(self, version):
        page_dir = self.source / "docs/page"
        shutil.copyfile(page_dir / "site.css", self.out / "site.css")
        with open(self.out / "site.css", "a") as css:
            css.write(HtmlFormatter(style="default").get_style_defs(':root:not([data-theme="dark"]) pre') + "\n")
            css.write(HtmlFormatter(style="github-dark").get_style_defs(':root[data-theme="dark"] pre') + "\n")
        shutil.copyfile(page_dir / "search.js", self.out / "search.js")
        shutil.copyfile(page_dir / "site.js", self.out / "site.js")
        (self.out / "index.js").write_text("self.searchIndex = " + json.dumps(self.index, ensure_ascii=False, separators=(",", ":")) + ";\n")
        for path, (title, body, _) in self.pages.items():
            up = "../" * path.count("/")
            text = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{html.escape(title)} - shardweave</title>
<link rel="stylesheet" href="{up}site.css">
<script>document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";</script>
</head>
<body data-up="{up}">
<a class="skip" href="#content">to the content</a>
<header><a class="name" href="{up}index.html">shardweave</a> <span class="faint">{version}</span>
<form role="search"><input type="search" id="find" placeholder="Search (press /)" aria-label="Search the site" autocomplete="off"></form>
<button id="menu" aria-expanded="false">pages</button> <button id="theme">light / dark</button></header>
<ol id="found" aria-live="polite"></ol>
<div class="body">
<nav id="navigation" aria-label="Pages">{self.navigation(up, path)}</nav>
<main id="content">
{body}
</main>
</div>
<script src="{up}index.js"></script>
<script src="{up}search.js"></script>
<script src="{up}site.js"></script>
</body>
</html>
"""
            (self.out / path).parent.mkdir(parents=True, exist_ok=True)
            (self.out / path).write_text(text)

    def check_links(self):
        """Every link of every page leads to a file of the site, and to an anchor in it."""
        ids, links = {}, 0
        texts = {path: (self.out / path).read_text() for path in self.pages}
        for path, text in texts.items():
            ids[path] = set(re.findall(r'\bid="([^"]*)"', text))
        for path, text in texts.items():
            for link in re.findall(r'(?:href|src)="([^"]*)"', text):
                if re.match(r"[a-z]+:", link):
                    continue
                links += 1
                file, _, anchor = html.unescape(link).partition("#")
                to = (self.out / path).parent / file if file else self.out / path
                to = to.resolve()
                if not to.is_file():
                    self.wrong.append(f"{path}: there is no page {link}")
                elif anchor and str(to.relative_to(self.out)) in ids and anchor not in ids[str(to.relative_to(self.out))]:
                    self.wrong.append(f"{path}: there is no {link}")
        return links


def main():
    source, xml, out = (Path(a).resolve() for a in sys.argv[1:4])
    if out.exists() and not (out / "site.css").exists() and any(out.iterdir()):
        sys.exit(f"build.py: {out} holds something else than a site")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    site = Site(source, out)
    for path in [source / "README.md", *sorted((source / "docs").rglob("*.md"))]:
        site.add_markdown(path)
    site.add_reference(xml)
    for folder in ("examples/gallery",):
        for program in sorted((source / folder).glob("*.cpp")):
            if program not in site.files:
                site.files.append(program)
    site.add_files()
    text = (source / "include/shardweave/version.hpp").read_text()
    version = ".".join(re.findall(r"#define SHARDWEAVE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))
    site.write(version)
    links = site.check_links()
    if site.wrong:
        sys.exit("the site is wrong:\n  " + "\n  ".join(sorted(set(site.wrong))))
    print(f"{out}: {len(site.pages)} pages, {site.count[0]} headers, {site.count[1]} names, {len(site.index)} entries of the search, {links} links")


if __name__ == "__main__":
    main()
