#!/bin/bash
# All there is, the long form: what .ci/run does after its installation, then longer inputs.
# usage: tests/full.sh [FOLDER_FOR_BUILDS]     (as root; needs the packages .ci/run installs, and
# dpkg-dev debhelper lintian debootstrap g++-s390x-linux-gnu g++-i686-linux-gnu
# g++-mingw-w64-x86-64 wine64)
# SPDX-License-Identifier: MIT
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
builds=${1:-build-full}
export GGUFX_TEST_OPERATIONS=300000 # of random operations on caches, unit test kv_random
logs=()

# suite LABEL 'TEST OPTIONS' MESON_OPTION...
suite() {
    local label=$1 options=$2 build=$builds/$1
    shift 2
    printf '\n== %s\n' "$label"
    if [ -e "$build/build.ninja" ]; then
        meson setup --reconfigure "$build" "$@"
    else
        meson setup "$build" "$@"
    fi && meson compile -C "$build" || echo "$label: not built"
    rm -f "$build/meson-logs/testlog.json"
    # shellcheck disable=SC2086
    meson test -C "$build" --print-errorlogs $options || echo "$label: exit $?"
    logs+=("$label=$build/meson-logs/testlog.json")
}

sanitizers=(--buildtype debugoptimized)
suite plain ""
suite repeated "--repeat 5 --suite unit --suite checkasm --suite abi"
suite asan "--timeout-multiplier 4" "${sanitizers[@]}" -Db_sanitize=address,undefined
suite tsan "--timeout-multiplier 20" "${sanitizers[@]}" -Db_sanitize=thread
suite fallbacks "" -Dmimalloc=disabled -Dcpuinfo=disabled -Dwerror=true
suite lto "" -Db_lto=true
suite runtime_inside "" -Dstatic_cxx_runtime=true
suite app_local "--suite unit --suite checkasm --suite abi" -Dapp_local=true -Dcli=disabled -Dbindings=disabled
suite debug "" --buildtype debug
for compiler in gcc clang; do
    cxx=${compiler/gcc/g++}
    CC=$compiler CXX=${cxx/clang/clang++} suite "werror-$compiler" "" -Dwerror=true
done
for arch in aarch64 s390x i386; do
    printf '\n== %s\n' "$arch"
    rm -f "$builds/$arch/meson-logs/testlog.json"
    tests/cross/run.sh "$arch" "$builds/$arch" || echo "$arch: exit $?"
    logs+=("$arch=$builds/$arch/meson-logs/testlog.json")
done
printf '\n== debian\n'
tests/debian.sh "$builds/debian" || echo "debian: exit $?"
logs+=("=$builds/debian/testlog.json")
printf '\n== windows\n'
windows=0
tests/cross/windows.sh "$builds/windows" "$builds/plain" || windows=$?
python3 tests/summary.py --strict "${logs[@]}"
status=$?
[ "$windows" = 0 ] || echo "windows: exit $windows"
exit $((status || windows))
