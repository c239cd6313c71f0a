"""Reads what Doxygen found in the headers: one record per header, with every public name that it declares."""

import html
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

SPACES = ("shardweave::v0::", "shardweave::")


@dataclass
class Entity:
    """A public name: what kind it is, how it is declared, and what its comment says (HTML)."""

    name: str
    kind: str
    declaration: str
    brief: str
    text: str
    line: int
    members: list = field(default_factory=list)  # (name, declaration, default, description HTML) of what can be set
    functions: list = field(default_factory=list)  # entities
    values: list = field(default_factory=list)  # (name, description HTML) of enumerations


@dataclass
class Header:
    path: str  # as it is included
    room: str
    brief: str
    entities: list = field(default_factory=list)

    @property
    def target(self):
        """The CMake target that a host links for it."""
        if re.search(r"/io/|/io\.hpp", self.path):
            return "shardweave::io"
        if m := re.search(r"backend/(glpk|clp|cbc|highs)\.hpp", self.path):
            return "shardweave::" + m[1]
        if m := re.search(r"engine/(mpi|nccl|cublas)_", self.path):
            return "shardweave::" + m[1]
        return "shardweave::shardweave"


def bare(name):
    """A piece of code without our namespaces, and with its marks as the project sets them."""
    for space in SPACES:
        name = name.replace(space, "")
    # Doxygen writes "span< const T > a" and "T &a"
    if name.count("< ") and name.count("< ") == name.count(" >"):
        name = name.replace("< ", "<").replace(" >", ">")
    return re.sub(r" ([&*]+)(?=\w)", r"\1 ", name)


def plain(node):
    """The text of a node without its marks."""
    return "" if node is None else re.sub(r"\s+", " ", "".join(node.itertext())).strip()


CHARACTERS = {"sp": " ", "ndash": "–", "mdash": "—", "linebreak": "<br>", "nonbreakablespace": "\u00a0", "le": "≤", "ge": "≥",
              "rarr": "→", "larr": "←", "times": "×", "minus": "−", "infin": "∞", "copy": "©"}
MARKS = {"computeroutput": "code", "bold": "strong", "emphasis": "em", "itemizedlist": "ul", "orderedlist": "ol", "listitem": "li",
         "blockquote": "blockquote", "subscript": "sub", "superscript": "sup", "table": "table", "row": "tr"}
SECTIONS = {"return": "Returns", "pre": "Precondition", "post": "Postcondition", "note": "Note", "see": "See also", "warning": "Warning",
            "since": "Since", "par": "", "remark": "Remark", "invariant": "Invariant", "attention": "Attention", "author": "Source"}


def markup(node, link):
    """The description below a node as HTML. `link(refid, text)` makes a reference out of one."""
    if node is None:
        return ""
    parts = [html.escape(node.text or "", quote=False)]
    for child in node:
        parts.append(marked(child, link))
        parts.append(html.escape(child.tail or "", quote=False))
    return "".join(parts)


def marked(node, link):
    tag = node.tag
    if tag in CHARACTERS:
        return CHARACTERS[tag]
    inner = markup(node, link)
    if tag == "para":
        # lists and sections stand beside paragraphs, not in them
        if re.search(r"<(ul|ol|pre|dl|blockquote|table)", inner):
            return inner
        return f"<p>{inner}</p>" if inner.strip() else ""
    if tag in MARKS:
        return f"<{MARKS[tag]}>{inner}</{MARKS[tag]}>"
    if tag == "entry":
        cell = "th" if node.get("thead") == "yes" else "td"
        return f"<{cell}>{inner}</{cell}>"
    if tag == "ref":
        return link(node.get("refid"), inner)
    if tag == "ulink":
        return f'<a href="{html.escape(node.get("url"))}">{inner}</a>'
    if tag in ("programlisting", "verbatim", "preformatted"):
        lines = ["".join(t for t in code_text(line)) for line in node.iter("codeline")] if tag == "programlisting" else [plain_text(node)]
        return "<pre><code>" + html.escape("\n".join(lines), quote=False) + "</code></pre>"
    if tag == "simplesect":
        title = plain(node.find("title")) or SECTIONS.get(node.get("kind"), node.get("kind"))
        return f'<dl class="section"><dt>{title}</dt><dd>{"".join(marked(p, link) for p in node if p.tag == "para")}</dd></dl>'
    if tag == "parameterlist":
        title = {"param": "Parameters", "exception": "Errors", "templateparam": "Template parameters", "retval": "Values"}[node.get("kind")]
        rows = []
        for item in node.iter("parameteritem"):
            names = ", ".join(plain(n) for n in item.iter("parametername"))
            text = "".join(marked(p, link) for p in item.find("parameterdescription"))
            rows.append(f"<dd><code>{html.escape(bare(names))}</code> {re.sub('^<p>|</p>$', '', text)}</dd>")
        return f'<dl class="section"><dt>{title}</dt>{"".join(rows)}</dl>'
    if tag == "title":
        return ""
    return inner


def plain_text(node):
    return "".join(node.itertext())


def code_text(node):
    yield node.text or ""
    for child in node:
        if child.tag == "sp":
            yield " "
        else:
            yield from code_text(child)
        yield child.tail or ""


def template_of(node):
    parameters = node.find("templateparamlist")
    if parameters is None:
        return ""
    told = []
    for p in parameters.findall("param"):
        text = bare(plain(p.find("type")))
        if p.find("declname") is not None:
            text += " " + plain(p.find("declname"))
        if p.find("defval") is not None:
            text += " = " + bare(plain(p.find("defval")))
        told.append(text)
    text = "template <" + ", ".join(told) + ">\n"
    requires = node.find("requiresclause")
    return text + ("  requires " + bare(plain(requires)) + "\n" if requires is not None else "")


def declaration_of(member):
    kind = member.get("kind")
    name = plain(member.find("name"))
    type_ = bare(plain(member.find("type")))
    if kind == "function":
        words = [w for w, a in (("static", "static"), ("explicit", "explicit")) if member.get(a) == "yes"]
        head = " ".join(words + ([type_] if type_ else []) + [name])
        return template_of(member) + head + bare(plain(member.find("argsstring")))
    if kind == "typedef":
        return template_of(member) + bare(plain(member.find("definition"))).replace("using " + bare(plain(member.find("qualifiedname"))), "using " + name)
    if kind == "enum":
        under = bare(type_)
        return f"enum {'class ' if member.get('strong') == 'yes' else ''}{name}" + (f" : {under}" if under else "")
    text = template_of(member) + f"{type_} {name}" + plain(member.find("argsstring"))
    return text + default_of(member)


def default_of(member):
    value = plain(member.find("initializer"))
    return " " + bare(value) if value and len(value) < 120 else ""


def descriptions(node, link):
    brief = markup(node.find("briefdescription"), link)
    text = "".join(marked(x, link) for part in ("detaileddescription", "inbodydescription") if node.find(part) is not None for x in node.find(part))
    return told_apart(brief), told_apart(text)


def told_apart(text):
    """Complexity, memory and source stand out, as parameters and errors do."""
    return re.sub(r"(?<![\w>])(Complexity|Memory|Source|Method):(?=\s)", r"<br><strong>\1</strong>:", text).replace("<p><br>", "<p>")


def as_entity(member, link):
    brief, text = descriptions(member, link)
    entity = Entity(plain(member.find("name")), member.get("kind"), declaration_of(member), brief, text, int(member.find("location").get("line")))
    for value in member.findall("enumvalue"):
        b, t = descriptions(value, link)
        entity.values.append((plain(value.find("name")), b + t))
    return entity


def is_hidden(name):
    return "detail::" in name or "@" in name or "::detail" in name


def read(folder, include_dir):
    """All headers of Doxygen's XML in `folder`, by path; entities in the order of their declarations.

    The second result tells which reference id stands where: (header, name)."""
    include_dir = Path(include_dir)
    roots = [ET.parse(p).getroot() for p in sorted(Path(folder).glob("*.xml")) if p.name not in ("index.xml", "Doxyfile.xml")]
    compounds = [c for r in roots for c in r.iter("compounddef")]
    headers, places = {}, {}

    def header_at(node):
        location = node.find("location")
        if location is None:
            return None
        path = location.get("declfile") or location.get("file")
        path = path if not Path(path).is_absolute() else str(Path(path).relative_to(include_dir))
        return headers.get(path)

    for c in compounds:
        if c.get("kind") != "file" or not c.find("location").get("file").endswith(".hpp"):
            continue
        path = c.find("location").get("file")
        path = path if not Path(path).is_absolute() else str(Path(path).relative_to(include_dir))
        parts = path.split("/")
        headers[path] = Header(path, parts[1] if len(parts) > 2 else "", "")
    # where every name stands, before any description refers to it
    for c in compounds:
        name = bare(plain(c.find("compoundname")))
        if c.get("kind") in ("struct", "class", "concept") and not is_hidden(name) and (h := header_at(c)):
            places[c.get("id")] = (h.path, name)
            for m in c.iter("memberdef"):
                places[m.get("id")] = (h.path, name)
        if c.get("kind") == "namespace":
            for m in c.iter("memberdef"):
                if h := header_at(m):
                    places[m.get("id")] = (h.path, plain(m.find("name")))
        if c.get("kind") == "file" and (h := headers.get(c.find("location").get("file"))):
            places[c.get("id")] = (h.path, "")

    for path, header in headers.items():
        def link(refid, text, here=path):
            if refid not in places:
                return text
            to, name = places[refid]
            return f'<a href="{relative(here, to)}{"#" + name if name else ""}">{text}</a>'
        header.link = link

    # What is nested in something private is private. Doxygen lists what an inline namespace has in the one around it, too, and
    # what is instantiated elsewhere ("extern template") as if it were declared anew.
    private = [bare(plain(c.find("compoundname"))) + "::" for c in compounds if c.get("prot") in ("private", "protected")]
    listed = set()
    for c in compounds:
        kind, name = c.get("kind"), bare(plain(c.find("compoundname")))
        if kind == "file" and (h := headers.get(c.find("location").get("file"))):
            brief, text = descriptions(c, h.link)
            h.brief = brief + text
        if kind == "namespace":
            for m in c.iter("memberdef"):
                h = header_at(m)
                again = m.get("id") in listed or plain(m.find("type")).startswith("template ")
                if h and not again and not is_hidden(plain(c.find("compoundname"))):
                    listed.add(m.get("id"))
                    h.entities.append(as_entity(m, h.link))
        if kind in ("struct", "class", "concept") and not is_hidden(name) and (h := header_at(c)):
            if c.get("prot") in ("private", "protected") or name.startswith(tuple(private)):
                continue
            brief, text = descriptions(c, h.link)
            line = int(c.find("location").get("line"))
            if kind == "concept":
                code = bare(plain_text(c.find("initializer"))) if c.find("initializer") is not None else name
                h.entities.append(Entity(name, kind, code.strip(), brief, text, line))
                continue
            entity = Entity(name, kind, template_of(c) + f"{kind} {name}", brief, text, line)
            for m in c.iter("memberdef"):
                if m.get("prot") != "public" or m.get("kind") == "friend":
                    continue
                if m.get("kind") == "variable" and m.get("static") == "no":
                    b, t = descriptions(m, h.link)
                    value = re.sub(r"^= ?", "", default_of(m).strip())
                    entity.members.append((plain(m.find("name")), bare(plain(m.find("type"))), value, re.sub("</?p>", "", b + " " + t).strip()))
                else:
                    entity.functions.append(as_entity(m, h.link))
            h.entities.append(entity)
    for h in headers.values():
        h.entities.sort(key=lambda e: e.line)
    return headers, places


def undocumented(headers):
    """What is wrong with public names: each has a text that tells what it means. Overloads and deduction guides may share
    that of one declaration in the same header; operators mean what they mean everywhere."""
    for path, h in sorted(headers.items()):
        told = {e.name for e in h.entities if (e.brief + e.text).strip()}
        for e in h.entities:
            if e.name not in told and not e.name.startswith("operator"):
                yield f"include/{path}:{e.line}: the {e.kind} {e.name} has no text"


def page_of(path):
    """The page of a header, below the site's folder."""
    return "reference/" + path.removeprefix("shardweave/").removesuffix(".hpp") + ".html"


def relative(here, there):
    up = page_of(here).count("/")
    return "../" * up + page_of(there)
