#!/bin/bash
# Lines that the tests run, by part of the library: containers, snapshots, vocabularies, templates, grammars
# (docs/contributing/testing.md has the table).
# usage: tests/coverage.sh [FOLDER [TEST...]]    (clang, llvm; FOLDER: for the build, build-coverage)
# Without tests: the suites unit, golden, fuzz, and the programs beside them. The lines that nothing runs stand in
# FOLDER/missed.txt afterwards.
# SPDX-License-Identifier: MIT
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build-coverage}
[ $# = 0 ] || shift
export LLVM_PROFILE_FILE=/dev/null # of the compiler's own checks
flags="['-fprofile-instr-generate', '-fcoverage-mapping']"
if [ ! -e "$build/build.ninja" ]; then
    CC=${CC:-clang} CXX=${CXX:-clang++} meson setup "$build" "$root" -Dbuildtype=debugoptimized -Dsimd=false -Db_lundef=false \
        -Dcli=disabled -Dvulkan=disabled -Dbenchmarks=disabled -Dbindings=disabled -Dhardening=false -Db_ndebug=true \
        "-Dc_args=$flags" "-Dcpp_args=$flags" "-Dc_link_args=['-fprofile-instr-generate']" \
        "-Dcpp_link_args=['-fprofile-instr-generate']" || exit 2
fi
cd "$build" || exit 2
tests=("$@")
[ $# != 0 ] || tests=(--suite unit --suite golden --suite fuzz --suite grammar)
mkdir -p profiles
LLVM_PROFILE_FILE=$PWD/profiles/%4m.profraw
meson test -C . --timeout-multiplier 4 "${tests[@]}" >coverage.log 2>&1
tail -8 coverage.log
llvm-profdata merge profiles/*.profraw -o all.profdata || exit 2

llvm-cov export src/libggufx.so -instr-profile all.profdata -format=lcov >all.lcov 2>/dev/null
# Lines without code in the library: of functions that are called by the compiler alone, for tables.
llvm-profdata show --all-functions all.profdata | sed -n 's/^  \([^ ].*\):$/\1/p' | sort -u >made.txt
llvm-cov export src/libggufx.so -instr-profile all.profdata 2>/dev/null | python3 -c '
import json, sys
made, lines = set(open("made.txt").read().split("\n")), ({}, {})
for f in json.load(sys.stdin)["data"][0]["functions"]:
    of = lines[f["name"] in made].setdefault(f["filenames"][0], set())
    for first, _, last, _, _, file, *_ in f["regions"]:
        if file == 0:
            of.update(range(first, last + 1))
for file, of in lines[0].items():
    for line in sorted(of - lines[1].get(file, set())):
        print("%s:%d" % (file, line))' >away.txt || exit 2

# row PART FOLDER...: lines, those that ran, their share.
row() {
    local part=$1
    shift
    awk -F'[:,]' -v part="$part" -v wanted=" $* " '
        FILENAME == "away.txt" { away[$0]; next }
        /^SF:/ {
            path = file = substr($0, 4)
            sub(/^.*\/src\//, "", file)
            take = 0
            for (name = file; name != ""; sub(/\/?[^\/]*$/, "", name)) if (index(wanted, " " name " ")) take = 1
        }
        /^DA:/ && take && !((path ":" $2) in away) { n++; if ($3 > 0) hit++; else print "src/" file ":" $2 >> "missed.txt" }
        END { printf "| %s | %d | %d | %.1f %% |\n", part, n, hit, n ? 100 * hit / n : 0 }' away.txt all.lcov
}

rm -f missed.txt
echo "| part | lines | run | share |"
echo "|---|---|---|---|"
row "containers (\`src/gguf\`, files of \`src/base\`)" gguf base/file_source.cpp base/file_set.cpp base/file_handle_posix.cpp \
    base/patch.cpp base/patch_journal.cpp base/part_file.cpp base/output.cpp base/resumable_file.cpp base/io.cpp base/text_index.hpp
row "snapshots (of \`src/kv\`, \`src/state\`, sessions)" kv/snapshot.cpp kv/restore.cpp state/snapshot.cpp \
    run/session_snapshot.cpp base/snapshot_file.cpp base/crc64.cpp abi/kv_snapshot.cpp
row "vocabularies (\`src/tokenizer\`)" tokenizer
row "templates (\`src/chat\`)" chat
row "grammars (\`src/grammar\`)" grammar
