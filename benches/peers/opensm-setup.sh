#!/usr/bin/env bash
# opensm-setup.sh DIRECTORY: builds OpenSM 3.3.23 with clocks around its routing engines, from Debian's source package, and
# leaves it as DIRECTORY/opensm. The clocks are in opensm-clocks.h beside this script; OpenSM's own lines stay as they are but
# for the calls of the clocks. Debian, with apt-get; without root its packages have to be there already.
set -euo pipefail
version=3.3.23
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
directory=$(cd "$1" && pwd)
needed=(gcc make bison flex patch pkg-config libibumad-dev autoconf automake libtool)

missing=()
for package in "${needed[@]}"; do
  dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

cd "$directory"
tarball=opensm_$version.orig.tar.gz
if [ ! -f "$tarball" ]; then
  # The sources of the packages that the machine has, whatever its own lists say.
  mkdir -p lists/partial parts
  for list in /etc/apt/sources.list.d/*.sources; do
    [ -f "$list" ] && sed 's/^Types:.*/Types: deb-src/' "$list" >"parts/$(basename "$list")"
  done
  [ -f /etc/apt/sources.list ] && sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >parts/own.list
  options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$PWD/parts" -o "Dir::State::Lists=$PWD/lists")
  apt-get "${options[@]}" update -qq || true
  apt-get "${options[@]}" source --download-only opensm || true
  [ -f "$tarball" ] || { echo "no source of opensm $version: put $tarball into $directory and run this again" >&2; exit 1; }
fi

rm -rf "opensm-$version"
tar xf "$tarball"
cd "opensm-$version"
cp "$here/opensm-clocks.h" opensm/
# The wrapper stands before the function that calls it, and takes the place of the function that it wraps there.
sed -i -e '/^int osm_ucast_mgr_process(/i #define CLOCKS_ROUTE\n#include "opensm-clocks.h"\n' \
  -e '/^int osm_ucast_mgr_process(/,/^}/s/\bucast_mgr_route(/clocks_route(/' opensm/osm_ucast_mgr.c
sed -i -e '/^static void state_mgr_up_msg(/i #define CLOCKS_UP\n#include "opensm-clocks.h"\n' \
  -e '/^static void state_mgr_up_msg(/,/^}/s/^{$/{\n\tclocks_up(sm);/' opensm/osm_state_mgr.c
grep -q 'clocks_route(' opensm/osm_ucast_mgr.c && grep -q 'clocks_up(sm)' opensm/osm_state_mgr.c ||
  { echo "this source has other functions than opensm $version" >&2; exit 1; }
autoreconf -fi -I config >/dev/null 2>&1
./configure CFLAGS=-O2 --disable-shared --enable-static --quiet
make -s -j"$(nproc)" >/dev/null 2>&1
cp opensm/opensm "$directory/opensm"
"$directory/opensm" --version >/dev/null
echo "$directory/opensm"
