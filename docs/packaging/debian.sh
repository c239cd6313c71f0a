#!/usr/bin/env bash
# docs/packaging/debian.sh [FOLDER]  makes the Debian source package, libshardweave-dev and libshardweave-compiled-dev in FOLDER
#                                   (default: build/debian)
#
# Needs dpkg-dev and debhelper, and what `debian/control` names; says what is missing. Takes the version of the headers.
# With DEB_BUILD_PROFILES=pkg.shardweave.nocompiled in the environment the compiled package is left out, which takes seconds.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${1:-$root/build/debian}
version=$(sed -n 's/^#define SHARDWEAVE_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' "$root/include/shardweave/version.hpp" | paste -sd.)
tree=$out/shardweave-$version
rm -rf "$tree"
mkdir -p "$tree/docs"
cp -r "$root/CMakeLists.txt" "$root/LICENSE" "$root/README.md" "$root/include" "$tree/"
cp -r "$root/docs/packaging" "$tree/docs/"
mv "$tree/docs/packaging/debian" "$tree/debian"
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
cat >"$tree/debian/changelog" <<END
shardweave ($version) unstable; urgency=medium

  * See docs/changelog.md of the sources.

 -- shardweave contributors <shardweave@localhost>  $(date -R -u -d "@$epoch")
END
cd "$tree"
dpkg-buildpackage --unsigned-source --unsigned-changes --build=full >"$out/build.log" 2>&1 || {
  tail -n 30 "$out/build.log" >&2
  exit 1
}
ls "$out"/*.deb "$out"/*.dsc
