#!/usr/bin/env bash
# tests/bare.sh                both commands of the README on bare machines: Debian's base image, present and old stable
# tests/bare.sh SUITE...       on these releases of Debian: trixie, bookworm
# tests/bare.sh lists SUITE... only what a user is told who may not install: no build
# tests/bare.sh pytorch SUITE... only the commands on the page of examples/pytorch: packages, installation, a training
#                              run, its tests; default: bookworm. PyTorch comes from the package index, 6 GB with all
#
# Makes roots by debootstrap in build/bare (or BARE_DIRECTORY) from the mirror of this machine's apt (or DEBIAN_MIRROR) and
# runs the scripts in copies of them: as a user without sudo and as root, with and without a terminal. Needs root and
# git. A machine that one has worked on hides what is missing; these do not.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/examples/packages.sh"
directory=${BARE_DIRECTORY:-$root/build/bare}
what=all
case ${1:-} in
  lists | pytorch)
    what=$1
    shift
    ;;
esac
if [ $# = 0 ]; then
  if [ "$what" = pytorch ]; then set -- bookworm; else set -- trixie bookworm; fi
fi
if [ "$(id -u)" != 0 ]; then
  say "bare.sh: a root of its own can be made by root alone"
  exit 2
fi
need debootstrap has_command debootstrap
need git has_command git
install_missing
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)}

# base SUITE: a root with what Debian calls essential, and apt
base() {
  local made=$directory/$1.base
  if [ -e "$made/etc/debian_version" ]; then return 0; fi
  say "$1: making a root"
  rm -rf "$made.part"
  quietly "$directory/$1.log" debootstrap --variant=minbase "$1" "$made.part" "$mirror"
  local file
  for file in /etc/apt/apt.conf /etc/apt/apt.conf.d/*proxy*; do  # what apt of this machine reaches its mirror by
    if [ -e "$file" ]; then cp "$file" "$made.part$file"; fi
  done
  chroot "$made.part" useradd --create-home user
  mv "$made.part" "$made"
}

# machine SUITE: a fresh copy of that root, with the sources in the user's home, in `at`
machine() {
  at=$directory/$1
  rm -rf "$at"
  cp -a "$directory/$1.base" "$at"
  mkdir "$at/home/user/shardweave"
  git -C "$root" ls-files --cached --others --exclude-standard -z |
    tar -C "$root" --null --files-from=- --ignore-failed-read -c | tar -C "$at/home/user/shardweave" -x
  chroot "$at" chown -R user:user /home/user/shardweave
  certificates=${PIP_CERT:-}
  if [ -n "$certificates" ]; then cp "$certificates" "$at/etc/pip.crt"; fi  # what pip of this machine trusts
}

# inside USER COMMAND: there, with processes, devices and variables of its own, all gone with it. The first process is a
# shell that stays: `script`, were it the first, would look for other children that ended without a rest.
inside() {
  local settings=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb) name home=/root
  if [ "$1" != root ]; then home=/home/$1; fi
  for name in http_proxy https_proxy no_proxy CMAKE_BUILD_PARALLEL_LEVEL PIP_INDEX_URL; do
    if [ -n "${!name:-}" ]; then settings+=("$name=${!name}"); fi
  done
  if [ -n "$certificates" ]; then settings+=(PIP_CERT=/etc/pip.crt); fi
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$1/proc" && mount -t tmpfs shm "$1/dev/shm" && mount --bind /dev/pts "$1/dev/pts" || exit 1
    exec chroot --userspec="$2:$2" "$1" env -i HOME="$3" "${@:5}" bash -c "cd /home/user/shardweave && $4; exit \$?"' \
    bash "$at" "$1" "$home" "$2" "${settings[@]}" </dev/null
}

# expect STATUS WORDS USER COMMAND: it ends with that status, and says these words (a regular expression)
expect() {
  local status=0 begin=$SECONDS
  inside "$3" "$4" >"$directory/out" 2>&1 || status=$?
  if [ $status != "$1" ] || ! tr -d '\r' <"$directory/out" | grep -E -- "$2" >/dev/null; then
    cat "$directory/out" >&2
    say "bare.sh: $suite, $3: $4: ended with status $status, expected $1 and '$2'"
    exit 1
  fi
  say "$suite, $3: $4: as expected, in $((SECONDS - begin)) s"
}
on_terminal() { printf "script -qec '%s' /dev/null" "$1"; }

# commands N: the N-th block of commands on the page of examples/pytorch, in one line; `sudo` is another's
commands() {
  awk -v n="$1" '/^```sh/ { here = ++k == n; next } /^```/ { here = 0 }
    here && !/^sudo / { sub(/ +#.*/, ""); printf "%s%s", and, $0; and = " && " }' "$root/examples/pytorch/README.md"
}
# pytorch: they work as they stand there
pytorch() {
  local packages entered='. ~/plans/bin/activate'
  packages=$(sed -n 's/^sudo apt-get install \([^#]*\).*/\1/p' "$root/examples/pytorch/README.md")
  expect 0 . root "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends $packages"
  expect 0 '^Successfully installed .*shardweave-torch-' user "$(commands 1)"
  expect 0 '^rank 0: losses and gradients of 20 steps are equal' user "$entered && $(commands 2)"
  expect 0 ' passed' user "$entered && $(commands 3)"
  tail -n 1 "$directory/out" >&2
}

mkdir -p "$directory"
for suite in "$@"; do
  base "$suite"
  machine "$suite"
  if [ "$what" = pytorch ]; then
    pytorch
    continue
  fi
  # who may not install is told what to install, once, by names that are known there
  for command in examples/run.sh tests/run.sh; do
    expect 2 '^Please install what these packages of Debian hold, then call again: g\+\+ cmake ninja-build ' user $command
    expect 2 '^Please install .*libboost1\.8[0-9]-dev' user "$(on_terminal $command)"
  done
  expect 2 '^Of use, but not needed: clang-1[6-9] libclang-rt-1[6-9]-dev ' user tests/run.sh
  expect 2 '^run.sh: there is no program no_such' user 'examples/run.sh no_such'
  expect 2 '^CXX is no_such, which is not there' user 'CXX=no_such examples/run.sh'
  if [ "$what" = lists ]; then continue; fi

  expect 0 '^Planned in' root examples/run.sh
  if ! grep -Eq '^[0-9]+ of [0-9]+ steps done' "$directory/out"; then
    say "bare.sh: $suite: examples/run.sh built, and did not tell of it"
    exit 1
  fi
  chroot "$at" chown -R user:user /home/user/shardweave  # all is installed: a user may go on
  expect 0 '^Planned in' user "$(on_terminal examples/run.sh)"
  for source in "$root"/examples/*.cpp; do
    expect 0 'OPTIONS|Options' root "examples/run.sh $(basename "$source" .cpp) --help"
  done
  for source in "$root"/examples/gallery/*.cpp; do
    expect 0 . root "examples/run.sh $(basename "$source" .cpp)"
  done
  expect 0 '^100% tests passed' root "$(on_terminal tests/run.sh)"
  if grep 'Going on without' "$directory/out" >&2; then say "$suite: these are not packaged there"; fi
done
