#!/bin/bash
# Cross build for aarch64, s390x or i386 with Debian's cross compiler, and the unit, golden and
# checkasm suites under qemu-user. usage: tests/cross/run.sh ARCH [BUILD_FOLDER [MESON_OPTION...]]
# Needs g++-aarch64-linux-gnu | g++-s390x-linux-gnu | g++-i686-linux-gnu, qemu-user, and apt for
# cmocka of that architecture, which is unpacked into the build folder: nothing is installed.
# GGUFX_CROSS_SUITES names the suites to build and run: "machine" has those of "unit" that another
# processor may change.
# SPDX-License-Identifier: MIT
set -eu
arch=${1:?usage: run.sh aarch64|s390x|i386 [BUILD_FOLDER [MESON_OPTION...]]}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${2:-$root/build-$arch}
shift $(($# < 2 ? $# : 2))
case $arch in
    aarch64) debian=arm64 triplet=aarch64-linux-gnu cross=$triplet ;;
    s390x) debian=s390x triplet=s390x-linux-gnu cross=$triplet ;;
    i386) debian=i386 triplet=i386-linux-gnu cross=i686-linux-gnu ;;
    *) echo "run.sh: unknown architecture $arch" >&2; exit 2 ;;
esac
mkdir -p "$build-sysroot"
sysroot=$(cd "$build-sysroot" && pwd)

# cmocka of the foreign architecture, through a private apt state: the host's is left alone.
fetch_cmocka() {
    local apt=$sysroot/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    local options=(-q -o "APT::Architecture=$debian" -o "APT::Architectures::=$debian"
        -o "Dir::State=$apt" -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status"
        -o "Dir::Cache=$apt/cache" -o Debug::NoLocking=1 -o Acquire::Languages=none
        -o Acquire::Retries=5 -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update || echo "run.sh: some package lists are missing" >&2
    (cd "$apt" && apt-get "${options[@]}" download libcmocka-dev libcmocka0)
    for package in "$apt"/*.deb; do dpkg-deb -x "$package" "$sysroot"; done
}
[ -e "$sysroot/usr/include/cmocka.h" ] || fetch_cmocka

library_path=$sysroot/usr/lib/$triplet
cat >"$sysroot/sysroot.ini" <<INI
[properties]
sys_root = '$sysroot'
pkg_config_libdir = '$library_path/pkgconfig'
INI

configure=(--cross-file "$root/tests/cross/$arch.ini" --cross-file "$sysroot/sysroot.ini"
    -Dtests=enabled -Dcli=disabled -Dbenchmarks=disabled -Dbindings=disabled -Dcpuinfo=disabled
    -Dmimalloc=disabled "$@")
if [ -e "$build/build.ninja" ]; then
    meson setup --reconfigure "$build" "$root" "${configure[@]}"
else
    meson setup "$build" "$root" "${configure[@]}"
fi
# The program finds libcmocka.so.0 and the cross compiler's C library, not one the machine has in
# /lib32: a C library beside another version's loader hangs in pthread_create.
export QEMU_SET_ENV=LD_LIBRARY_PATH=$library_path:/usr/$cross/lib
suites=()
for suite in ${GGUFX_CROSS_SUITES:-unit golden checkasm}; do suites+=(--suite "$suite"); done
exec meson test -C "$build" "${suites[@]}" --timeout-multiplier 10 --print-errorlogs
