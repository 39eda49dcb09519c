#!/bin/bash
# Build into build/ and run the tests. Suites whose tool or data are absent skip and are named in
# the last line. usage: tests/run.sh [BUILD_FOLDER [MESON_OPTION...]]
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
shift $(($# < 1 ? $# : 1))
# An older configuration may not have found what is installed now.
again=()
[ -e "$build/build.ninja" ] && again=(--reconfigure)
meson setup "${again[@]}" "$build" "$@"
meson compile -C "$build"
rm -f "$build/meson-logs/testlog.json"
status=0
# Limits are for what hangs: a slow machine with others on it may take four times as long.
meson test -C "$build" --print-errorlogs --timeout-multiplier 4 || status=$?
python3 tests/summary.py "=$build/meson-logs/testlog.json" || status=1
exit "$status"
