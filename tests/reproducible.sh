#!/bin/bash
# The tree built twice, without a cache of objects: in folders of other names and depths, another time zone, locale,
# clock and number of jobs. The libraries, plug-ins, the tool and the bill of materials must have the same bytes.
# (tests/debian.sh does the same with the packages.)
# usage: tests/reproducible.sh WORK_FOLDER [MESON_OPTION...]
# SPDX-License-Identifier: MIT
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:?usage: reproducible.sh WORK_FOLDER [MESON_OPTION...]}"
work=$(cd "$1" && pwd)
shift
export CCACHE_DISABLE=1 SOURCE_DATE_EPOCH=1700000000
one=$work/one two="$work/another one/further/down"

# build SOURCE_FOLDER BUILD_FOLDER MESON_OPTION...: of what git knows, as it is in the tree
build() {
    local tree=$1 build=$2
    shift 2
    rm -rf "$tree" && mkdir -p "$tree" &&
        (cd "$root" && git ls-files -z | tar --null -T - -c) | tar -x -C "$tree" &&
        meson setup "$tree/$build" "$tree" -Dtests=disabled "$@" >"$tree/setup.log" && ninja -C "$tree/$build" >"$tree/build.log"
}

LC_ALL=C.UTF-8 TZ=UTC build "$one" build "$@" || exit 1
LC_ALL=C TZ=Pacific/Kiritimati build "$two" b "$@" || exit 1

count=0 status=0
while read -r file; do
    if cmp "$one/build/$file" "$two/b/$file"; then count=$((count + 1)); else status=1; fi
done < <(cd "$one/build" && find . -maxdepth 4 -not -path '*.p/*' \( -name 'lib*.so*' -o -name 'libggufx.a' -o -path ./ggufx -o -name '*.spdx.json' \) -type f)
echo "$count files have the same bytes"
[ $count -ge 3 ] && exit $status
echo "too few"
exit 1
