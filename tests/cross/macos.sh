#!/bin/bash
# Do the sources of the library compile for macOS? Checked by clang without an SDK's tools: nothing is
# linked or run. Kernels are left out but for their table.
# usage: tests/cross/macos.sh HEADERS LIBCXX_HEADERS
# HEADERS: a folder with ARCH/unistd.h and the rest of the C library's for x86_64 and arm64, or one
# such include folder for both (an SDK's usr/include); LIBCXX_HEADERS: libc++'s include/c++/v1.
# SPDX-License-Identifier: MIT
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
headers=${1:?usage: macos.sh HEADERS LIBCXX_HEADERS} libcxx=${2:?usage: macos.sh HEADERS LIBCXX_HEADERS}
command -v clang++ >/dev/null || { echo "skipped: no clang++"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0
for arch in x86_64 arm64; do
    include=$headers
    [ -d "$headers/$arch" ] && include=$headers/$arch
    flags=(-target "$arch-apple-macos13" -nostdinc++ -nostdlibinc -isystem "$libcxx" -isystem "$include"
        -I"$root/include" -I"$root/src" -DGGUFX_BUILD -std=c++20 -Wall -Wextra -Werror -ffp-contract=off)
    n=0
    for file in "$root"/src/{base,formats,gguf,quant,matmul,job,kv,model,abi}/*.cpp; do
        case $file in *_win32.cpp) continue ;; esac
        n=$((n + 1))
        clang++ "${flags[@]}" -fsyntax-only "$file" || bad=$((bad + 1))
    done
    clang -target "$arch-apple-macos13" -DGGUFX_DEMO_MODEL="\"$root/tests/data/tiny-stories-Q8_0.gguf\"" \
        -c "$root/src/cli/run/model.S" -o "$scratch/model.o" || bad=$((bad + 1))
    echo "macos: $n files for $arch"
done
echo "macos: $bad with errors or warnings"
[ $bad = 0 ]
