# Sourced by examples/run.sh and tests/run.sh: finds out what is missing on this machine and installs it, by the names
# of Debian and Ubuntu packages. Nothing that is installed is ever removed. All messages go to standard error.
#
#   need PACKAGE COMMAND...  PACKAGE is missing if COMMAND fails
#   want PACKAGE COMMAND...  the same, but life goes on without it
#   need_boost DIRECTORY     Boost 1.81 or later; beside another Boost it is unpacked into DIRECTORY
#   install_missing          sets cmake_options (an array) to what the build must be told

missing=()
wanted=()
cmake_options=()
boost_directory=

say() { printf '%s\n' "$*" >&2; }
need() { local package=$1; shift; "$@" >/dev/null 2>&1 || missing+=("$package"); }
want() { local package=$1; shift; "$@" >/dev/null 2>&1 || wanted+=("$package"); }

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

is_available() { apt-cache policy "$1" 2>/dev/null | grep 'Candidate: [0-9]' >/dev/null; }

# as_root COMMAND...
as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}
apt_install() { as_root apt-get install -y -qq --no-remove --no-install-recommends "$@" >&2 </dev/null; }

install_missing() {
  local boost=() package
  [ -z "$boost_directory" ] || boost=(libboost1.81-dev)
  if [ $((${#missing[@]} + ${#boost[@]} + ${#wanted[@]})) = 0 ]; then return 0; fi

  if ! command -v apt-get >/dev/null || { [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; }; then
    if [ $((${#missing[@]} + ${#boost[@]})) = 0 ]; then return 0; fi
    say "Please install what these packages of Debian hold, then call again:" "${missing[@]}" "${boost[@]}"
    exit 2
  fi
  say "Installing what is missing:" "${missing[@]}" "${boost[@]}" "${wanted[@]}"
  as_root apt-get update -qq >&2 </dev/null || say "apt-get update failed; going on with the lists that are there"
  if [ ${#missing[@]} != 0 ] && ! apt_install "${missing[@]}"; then
    say "These packages could not be installed:" "${missing[@]}"
    exit 2
  fi
  if [ ${#wanted[@]} != 0 ]; then
    apt_install "${wanted[@]}" || say "Going on without" "${wanted[@]}"
  fi

  if [ ${#boost[@]} != 0 ] && ! has_boost >/dev/null 2>&1; then
    for package in libboost1.81-dev libboost1.83-dev libboost1.88-dev ""; do
      if [ -n "$package" ] && is_available "$package"; then break; fi
    done
    if [ -z "$package" ]; then
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
  fi
}

# need_compiler: a g++ that knows C++20; sets and exports CXX where the default one does not
need_compiler() {
  local version candidate
  if [ -n "${CXX:-}" ]; then return 0; fi
  version=$(g++ -dumpversion 2>/dev/null | cut -d. -f1)
  if [ "${version:-0}" -ge 12 ]; then
    export CXX=g++
    return 0
  fi
  for candidate in g++-14 g++-13 g++-12; do
    if command -v "$candidate" >/dev/null; then
      export CXX=$candidate
      return 0
    fi
  done
  if [ -z "$version" ]; then
    missing+=(g++)
    export CXX=g++
  else
    missing+=(g++-12)
    export CXX=g++-12
  fi
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

# configure SOURCE BUILD OPTIONS...: once, or again when the options differ; ninja sees to the rest
configure() {
  local source=$1 build=$2
  shift 2
  local options=(-G Ninja "$@" "${cmake_options[@]}") asked
  if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  asked="${CXX:-} ${options[*]} $(cat "$source"/tests/cmake/*.cmake | cksum)"
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
