"""Manual pages and completion for bash and zsh, made from what each program says of itself: manual.py OUT PROGRAM...

Writes OUT/man/man1/NAME.1, OUT/bash-completion/completions/NAME and OUT/zsh/site-functions/_NAME. What an option may be is
asked of the program, too: a value that it refuses gets all of them as the answer.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Option:
    flags: list
    value: str  # "" of a flag
    default: str
    about: str
    choices: list
    beside: list  # what it needs or excludes: ("Needs", "--layout --mesh")


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)


def choices_of(program, flag, positionals):
    """The words that an option takes, if they are a list."""
    told = run(program, *["x"] * positionals, flag, "?").stderr
    found = re.search(r"found '\?', expected one of (.*?)(?: \(see --help\))?\n?$", told.strip())
    return re.split(r", ", found[1]) if found else []


def read(program):
    """Sentence, usage, positionals, options by heading, further text."""
    done = run(program, "--help")
    if done.returncode != 0:
        sys.exit(f"manual.py: {program} --help ends with {done.returncode}: {done.stderr}")
    lines = done.stdout.splitlines()
    sentence = lines[0]
    usage = next(line for line in lines if line.startswith("Usage: ")).removeprefix("Usage: ")
    groups, rest, here = [], [], None
    for line in lines[lines.index("Usage: " + usage) + 1:]:
        if line.startswith("  -"):  # "--flag TEXT [default]  Excludes: ..." is what CLI11 writes since 2.4
            line = re.sub(r"^(  -\S+ [A-Z]+) \[(.*?)\]", r"\1=\2", line)
            line = re.sub(r" +(Excludes|Needs): ", r" \1: ", line)
        entry = re.match(r"  (-[\w,-]*|\w+)(?: (.*?))?(?:  +(.*))?$", line) if line.startswith("  ") and not line.startswith("   ") else None
        heading = re.match(r"(\S.*):$", line)
        if heading and not rest and (heading[1] in ("Positionals", "Options") or heading[1].startswith("Settings")):
            here = (heading[1], [])
            groups.append(here)
        elif here is not None and entry and (entry[1].startswith("-") or here[0] == "Positionals"):
            here[1].append([entry[1], entry[2] or "", entry[3] or ""])
        elif here is not None and line.startswith("     ") and here[1]:
            here[1][-1][2] = (here[1][-1][2] + " " + line.strip()).strip()
        elif rest and rest[-1].startswith("Exit status: ") and line.strip():
            rest[-1] += " " + line.strip()
        elif line.strip() or rest:
            here = None
            rest.append(line)
    positionals = next((entries for name, entries in groups if name == "Positionals"), [])
    options = []
    for name, entries in groups:
        if name == "Positionals":
            continue
        told = []
        for flags, value, about in entries:
            value, *beside = re.split(r" (Excludes|Needs): ", " " + value)
            kind, _, default = value.strip().partition("=")
            kind = kind.split(":")[0].replace(" ...", "")
            flags = flags.split(",")
            told.append(Option(flags, kind, default, about, choices_of(program, flags[-1], len(positionals)) if kind == "TEXT" else [], list(zip(beside[::2], beside[1::2]))))
        options.append((name, told))
    return sentence, usage, positionals, options, rest


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def manual(name, version, told):
    sentence, usage, positionals, groups, rest = told
    out = [f'.TH {name.upper()} 1 "" "shardweave {version}" "shardweave"', ".SH NAME", f"{roff(name)} \\- {roff(sentence[0].lower() + sentence[1:].rstrip('.'))}",
           ".SH SYNOPSIS", f".B {roff(name)}", roff(usage.removeprefix(name).strip()), ".SH DESCRIPTION", roff(sentence)]
    if positionals:
        out.append(".SH ARGUMENTS")
        for flag, _, about in positionals:
            out += [".TP", f".I {roff(flag)}", roff(about)]
    for heading, options in groups:
        out.append(".SH " + ("OPTIONS" if heading == "Options" else f'"{roff(heading.upper())}"'))
        for o in options:
            value = f" \\fI{roff(o.value)}\\fR" if o.value else ""
            out += [".TP", ", ".join(f"\\fB{roff(f)}\\fR" for f in o.flags) + value, roff(o.about.rstrip(".") + ".")]
            if o.choices:
                out.append("One of " + ", ".join(f"\\fB{roff(c)}\\fR" for c in o.choices) + ".")
            if o.default:
                out.append(f"Default: {roff(o.default)}.")
            out += [f"{how} {', '.join(f'{chr(92)}fB{roff(other)}{chr(92)}fR' for other in others.split())}." for how, others in o.beside]
    section = False
    for i, line in enumerate(rest):
        if line.startswith("Exit status: "):
            out.append(".SH EXIT STATUS")
            for status, meaning in re.findall(r"(\d) (.*?)(?=, \d |\.$)", line.removeprefix("Exit status: ")):
                out += [".TP", f".B {status}", roff(meaning)]
            section = True
        elif line.endswith(":") and not line.startswith(" "):
            out.append(f'.SH "{roff(line[:-1].upper())}"')
            section = True
        elif re.match(r"  \S+  +\S", line):
            word, about = line.strip().split(None, 1)
            out += [".TP", f".B {roff(word)}", roff(about)]
        elif line.strip():
            if i == 0 or not rest[i - 1].strip():
                out.append(".SH NOTES" if not section or not line.startswith(" ") else ".PP")
            out.append(roff(line.strip()))
        else:
            section = False
    return "\n".join(out) + "\n"


def is_file(option_or_about):
    return bool(re.search(r"\b(file|FILE|folder|FOLDER|json|TRACE)\b", option_or_about))


def bash(name, told):
    _, _, _, groups, _ = told
    options = [o for _, all_ in groups for o in all_]
    words = " ".join(f for o in options for f in o.flags)
    cases = []
    for o in options:
        pattern = "|".join(o.flags)
        if o.choices:
            cases.append(f'    {pattern}) COMPREPLY=($(compgen -W "{" ".join(o.choices)}" -- "$word")); return ;;')
        elif o.value:
            cases.append(f"    {pattern}) " + ('COMPREPLY=($(compgen -f -- "$word"))' if is_file(o.about) else "COMPREPLY=()") + "; return ;;")
    function = "_shardweave_" + name
    return (f"# bash completion for {name}, made from its --help\n{function}() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
            f'  case $before in\n' + "\n".join(cases) + "\n  esac\n"
            f'  if [[ $word == -* ]]; then\n    COMPREPLY=($(compgen -W "{words}" -- "$word"))\n  else\n    COMPREPLY=($(compgen -f -- "$word"))\n  fi\n}}\n'
            f"complete -o filenames -F {function} {name}\n")


def zsh(name, told):
    _, _, positionals, groups, _ = told

    def quoted(text):
        text = text.replace("[", "(").replace("]", ")").replace(":", "\\:").replace("'", "'\\''")
        return text if len(text) < 90 else text[:87].rsplit(" ", 1)[0] + " ..."

    lines = []
    for o in (o for _, all_ in groups for o in all_):
        for flag in o.flags:
            action = ""
            if o.choices:
                action = f":value:({' '.join(o.choices)})"
            elif o.value:
                action = f":{o.value.lower()}:" + ("_files" if is_file(o.about) else " ")
            lines.append(f"  '*{flag}[{quoted(o.about)}]{action}'")
    lines += [f"  '{n + 1}:{p[0]}:_files'" for n, p in enumerate(positionals)]
    return f"#compdef {name}\n# zsh completion for {name}, made from its --help\n_arguments \\\n" + " \\\n".join(lines) + "\n"


def main():
    out = Path(sys.argv[1])
    source = Path(__file__).resolve().parents[2]
    version = ".".join(re.findall(r"#define SHARDWEAVE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (source / "include/shardweave/version.hpp").read_text()))
    for program in sys.argv[2:]:
        name = Path(program).name
        told = read(program)
        for path, text in ((f"man/man1/{name}.1", manual(name, version, told)), (f"bash-completion/completions/{name}", bash(name, told)),
                           (f"zsh/site-functions/_{name}", zsh(name, told))):
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_text(text)
        count = sum(len(all_) for _, all_ in told[3])
        print(f"{name}: {count} options, {sum(bool(o.choices) for _, all_ in told[3] for o in all_)} of them with a list of values")


if __name__ == "__main__":
    main()
