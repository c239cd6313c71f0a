# Sourced by the scripts that build: finds out what is missing on this machine and installs it, by the names of Debian
# and Ubuntu packages. Nothing that is installed is ever removed. All messages go to standard error, and no script that
# sources this ends without one.
#
#   need PACKAGE COMMAND...  PACKAGE is missing if COMMAND fails; 'A|B|C' is the first of them that can be had
#   want PACKAGE COMMAND...  the same, but life goes on without it
#   need_boost DIRECTORY     Boost 1.81 or later; beside another Boost it is unpacked into DIRECTORY
#   install_missing          sets cmake_options (an array) to what the build must be told

checks=()
missing=()
wanted=()
cmake_options=()
boost_directory=
compilers='g++-14|g++-13|g++-12'
available=
boosts='libboost1.81-dev|libboost1.83-dev|libboost1.88-dev'

say() { printf '%s\n' "$*" >&2; }
set -o errtrace
trap 'status=$?; say "${BASH_SOURCE[0]##*/}, line $LINENO: ended with status $status: $BASH_COMMAND"' ERR

holds() { checks+=("$(printf '%q ' "$@")"); "$@" >/dev/null 2>&1; }
need() { local package=$1; shift; holds "$@" || missing+=("$package"); }
want() { local package=$1; shift; holds "$@" || wanted+=("$package"); }
# found: a digit for each `need` and `want` so far, 1 where its command succeeds by now
found() {
  local check
  for check in "${checks[@]}"; do
    if eval "$check" >/dev/null 2>&1; then printf 1; else printf 0; fi
  done
}

has_command() { command -v "$1"; }

# has_header 'text of a source file' [options]: does it preprocess?
has_header() {
  local text=$1
  shift
  printf '%b\n' "$text" | "${CXX:-g++}" -x c++ -E "$@" -o /dev/null -
}

has_boost() {
  has_header '#include <boost/version.hpp>\n#if BOOST_VERSION < 108100\n#error old\n#endif\n#include <boost/json.hpp>' "$@"
}

need_boost() {
  boost_directory=$1
  if [ -n "${BOOST_ROOT:-}" ] && has_boost -I "$BOOST_ROOT/include" >/dev/null 2>&1; then
    cmake_options+=("-DBoost_ROOT=$BOOST_ROOT")
    boost_directory=
  elif [ -e "$boost_directory/usr/include/boost/json.hpp" ]; then
    cmake_options+=("-DBoost_ROOT=$boost_directory/usr")
    boost_directory=
  elif has_boost >/dev/null 2>&1; then
    boost_directory=
  fi
}

# look_up: which of the packages asked for so far are known here, in `available`; one call, which takes a second
look_up() {
  local names word value name=
  IFS='| ' read -r -a names <<<"${missing[*]} ${wanted[*]} $compilers $boosts"
  available=' '
  while read -r word value; do
    case $word in
      Candidate:) if [[ $value = [0-9]* ]]; then available+="$name "; fi ;;
      *:) if [ -z "$value" ]; then name=${word%:}; fi ;;
    esac
  done <<<"$(LC_ALL=C apt-cache policy "${names[@]}" 2>/dev/null || true)"
}
is_available() { [[ $available = *" $1 "* ]]; }

# choose 'A|B|C': the first that is available, else A
choose() {
  local package
  for package in ${1//|/ }; do
    if is_available "$package"; then break; fi
    package=
  done
  printf '%s\n' "${package:-${1%%|*}}"
}

# May packages be installed: as root, or by a sudo that asks for nothing, or that has a terminal to ask on?
can_install() {
  if ! command -v apt-get >/dev/null; then return 1; fi
  if [ "$(id -u)" = 0 ]; then return 0; fi
  if ! command -v sudo >/dev/null; then return 1; fi
  sudo -n true 2>/dev/null || (: </dev/tty) 2>/dev/null
}

# as_root COMMAND...
as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}
apt_install() { as_root apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-remove --no-install-recommends "$@" >&2 </dev/null; }

# install_wanted PACKAGE...: each for itself, so that one that cannot be had takes no other with it
install_wanted() {
  local package known=()
  for package in "$@"; do
    if is_available "$package"; then known+=("$package"); else say "Going on without $package"; fi
  done
  if [ ${#known[@]} = 0 ] || apt_install "${known[@]}"; then return 0; fi
  for package in "${known[@]}"; do
    apt_install "$package" || say "Going on without $package"
  done
}

install_boost() {
  local package
  package=$(choose "$boosts")
  if ! is_available "$package"; then
    say "No package with Boost 1.81 or later is known here; set BOOST_ROOT to where one is"
    exit 2
  fi
  # The -dev packages of two versions of Boost exclude each other. What is there stays, ours is unpacked beside it.
  if ! apt_install "$package"; then
    say "Another Boost is in the way of $package: unpacking it into $boost_directory"
    mkdir -p "$boost_directory"
    (cd "$boost_directory" && apt-get download -qq "$package" >&2 && dpkg -x "$package"_*.deb . && rm "$package"_*.deb)
    cmake_options+=("-DBoost_ROOT=$boost_directory/usr")
  fi
}

install_missing() {
  local names=() optional=() package
  if [ -n "$boost_directory" ]; then missing+=("$boosts"); fi
  if [ $((${#missing[@]} + ${#wanted[@]})) = 0 ]; then return 0; fi

  if ! can_install; then
    look_up
    for package in "${missing[@]}"; do names+=("$(choose "$package")"); done
    for package in "${wanted[@]}"; do optional+=("$(choose "$package")"); done
    if [ ${#missing[@]} != 0 ]; then
      say "Please install what these packages of Debian hold, then call again:" "${names[@]}"
      if [ ${#optional[@]} != 0 ]; then say "Of use, but not needed:" "${optional[@]}"; fi
      exit 2
    fi
    say "Going on without" "${optional[@]}"
    return 0
  fi

  as_root apt-get update -qq >&2 </dev/null || say "apt-get update failed; going on with the lists that are there"
  look_up
  for package in "${missing[@]}"; do
    if [ "$package" != "$boosts" ]; then names+=("$(choose "$package")"); fi
  done
  for package in "${wanted[@]}"; do optional+=("$(choose "$package")"); done
  say "Installing what is missing:" "${names[@]}" ${boost_directory:+"$(choose "$boosts")"} "${optional[@]}"
  if [ ${#names[@]} != 0 ] && ! apt_install "${names[@]}"; then
    say "These packages could not be installed:" "${names[@]}"
    exit 2
  fi
  if ! find_compiler; then  # the default one was not there, and is too old
    apt_install "$(choose "$compilers")" && find_compiler || { say "There is no g++ 12 or later here"; exit 2; }
  fi
  if [ -n "$boost_directory" ] && ! has_boost >/dev/null 2>&1; then install_boost; fi
  install_wanted "${optional[@]}"
}

# find_compiler: exports CXX, a g++ that knows C++20, unless it is set
find_compiler() {
  local candidate version
  if [ -n "${CXX:-}" ]; then return 0; fi
  for candidate in g++ g++-15 ${compilers//|/ }; do
    version=$("$candidate" -dumpversion 2>/dev/null | cut -d. -f1) || continue
    if [ "$version" -ge 12 ]; then
      export CXX=$candidate
      return 0
    fi
  done
  return 1
}
need_compiler() {
  if [ -n "${CXX:-}" ] && ! command -v "${CXX%% *}" >/dev/null; then
    say "CXX is $CXX, which is not there"
    exit 2
  fi
  if find_compiler; then return 0; fi
  if command -v g++ >/dev/null; then missing+=("$compilers"); else missing+=(g++); fi
}

# find_clang: the oldest clang++ from 16 on whose sanitizers link, in `clang`
find_clang() {
  local text='#if __clang_major__ < 16\n#error old\n#endif\n#include <new>\nint main() {}'
  for clang in clang++-16 clang++-17 clang++-18 clang++-19 clang++-20 clang++-21 clang++; do
    if command -v "$clang" >/dev/null &&
      printf '%b\n' "$text" | "$clang" -std=c++20 -fsanitize=address,undefined -x c++ -o /dev/null - >/dev/null 2>&1; then
      return 0
    fi
  done
  clang=
  return 1
}
want_clang() {
  if find_clang; then return 0; fi
  wanted+=('clang-16|clang-17|clang-18|clang-19|clang-20|clang-21')
  # the sanitizers' run-time library is a package of its own
  wanted+=('libclang-rt-16-dev|libclang-rt-17-dev|libclang-rt-18-dev|libclang-rt-19-dev|libclang-rt-20-dev|libclang-rt-21-dev')
}
# has_lld: does that clang++ link by lld?
has_lld() { find_clang && "$clang" -fuse-ld=lld -Wl,--version; }

# want_mpi: for component mpi
want_mpi() {
  want libopenmpi-dev has_command mpicxx
  want openmpi-bin has_command mpirun
}

# need_build_tools DIRECTORY: what every build here needs; DIRECTORY is where a Boost may be unpacked
need_build_tools() {
  need_compiler
  need cmake has_command cmake
  need ninja-build has_command ninja
  need libeigen3-dev has_header '#include <eigen3/Eigen/src/Core/util/Macros.h>'
  need libglpk-dev has_header '#include <glpk.h>'
  need zlib1g-dev has_header '#include <zlib.h>'
  need libcli11-dev has_header '#include <CLI/Version.hpp>'
  need_boost "$1"
}

# configure SOURCE BUILD OPTIONS...: once, or again when the options or what is installed differ; ninja sees to the rest
configure() {
  local source=$1 build=$2
  shift 2
  local options=(-G Ninja "$@" "${cmake_options[@]}") asked
  if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  asked="${CXX:-} ${options[*]} $(cat "$source"/tests/cmake/*.cmake | cksum) $(found)"
  if [ -e "$build/build.ninja" ] && [ "$(cat "$build/configured" 2>/dev/null)" = "$asked" ]; then return 0; fi
  mkdir -p "$build"
  quietly "$build/configure.log" cmake --fresh -S "$source" -B "$build" "${options[@]}"
  printf '%s\n' "$asked" >"$build/configured"
}

# quietly LOG COMMAND...: shows what the command said only if it fails
quietly() {
  local log=$1 status=0
  shift
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ $status != 0 ]; then
    cat "$log" >&2
    exit $status
  fi
}

# in_steps LOG COMMAND...: likewise, of a command that counts its steps as ninja does, which are told while it works: on a
# terminal in one live line, elsewhere in a line every ten seconds
in_steps() {
  local log=$1 status=0 begin=$SECONDS said=$SECONDS line
  shift
  "$@" 2>&1 </dev/null | while IFS= read -r line; do
    printf '%s\n' "$line"
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      line="${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps done after $((SECONDS - begin)) s"
      if [ -t 2 ]; then
        printf '\r%s\033[K' "$line" >&2
      elif [ $((SECONDS - said)) -ge 10 ]; then
        say "$line"
        said=$SECONDS
      fi
    fi
  done >"$log" || status=$?
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  if [ $status != 0 ]; then
    cat "$log" >&2
    exit $status
  fi
}
