#!/bin/bash
# Searches with libFuzzer and sanitizers: from what the tree keeps and from a target's own seeds.
# usage: tests/fuzz/search.sh [--keep] [--build FOLDER] TARGET|all SECONDS
#        tests/fuzz/search.sh --sum
# --keep writes what was found back into corpus/TARGET.a, smallest inputs first as far as they reach
# something new, and a line into searched.txt. --sum adds these lines up. Exit 1: a search found a
# fault, whose input it names. With CC=afl-clang-fast CXX=afl-clang-fast++ in the environment the
# folder is built for AFL++, whose search afl-fuzz begins: README.md.
# SPDX-License-Identifier: MIT
set -u
fuzz=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$fuzz/../.." && pwd)
build=$root/build-fuzz keep=

case ${1-} in
--sum)
    # Of the first run the executions, of the last one the edges, of all the time.
    awk '!/^#/ { n[$1] += $2; edges[$1] = $3; cpu[$1] += $4; kept[$1] = $5; all += $4 }
        END { for (t in n) printf "| `%s` | %.0f | %d | %.0f | %d |\n", t, n[t], edges[t], cpu[t], kept[t] | "sort"
              close("sort"); printf "%.0f s of processor time in all, %.2f h\n", all, all / 3600 }' "$fuzz/searched.txt"
    exit ;;
esac
while :; do
    case ${1-} in
    --keep) keep=1; shift ;;
    --build) build=$(realpath -m "$2"); shift 2 ;;
    *) break ;;
    esac
done
[ $# = 2 ] || { sed -n '3,4s/^# //p' "$0"; exit 2; }
targets=$1 seconds=$2

if [ ! -e "$build/build.ninja" ]; then
    CC=${CC:-clang} CXX=${CXX:-clang++} meson setup "$build" "$root" -Dfuzz=true --buildtype debugoptimized \
        -Db_sanitize=address,undefined -Db_lundef=false -Ddefault_library=static -Dbindings=disabled \
        -Dvulkan=disabled -Dbenchmarks=disabled || exit 2
fi
if [ "$targets" = all ]; then
    targets=$(ninja -C "$build" -t targets all | sed -n 's|^tests/fuzz/search-\([^:/.]*\):.*|\1|p' | sort)
fi
# Files of targets that need some: in memory, where there is room.
[ -d /dev/shm ] && export TMPDIR=/dev/shm
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

# kept TARGET: length of what the archive takes.
kept() {
    case $1 in
    vocab | model) echo 6000 ;;
    *) echo 1500 ;;
    esac
}

# limits TARGET: length of an input; the larger ones are files of models.
limits() {
    case $1 in
    model) echo 262144 ;;
    vocab | imatrix | open) echo 16384 ;;
    *) echo 4096 ;;
    esac
}

# few TARGET: fewer inputs than the replay makes, as its arguments.
few() {
    case $1 in
    snapshot | session | vocab | states) echo 400 ;;
    model) echo 100 0 ;;
    convert | serve) echo 100 ;;
    open | imatrix | measure | adapter) ;;
    *) echo -400 ;;
    esac
}

# seeds TARGET: what the archive has, and what the program that replays it makes.
seeds() {
    mkdir -p corpus made
    [ ! -e "$fuzz/corpus/$1.a" ] || (cd corpus && ar x "$fuzz/corpus/$1.a")
    made=$(few "$1")
    # shellcheck disable=SC2086
    GGUFX_FUZZ_SEEDS=made GGUFX_TEST_STEP=4 "$build/tests/fuzz/fuzz-$1" $made >replay.log 2>&1 ||
        { echo "$1: the replay failed: $work/replay.log"; return 1; }
}

# minimise TARGET: few and small members that reach all that was reached, in one archive.
minimise() {
    rm -rf least && mkdir least
    "$program" -set_cover_merge=1 -use_counters=0 "-max_len=$(kept "$1")" -close_fd_mask=1 -timeout=60 -rss_limit_mb=4000 least corpus made \
        >merge.log 2>&1 || { echo "$1: no merge: $work/merge.log"; return 1; }
    python3 - least "$fuzz/corpus/$1.a" <<'END'
import pathlib, sys
files = sorted((p.read_bytes() for p in pathlib.Path(sys.argv[1]).iterdir()), key=lambda b: (len(b), b))
out = b"!<arch>\n"
for i, data in enumerate(files):
    out += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (b"%04d/" % i, 0, 0, 0, b"644", len(data)) + data + b"\n" * (len(data) % 2)
pathlib.Path(sys.argv[2]).write_bytes(out)
END
}

# search TARGET
search() {
    local dict=() made status=0 found executions edges cpu
    work=$build/search/$1 program=$build/tests/fuzz/search-$1
    ninja -C "$build" "tests/fuzz/search-$1" "tests/fuzz/fuzz-$1" >/dev/null || { echo "$1: not built"; return 2; }
    mkdir -p "$work" && cd "$work" || return 2
    rm -rf made && seeds "$1" || return 1
    [ ! -e "$fuzz/dictionaries/$1.txt" ] || dict=("-dict=$fuzz/dictionaries/$1.txt")
    [ "$1" != serve ] || dict=("-dict=$build/src/cli/serve/dictionary.txt")
    TIMEFORMAT='%U %S'
    { time "$program" "-max_total_time=$seconds" "-max_len=$(limits "$1")" "${dict[@]}" -timeout=400 -report_slow_units=400 -rss_limit_mb=4000 \
        -close_fd_mask=1 -print_final_stats=1 -artifact_prefix="$work/fault-" corpus made >search.log 2>&1; } 2>time.log
    status=$?
    [ -z "$(find . -name 'fault-*')" ] || status=1
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' search.log)
    edges=$(grep -o 'cov: [0-9]*' search.log | tail -1 | cut -c6-)
    found=$(find corpus -type f | wc -l)
    cpu=$(awk '{ printf "%.0f", $1 + $2 }' time.log)
    echo "$1: ${executions:-0} executions, ${edges:-0} edges, $cpu s of processor time, $found inputs"
    [ $status = 0 ] || { echo "$1: a fault: $work/search.log"; ls fault-* 2>/dev/null; return 1; }
    if [ -n "$keep" ]; then
        minimise "$1" || return 1
        echo "$1 ${executions:-0} ${edges:-0} $cpu $(ar t "$fuzz/corpus/$1.a" | wc -l)" >>"$fuzz/searched.txt"
    fi
}

failed=0
for target in $targets; do (search "$target") || failed=1; done
exit $failed
