#!/bin/bash
# All there is, the long form: what .ci/run does after its installation, then longer inputs.
# usage: tests/full.sh [FOLDER_FOR_BUILDS]     (as root; needs the packages .ci/run installs, and
# dpkg-dev debhelper lintian debootstrap g++-s390x-linux-gnu g++-i686-linux-gnu
# g++-mingw-w64-x86-64 wine64 clang-tidy cppcheck chromium haproxy nginx-light iproute2, and node 20 with npm)
# SPDX-License-Identifier: MIT
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
builds=${1:-build-full}
export GGUFX_TEST_OPERATIONS=300000 # of random operations on caches, unit test kv_random
export GGUFX_TEST_BATCH_OPERATIONS=600 # on each of 99 sessions of many sequences, model_batches
export GGUFX_TEST_SPECULATION_PROMPTS=20 # of each of 24 models, caches and samplers, speculation
export GGUFX_TEST_RANKS=all # each mode with each type of cache, model_ranks
export GGUFX_TEST_CALLS=all # two and a half times as many that fail, abi failing system calls
export GGUFX_TEST_MIB=1024 # decoded into one array, bindings/python/tests/test_memory.py
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
    run_tests "$label" "$build" "$options"
}

# run_tests LABEL BUILD_FOLDER 'TEST OPTIONS': those of a folder that is built.
run_tests() {
    rm -f "$2/meson-logs/$1.json"
    # shellcheck disable=SC2086
    meson test -C "$2" --logbase "$1" --print-errorlogs $3 || echo "$1: exit $?"
    logs+=("$1=$2/meson-logs/$1.json")
}

sanitizers=(--buildtype debugoptimized)
# Kills of a run that replaces files, and rounds of objects closed under eight threads in three
# languages: at length in the first suite only.
GGUFX_TEST_KILLS=200 GGUFX_CLOSE_ROUNDS=10000 GGUFX_TEST_LIMITED_REQUESTS=1000 suite plain "--timeout-multiplier 8" -Dwerror=true
run_tests repeated "$builds/plain" "--repeat 5 --suite unit --suite checkasm --suite abi"
# Every type, size, way and fma on a Vulkan device, in parts: half of the time drivers compile, with a thread.
printf '\n== every size on vulkan\n'
seq 4 | xargs -P 2 -I@ env GGUFX_TEST_VULKAN=all:@/4 meson test -C "$builds/plain" --no-rebuild \
    --logbase vulkan@ --print-errorlogs --timeout-multiplier 12 vulkan || echo "vulkan: exit $?"
printf '\n== every size on the emulated card\n'
seq 4 | xargs -P 2 -I@ env GGUFX_TEST_CUDA=all:@/4 meson test -C "$builds/plain" --no-rebuild \
    --logbase cuda@ --print-errorlogs --timeout-multiplier 12 cuda || echo "cuda: exit $?"
for shard in 1 2 3 4; do logs+=("cuda$shard=$builds/plain/meson-logs/cuda$shard.json"); done
for shard in 1 2 3 4; do logs+=("vulkan$shard=$builds/plain/meson-logs/vulkan$shard.json"); done
suite asan "--timeout-multiplier 4" "${sanitizers[@]}" -Db_sanitize=address,undefined
# clang's goes on after what UBSan says, with wrapping and changed integers besides (not of kernels): integers.py
# tells what was meant.
integers="-fsanitize=unsigned-integer-overflow,implicit-conversion -fsanitize-ignorelist=$root/tests/integers.txt"
said=$root/$builds/integers
[ "${builds#/}" = "$builds" ] || said=$builds/integers
rm -rf "$said" && mkdir -p "$said"
CC=clang CXX=clang++ UBSAN_OPTIONS=log_path="$said/x" suite asan_clang "--timeout-multiplier 4" "${sanitizers[@]}" \
    -Db_sanitize=address,undefined -Db_lundef=false -Dcpp_args="$integers" -Dc_args="$integers"
integer=0
python3 tests/integers.py . "$said" || integer=$?
# What reads containers; an uninstrumented libstdc++ links the nodes of the writer's std::list.
printf '\n== msan\n'
CC=clang CXX=clang++ meson setup "$builds/msan" "${sanitizers[@]}" -Db_sanitize=memory -Db_lundef=false -Dsimd=false \
    -Dcli=disabled -Dbindings=disabled -Dbenchmarks=disabled -Dmimalloc=disabled -Dcpuinfo=disabled -Dchat=false -Ddevices=false
run_tests msan "$builds/msan" "file_metadata file_getters file_heads file_flips file_errors file_split file_validate imatrix imatrix_errors writer_data writer_refusals runtime types"
suite tsan "--timeout-multiplier 20" "${sanitizers[@]}" -Db_sanitize=thread
CC=clang CXX=clang++ suite fallbacks "" -Dmimalloc=disabled -Dcpuinfo=disabled -Dwerror=true
suite lto "" -Db_lto=true -Dstatic_cxx_runtime=true
suite app_local "--suite unit --suite checkasm --suite abi" -Dapp_local=true -Dcli=disabled -Dbindings=disabled
suite app_small "--suite left_out" -Dapp_local=true -Dchat=false -Dvocabularies=false -Dcli=disabled -Dbindings=disabled
# Every file by itself and without precompiled headers: files include what they use.
suite debug "" --buildtype debug -Dhardening=false -Db_pch=false
for arch in aarch64 s390x i386; do
    printf '\n== %s\n' "$arch"
    rm -f "$builds/$arch/meson-logs/testlog.json"
    tests/cross/run.sh "$arch" "$builds/$arch" || echo "$arch: exit $?"
    logs+=("$arch=$builds/$arch/meson-logs/testlog.json")
done
printf '\n== debian\n'
tests/debian.sh "$builds/debian" || echo "debian: exit $?"
logs+=("=$builds/debian/testlog.json")
printf '\n== two builds, the same bytes\n'
reproducible=0
tests/reproducible.sh "$builds/reproducible" || reproducible=$?
printf '\n== clients of the server\n'
tests/serve_clients.sh "$builds/clients" "$builds/plain/ggufx" || echo "clients: exit $?"
logs+=("=$builds/clients/testlog.json")
printf '\n== windows\n'
windows=0
tests/cross/windows.sh "$builds/windows" "$builds/plain" || windows=$?
printf '\n== a cable that is cut\n'
cable=0
python3 tests/group/cable.py "$builds/plain" || cable=$?
printf '\n== static analysis\n'
analysis=0
python3 tests/abi/analysis.py . "$builds/debug" || analysis=$?
printf '\n== searches for inputs that break something, work in numbers\n'
search=0
tests/fuzz/search.sh --build "$builds/fuzz" all "${GGUFX_SEARCH_SECONDS:-120}" || search=$?
run_tests fuzz "$builds/fuzz" "--suite counted"
python3 tests/summary.py --strict "${logs[@]}"
status=$?
[ "$search" = 0 ] || echo "a search: exit $search"
[ "$cable" = 0 ] || echo "a cable that is cut: exit $cable"
[ "$windows" = 0 ] || echo "windows: exit $windows"
[ "$integer" = 0 ] || echo "integers: exit $integer"
[ "$reproducible" = 0 ] || echo "two builds: exit $reproducible"
[ "$analysis" = 0 ] || echo "static analysis: exit $analysis"
exit $((status || integer || reproducible || windows || cable || analysis || search))
