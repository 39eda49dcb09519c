#!/bin/bash
# Cross build for 64-bit Windows with mingw-w64, warnings as errors: the DLL's exports, and under wine
# where that is installed the files, threads and kernels of the library and a story whose output and
# files must be those of this machine's own library, bit by bit. Prints what was skipped.
# usage: tests/cross/windows.sh [BUILD_FOLDER [NATIVE_BUILD_FOLDER]]
# Needs g++-mingw-w64-x86-64 and, to run anything, wine64, and to compare a native build.
# SPDX-License-Identifier: MIT
set -eu -o pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build-windows} native=${2:-$root/build}
setup=(--cross-file "$root/tests/cross/mingw.ini" -Dwerror=true -Dtests=auto -Dcli=disabled
    -Dbindings=disabled -Dcpuinfo=disabled -Dmimalloc=disabled)
[ -e "$build/build.ninja" ] || env -u CC -u CXX meson setup "$build" "$root" "${setup[@]}"
programs=(tests/checkasm/{base_files,base_test,checkasm,checkasm_kv_pages}.exe)
ninja -C "$build" src/libggufx-0.dll "${programs[@]}"
python3 "$root/tests/cross/windows.py" x86_64-w64-mingw32-objdump "$build/src/libggufx-0.dll" \
    "$root/tests/abi/symbols.txt"

wine=$(command -v wine64 || ls /usr/lib/wine/wine64 2>/dev/null || true)
[ -n "$wine" ] || { echo "windows: no wine64, nothing was run"; exit 0; }
scratch=$(mktemp -d)
trap 'WINEPREFIX=$scratch/prefix "${wine%/*}/wineserver" -k 2>/dev/null || true; rm -rf "$scratch"' EXIT
export WINEPREFIX=$scratch/prefix WINEDEBUG=-all
for program in "${programs[@]}"; do
    echo "== $program"
    timeout 600 "$wine" "$build/$program" | tail -3
done

# The same program here and there.
[ -e "$native/src/libggufx.so" ] || { echo "windows: no $native/src/libggufx.so to compare with"; exit 0; }
c_args=(-std=c11 -Wall -Wextra -Wpedantic -Werror -I"$root/include" "$root/tests/cross/smoke.c")
cp "$build/src/libggufx-0.dll" "$scratch"
x86_64-w64-mingw32-gcc-posix -D__USE_MINGW_ANSI_STDIO=1 "${c_args[@]}" -o "$scratch/smoke.exe" \
    "$build/src/libggufx.dll.a" -static
cc "${c_args[@]}" -o "$scratch/smoke" -L"$native/src" -lggufx -Wl,-rpath,"$native/src"
model=$root/tests/data/tiny-stories-Q8_0.gguf
mkdir "$scratch/here" "$scratch/there"
"$scratch/smoke" "$model" "$scratch/here" >"$scratch/here.txt"
"$wine" "$scratch/smoke.exe" "$model" "$scratch/there" | tr -d '\r' >"$scratch/there.txt"
diff "$scratch/here.txt" "$scratch/there.txt"
diff -r "$scratch/here" "$scratch/there"
echo "windows: $(wc -l <"$scratch/here.txt") lines and two files, the same here and there"
