#!/bin/bash
# The Debian packages: built twice (in other folders, time zones, locales) to the same
# bytes, in its profiles, no complaint of lintian, installed in a fresh chroot, used there by the
# packages' own tests, removed without a trace; and a tarball made and built without a network.
# usage: tests/debian.sh WORK_FOLDER     (as root)
# WORK_FOLDER/testlog.json gets a line per check, as Meson's logs have; 77: a tool is absent.
# SPDX-License-Identifier: MIT
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:?usage: debian.sh WORK_FOLDER}"
work=$(cd "$1" && pwd)
log=$work/testlog.json
: >"$log"
for program in dpkg-buildpackage dh lintian debootstrap; do
    command -v $program >/dev/null || { echo "skipped: no $program"; exit 77; }
done

# check NAME COMMAND...: run it and note how it went.
check() {
    local name=$1 result=FAIL
    shift
    printf '\n== %s\n' "$name"
    "$@" && result=OK
    printf '{"name": "debian %s", "result": "%s"}\n' "$name" $result >>"$log"
    [ $result = OK ]
}

# The sources as a package has them: what git knows, with pkgconfig/debian in its place.
export_tree() {
    rm -rf "$1" && mkdir -p "$1" &&
        (cd "$root" && git ls-files -z | tar --null -T - -c) | tar -x -C "$1" &&
        mv "$1/pkgconfig/debian" "$1/debian"
}

# build NAME ENVIRONMENT...: packages in WORK_FOLDER/NAME
build() {
    local name=$1 tree=$work/$1/ggufx
    shift
    export_tree "$tree" && cd "$tree" &&
        env "$@" DEB_BUILD_OPTIONS="nocheck ${DEB_BUILD_OPTIONS-}" \
            CCACHE_DIR="${CCACHE_DIR:-$HOME/.ccache}" dpkg-buildpackage -us -uc
}

same_bytes() {
    local file count=0
    for file in "$work"/one/*.deb "$work"/one/*.dsc "$work"/one/*.tar.xz; do
        cmp "$file" "$work/the-other/${file##*/}" || return 1
        count=$((count + 1))
    done
    [ $count -ge 5 ]
}

no_complaints() {
    lintian --allow-root --fail-on error,warning "$work"/one/*.changes
}

inside() { chroot "$work/chroot" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

# Paths and packages of the chroot; caches and logs of the package system change with every call.
listing() {
    (cd "$work/chroot" && find . -xdev \( -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt \
        -o -path ./var/lib/dpkg -o -path ./proc -o -path ./tmp \) -prune -o -print | sort)
    inside dpkg-query -W -f '${Package} ${Status}\n' | sort
}

fresh_chroot() {
    rm -rf "$work/chroot"
    debootstrap --variant=minbase bookworm "$work/chroot" ${GGUFX_DEBIAN_MIRROR:+"$GGUFX_DEBIAN_MIRROR"} >"$work/debootstrap.log" &&
        inside apt-get -q -y install --no-install-recommends g++ gcc pkg-config libedit2 libfmt9 libmicrohttpd12 libnettle8 libre2-9 libvulkan1 man-db curl >"$work/apt.log" &&
        listing >"$work/before"
}

install_and_use() {
    cp "$work"/one/{libggufx0,libggufx-cuda0,libggufx-vulkan0,libggufx-dev,ggufx,ggufx-server}_*.deb "$work/chroot/tmp/" &&
        inside sh -c 'apt-get -q -y install --no-install-recommends /tmp/*.deb' || return
    local test
    for test in $(sed -n 's/^Tests: //p' "$root/pkgconfig/debian/tests/control"); do
        cp "$root/pkgconfig/debian/tests/$test" "$work/chroot/tmp/" && inside "/tmp/$test" || return
    done
}

# What the profiles leave out is neither built nor needed.
without_tool() { ! ls "$work"/notool/ggufx_*.deb 2>/dev/null && ls "$work"/notool/libggufx0_*.deb; }
without_extras() {
    local needs
    ! ls "$work"/minimal/libggufx-{vulkan,cuda}0_*.deb 2>/dev/null &&
        needs=$(dpkg-deb -f "$work"/minimal/ggufx_*.deb Depends) && echo "$needs" &&
        ! echo "$needs" | grep -E 're2|nettle|edit|microhttpd'
}

# A tarball of a release, made and built where there is no network.
dist() {
    rm -rf "$work/dist" && git clone -q "$root" "$work/dist/clone" && cd "$work/dist/clone" &&
        unshare -n sh -c 'meson setup build -Dtests=disabled && meson dist -C build --no-tests &&
            tar -xf build/meson-dist/*.tar.xz -C .. && cd ../ggufx-*/ &&
            meson setup build && meson compile -C build ggufx:executable && build/ggufx demo >/dev/null'
}

leaves_nothing() {
    inside apt-get -q -y purge ggufx-server ggufx libggufx-dev libggufx-cuda0 libggufx-vulkan0 libggufx0 && listing >"$work/after" &&
        diff "$work/before" "$work/after"
}

# A cross build can install what it needs.
cross_dependencies() {
    export_tree "$work/chroot/tmp/source" && inside dpkg --add-architecture arm64 && inside apt-get -q update >"$work/apt.log" &&
        inside apt-get -q build-dep -s -aarm64 -P nocheck,cross --no-install-recommends /tmp/source
}

# Without ccache, which would give the second build the objects of the first.
check build build one LC_ALL=C.UTF-8 TZ=UTC &&
    check build_elsewhere build the-other LC_ALL=C TZ=Pacific/Kiritimati CCACHE_DISABLE=1 &&
    check same_bytes same_bytes
check build_notool build notool DEB_BUILD_PROFILES="nocheck pkg.ggufx.notool" &&
    check without_tool without_tool
check build_minimal build minimal DEB_BUILD_PROFILES="nocheck pkg.ggufx.minimal" &&
    check without_extras without_extras
check dist dist
check no_complaints no_complaints
check fresh_chroot fresh_chroot && check install_and_use install_and_use &&
    check leaves_nothing leaves_nothing
check cross_dependencies cross_dependencies
! grep -q FAIL "$log"
