#!/usr/bin/env bash
# tests/soak.sh MINUTES [SEED]: random problems through the whole pipeline, for so long; tests/faults/soak.cpp says what must hold
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/examples/packages.sh"
if [ $# = 0 ]; then say "usage: tests/soak.sh MINUTES [SEED]" && exit 2; fi
need_build_tools "$root/build/packages"
want coinor-libcbc-dev has_header '#include <coin/CbcModel.hpp>'  # components clp and cbc
install_missing
configure "$root" "$root/build/soak" -DCMAKE_BUILD_TYPE=Release
quietly "$root/build/soak/build.log" cmake --build "$root/build/soak" --target soak --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
exec "$root/build/soak/tests/soak" "$@"
