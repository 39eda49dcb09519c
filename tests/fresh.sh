#!/bin/bash
# A stranger's machine: README's commands, taken from README.md and run literally in a new minimal Debian 12 with no
# package but those that README names, from a plain clone with nothing beside it.
# usage: tests/fresh.sh WORK_FOLDER     (as root; debootstrap, git, tar and unshare)
#
# Restrictions that a usual machine does not have: an unprivileged user builds and tests (only apt and the installation run as
# root), the home folder is read-only, the environment is empty except for PATH, HOME and COLUMNS=80 (so the locale is C)
# and, where the caller has set them, GGUFX_TEST_STEP and GGUFX_TEST_CLI_STEP (every n-th case of long loops),
# there is no terminal, no pseudo-terminal and no writable /dev/shm. A test may skip there because a tool is not installed
# or a device is absent, and suite "stored" without results of other engines; no other for want of data.
#
# The mirror is the one of the machine's own apt. The bootstrapped system is kept in ${GGUFX_FRESH_CACHE:-~/.cache/ggufx}
# for a week. WORK_FOLDER/meson-logs/testlog.json has a line for each suite and for each other check.
# SPDX-License-Identifier: MIT
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# A mount namespace of its own: mounts end with the script. A process namespace: so do the processes.
if [ "${GGUFX_FRESH_INSIDE-}" = "" ]; then
    export GGUFX_FRESH_INSIDE=1
    if unshare --mount --pid --fork true 2>/dev/null; then exec unshare --mount --pid --fork --kill-child "$0" "$@"; fi
    echo "no namespaces here: /proc is not mounted in the new system"
    export GGUFX_FRESH_INSIDE=no_proc
fi
mkdir -p "${1:?usage: fresh.sh WORK_FOLDER}"
work=$(cd "$1" && pwd)
system=$work/system clone=/srv/libggufx log=$work/meson-logs/testlog.json
mkdir -p "$work/meson-logs" && : >"$log"
steps=(${GGUFX_TEST_STEP:+GGUFX_TEST_STEP=$GGUFX_TEST_STEP} ${GGUFX_TEST_CLI_STEP:+GGUFX_TEST_CLI_STEP=$GGUFX_TEST_CLI_STEP})

# check NAME COMMAND...: run it and write how it went into the log.
check() {
    local name=$1 result=FAIL started=$SECONDS
    shift
    printf '\n== %s\n' "$name"
    "$@" && result=OK
    printf '== %s: %s after %d s\n' "$name" "$result" $((SECONDS - started))
    printf '{"name": "fresh %s", "result": "%s"}\n' "$name" $result >>"$log"
    [ $result = OK ]
}

mirror() {
    apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' | sed -n 's/ bookworm$//p' | head -1
}

# A minimal system, from the cache or the mirror.
bootstrap() {
    local cache=${GGUFX_FRESH_CACHE:-${HOME:-/root}/.cache/ggufx} url
    local tarball=$cache/bookworm-minbase.tar
    rm -rf --one-file-system "$system" && mkdir -p "$system" "$cache" || return
    if [ -z "$(find "$tarball" -mtime -7 2>/dev/null)" ]; then
        url=${GGUFX_DEBIAN_MIRROR:-$(mirror)}
        if debootstrap --variant=minbase bookworm "$work/bootstrap" "$url" >"$work/debootstrap.log"; then
            tar -C "$work/bootstrap" -cf "$tarball.part" . && mv "$tarball.part" "$tarball"
            rm -rf --one-file-system "$work/bootstrap"
        else
            tail -5 "$work/debootstrap.log"
            [ -e "$tarball" ] || { echo "neither the mirror \"$url\" nor $tarball can be used"; return 1; }
            echo "the mirror \"$url\" cannot be used: $tarball is older than a week"
        fi
    fi
    tar -C "$system" -xf "$tarball"
}

# The clone and its user. Git is not there: the clone is made from outside.
prepare() {
    [ "$GGUFX_FRESH_INSIDE" = no_proc ] || mount -t proc proc "$system/proc" || return
    cp -L /etc/resolv.conf "$system/etc/resolv.conf"
    git clone -q "file://$root" "$system$clone" &&
        chroot "$system" useradd --no-create-home --home-dir /home/stranger --shell /bin/sh stranger &&
        mkdir -m 555 "$system/home/stranger" && chroot "$system" chown -R stranger: "$clone" && chmod 755 "$system/dev/shm"
}

# run_as USER COMMAND: a line of shell in the clone.
run_as() {
    local user=$1 home=/root path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    [ "$user" = root ] || home=/home/$user path=/usr/local/bin:/usr/bin:/bin
    chroot --userspec="$user:$user" "$system" env -i HOME=$home PATH=$path COLUMNS=80 "${steps[@]}" sh -c "cd $clone && $2" </dev/null
}

# The line of README.md that matches, once.
readme_line() {
    local lines
    lines=$(grep -E "$1" "$root/README.md")
    [ "$(grep -c . <<<"$lines")" = 1 ] || { echo "README.md has not one line of $1: $lines" >&2; return 1; }
    printf %s "$lines"
}

# A command of README for a root shell: apt as root, the rest as the user.
readme_command() {
    local line
    line=$(readme_line "$1") || return
    echo "\$ $line"
    run_as root "${line%% && [!a]*}" >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log"; return 1; }
    local rest=${line#"${line%% && [!a]*} && "}
    run_as stranger "$rest"
}

# Every target of a build without cmocka; the installation as root, who leaves no file of the user's unwritable.
install_it() {
    local line
    line=$(readme_line '^meson install .*ldconfig$') || return
    run_as stranger "meson compile -C build" && run_as root "$line" && chroot "$system" chown -R stranger: "$clone/build"
}

program='#include <ggufx/ggufx.h>
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    void *library = dlopen("libggufx.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library || !dlsym(library, "ggufx_version")) return puts(dlerror()), 1;
    return puts(ggufx_version()) < 0;
}'
cmake_lists='cmake_minimum_required(VERSION 3.16)
project(installed C)
find_package(ggufx 0.1 CONFIG REQUIRED)
add_executable(by_cmake program.c)
target_link_libraries(by_cmake PRIVATE ggufx::ggufx)'
# Each from a shell of its own, away from the clone.
use_installed() {
    local at=/tmp/installed
    run_as stranger "mkdir -p $at" && printf '%s\n' "$program" >"$system$at/program.c" &&
        printf '%s\n' "$cmake_lists" >"$system$at/CMakeLists.txt" &&
        run_as stranger "cd $at && ggufx version" && run_as stranger "cd $at && pkg-config --modversion ggufx" &&
        run_as stranger "cd $at && cc program.c -o by_pkg_config \$(pkg-config --cflags --libs ggufx) && ./by_pkg_config"
}
use_installed_by_cmake() {
    run_as root "apt-get install -y --no-install-recommends cmake make" >"$work/apt.log" 2>&1 &&
        run_as stranger "cd /tmp/installed && cmake -S . -B by && cmake --build by && by/by_cmake"
}

# Results of the suites. None but those that compare with stored results of other engines may skip for want of data.
suites_log() {
    local results=$system$clone/build/meson-logs/testlog.json
    cat "$results" >>"$log" &&
        ! grep '"result": "SKIP"' "$results" | grep -v '"name": "[^"/]*stored' | grep -oE '"stdout": "[^"]*GGUFX_TEST_(DATA|MODELS)'
}

check bootstrap bootstrap && check prepare prepare || exit 1
check "first command" readme_command '^apt-get .*ggufx demo$'
check "installation" install_it && check "installed" use_installed
check "second command" readme_command '^apt-get .*tests/run\.sh$'
check "suites" suites_log
check "installed, by CMake" use_installed_by_cmake
cp "$system$clone/build/meson-logs/testlog.txt" "$work/meson-logs/" 2>/dev/null
! grep -q '"result": "FAIL"' "$log"
