#!/usr/bin/env bash
# docs/build.sh [FOLDER]  makes the site of the pages and the headers in FOLDER (default: build/site)
#
# Guide, concepts, rooms, fields, every public name and the programs of the gallery, with a search; nothing is fetched, and
# it opens from files: FOLDER/index.html. Needs Doxygen, and Python with markdown-it-py and Pygments (Debian and Ubuntu:
# installed if they are missing). What Doxygen warns of and links that lead nowhere are errors.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:-$root/build/site}
. "$root/examples/packages.sh"
if [ $# -gt 1 ] || [[ $out == -* ]]; then say "usage: docs/build.sh [FOLDER]" && exit 2; fi

find_python() {
  local candidate
  for candidate in "${PYTHON:-python3}" /usr/bin/python3; do
    if "$candidate" -c 'import markdown_it, pygments' 2>/dev/null; then
      printf '%s' "$candidate"
      return
    fi
  done
  return 1
}
need doxygen has_command doxygen
need python3-markdown-it find_python
need python3-pygments find_python
install_missing
python=$(find_python)

xml=$(mktemp -d)
trap 'rm -rf "$xml"' EXIT
cp "$root/docs/site/Doxyfile" "$xml/Doxyfile"
printf 'INPUT = %s\nSTRIP_FROM_PATH = %s\nOUTPUT_DIRECTORY = %s\n' "$root/include/shardweave" "$root/include" "$xml" >>"$xml/Doxyfile"
doxygen "$xml/Doxyfile" >/dev/null 2>"$xml/warnings" || { cat "$xml/warnings" >&2; exit 1; }
# of a specialization for a class of the standard library, which it has not read, Doxygen says this
if grep -v 'Internal inconsistency: scope for class std::' "$xml/warnings" >&2; then
  say "build.sh: the above are Doxygen's warnings"
  exit 1
fi
mkdir -p "$(dirname "$out")"
"$python" -B "$root/docs/site/build.py" "$root" "$xml/xml" "$out"
