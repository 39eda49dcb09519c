#!/bin/bash
# Figures of GPUs, each beside the plain read of the same memory in the same run, and whether every bit is the
# processor's: in at most eight minutes, for when a card is at hand. Without one it runs on a processor that
# plays a device (Mesa's lavapipe), with sizes that suit that.
#
# usage: tests/bench/gpu.sh [BUILD [FOLDER [DEVICE...]]]
#   BUILD   a folder that is built; default build
#   FOLDER  where figures.json, table.md and the logs go; default BUILD/gpu
#   DEVICE  of `ggufx devices`; default the first one of each plug-in, processors only where there is nothing else
# Exit code: 0, or 1 where a result was another one, a step failed, or there was no time for it. Figures do not
# decide it: the table says which goals of theirs they reach.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-build}
folder=${2:-$build/gpu}
shift $(($# > 2 ? 2 : $#))
tool=$build/ggufx
seconds=480 # in all
failures=0

if [ ! -x "$tool" ]; then
    echo "there is no $tool" >&2
    exit 1
fi
mkdir -p "$folder" || exit 1
: >"$folder/figures.json"
: >"$folder/steps.md"

# step NAME MOST COMMAND...: within MOST seconds and what is left of all; its output in a log of its own.
step() {
    local name=$1 most=$2 code begin=$SECONDS left=$((seconds - SECONDS))
    local log="$folder/${name//[^a-z0-9_]/-}.log"
    shift 2
    if [ "$left" -lt 5 ]; then
        code=124
        : >"$log"
    else
        timeout -k 5 "$((most < left ? most : left))" "$@" >"$log" 2>"$log.err"
        code=$?
    fi
    case $code in
    0) echo "| $name | done | $((SECONDS - begin)) s |" ;;
    77) echo "| $name | not there: $(tail -n 1 "$log") | |" ;;
    124 | 137) echo "| $name | no time | $((SECONDS - begin)) s |" ;;
    *) echo "| $name | failed, $code: $(tail -n 1 "$log.err" | cut -c1-160) | $((SECONDS - begin)) s |" ;;
    esac | tee -a "$folder/steps.md"
    [ "$code" -eq 0 ] || [ "$code" -eq 77 ] || failures=$((failures + 1))
    return "$code"
}

# What `ggufx devices` says, as words: id, whether it is a processor.
list_devices() {
    "$tool" devices --json | python3 -c '
import json, sys
for d in json.load(sys.stdin)["devices"]:
    if d["usable"]:
        print(d["id"], int(d["processor"]))'
}

declare -A processor=()
first=()
while read -r id plays; do
    processor[$id]=$plays
    first+=("$id")
done < <(list_devices)
if [ $# -gt 0 ]; then
    devices=("$@")
else
    devices=()
    declare -A taken=()
    for plays in 0 1; do
        for id in "${first[@]}"; do
            [ "${processor[$id]}" = "$plays" ] || continue
            [ "$plays" = 0 ] || [ ${#devices[@]} -eq 0 ] || continue
            [ -z "${taken[${id%%:*}]:-}" ] || continue
            taken[${id%%:*}]=1
            devices+=("$id")
        done
    done
fi
if [ ${#devices[@]} -eq 0 ]; then
    "$tool" devices >&2
    echo "there is no device" >&2
    exit 1
fi

echo "| step | | |"
echo "|---|---|---|"
all=q4_K,q5_K,q6_K,q8_0,q4_0,f16,q2_K,q3_K,iq4_xs,iq3_s,iq2_xs,iq1_s,mxfp4
for id in "${devices[@]}"; do
    if [ "${processor[$id]:-0}" = 1 ]; then # 0.2 GB/s: whether it runs, not how fast
        types=q4_K,q8_0,f16
        size=(-m 4096 -k 4096 -r 5)
        part=layers # calls of every kind, once
        step "selftest $id" 120 "$tool" selftest --device "$id" --type q4_K --type q8_0 --type f16
    else
        types=$all
        size=(-m 28672 -k 8192 -r 25) # 130 to 470 MB, in turns over 2 GB
        [ "${id%%:*}" != vulkan ] || types=q4_K,q8_0,f16,iq2_xs # its driver compiles for seconds
        part=
        step "selftest $id" 120 "$tool" selftest --device "$id"
    fi
    if step "gemv $id" 150 "$tool" bench matvec --device "$id" --type "$types" "${size[@]}" --json; then
        cat "$folder/gemv-${id//[^a-z0-9_]/-}.log" >>"$folder/figures.json"
    fi
    sessions=$build/tests/device/test_device_sessions
    plugin=("$build"/src/libggufx-"${id%%:*}".so*)
    if [ -x "$sessions" ] && [ -e "${plugin[0]}" ]; then
        step "sessions $id" 60 "$sessions" "${plugin[0]}"
    fi
    case $id in
    cuda:*)
        if ! sanitizer=$(command -v compute-sanitizer); then
            echo "| compute-sanitizer | not there | |" | tee -a "$folder/steps.md"
            continue
        fi
        for kind in memcheck racecheck synccheck; do
            step "$kind $id" 40 "$sanitizer" --tool "$kind" --error-exitcode 9 \
                "$tool" bench matvec --device "$id" --type "q4_K,q6_K,f16" -m 64 -k 1024 -r 1 --n 1,3,5
        done
        ;;
    vulkan:*)
        test=$build/tests/device/test_vulkan
        if [ -x "$test" ] && [ -e "${plugin[0]}" ]; then
            step "tests $id" 90 "$test" "${plugin[0]}" ${part:+"$part"}
        fi
        ;;
    esac
done

# Goals: of the plain read, by plug-in and type.
python3 - "$folder" <<'PYTHON' || failures=$((failures + 1))
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
figures = [json.loads(line) for line in (folder / "figures.json").read_text().splitlines()]
NEAR = {"Q4_K", "Q5_K", "Q6_K", "Q8_0", "Q4_0", "F16"}


def goal(figure):
    if figure["type"].upper() in NEAR:
        return 0.90 if figure["device"].startswith("cuda") else 0.75
    return 0.75 if figure["type"].upper() in ("Q2_K", "Q3_K") else 0.5


def against(value, wanted, is_most=False):
    return "reached" if (value <= wanted if is_most else value >= wanted) else "below" if not is_most else "above"


lines = ["| device | type | n | GB/s | read, GB/s | of the read | goal | | upload of memcpy | bits |", "|---|---|---|---|---|---|---|---|---|---|"]
for f in figures:
    on_card = not f["processor"]
    lines.append(f"| {f['device']} {f['name']} | {f['type']} | {f['n']} | {f['gbps']:.4g} | {f['read_gbps']:.4g} | {f['ratio']:.3f} | "
                 f"{goal(f) if on_card else '-'} | {against(f['ratio'], goal(f)) if on_card else 'a processor'} | "
                 f"{f['upload_ratio']:.2f} {against(f['upload_ratio'], 0.8)} | {'equal' if f['bits_equal'] else 'NOT EQUAL'} |")
lines.append("")
for device in sorted({f["device"] for f in figures}):
    f = next(f for f in figures if f["device"] == device)
    lines.append(f"{device}: opened in {f['open_ms']:.1f} ms ({against(f['open_ms'], 50, True)}: at most 50), with its driver in "
                 f"{f['first_open_ms']:.0f} ms; fma by {f['fma']}")
steps = (folder / "steps.md").read_text()
(folder / "table.md").write_text("\n".join(lines) + "\n\n| step | | |\n|---|---|---|\n" + steps)
print("\n" + "\n".join(lines))
sys.exit(not figures or not all(f["bits_equal"] for f in figures))
PYTHON
echo "$SECONDS s, $failures failures; $folder/table.md"
exit $((failures > 0))
