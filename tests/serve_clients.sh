#!/bin/bash
# The server as others see it: npm's openai client, the page in Chromium with axe-core, haproxy and
# nginx in front of three servers, hundreds of streams.
# usage: tests/serve_clients.sh WORK_FOLDER TOOL
# WORK_FOLDER/testlog.json gets a line per check, as Meson's logs have; pictures of the page are in
# WORK_FOLDER/pictures. 77: a tool is absent (node 20 or newer, npm, chromium, haproxy, nginx).
# SPDX-License-Identifier: MIT
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "${1:?usage: serve_clients.sh WORK_FOLDER TOOL}/pictures"
work=$(cd "$1" && pwd)
tool=$(realpath "${2:?usage: serve_clients.sh WORK_FOLDER TOOL}")
model=$root/tests/data/tiny-stories-Q8_0.gguf
clients=$root/tests/serve/clients
log=$work/testlog.json
: >"$log"
for program in node npm chromium haproxy nginx; do
    command -v $program >/dev/null || { echo "skipped: no $program"; exit 77; }
done
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' || { echo "skipped: node is older than 20"; exit 77; }

# check NAME COMMAND...: run it and note how it went.
check() {
    local name=$1 result=FAIL
    shift
    printf '\n== %s\n' "$name"
    (cd "$work" && "$@") && result=OK
    printf '{"name": "serve %s", "result": "%s"}\n' "$name" $result >>"$log"
    [ $result = OK ]
}

packages() { npm install --no-save --no-audit --no-fund --ignore-scripts openai@7.57.0 playwright-core axe-core; }

check packages packages && {
    check openai node "$clients/openai.mjs" "$tool" "$model"
    check page python3 "$root/tests/abi/pages.py" "$root" "$(dirname "$tool")" "$work/pages" "$model" docs/server.md
    check browser node "$clients/browser.mjs" "$tool" "$model" "$work/pictures"
}
check haproxy python3 "$clients/balancers.py" "$tool" "$model" haproxy
check nginx python3 "$clients/balancers.py" "$tool" "$model" nginx
check load python3 "$clients/load.py" "$tool" "$model"
! grep -q FAIL "$log"
