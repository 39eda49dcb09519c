#!/bin/bash
# Collects an importance matrix of a model over a text in shards, by GNU parallel, here or on other
# machines:
#
#   SHARDS=16 examples/jobs/parallel.sh model.gguf text.txt /shared/im --sshlogin a,b,c
#
# The last command merges the shards into /shared/im.gguf, with the bytes of a single run. If shards
# are missing, it lists them; run the script again to compute them.
set -eu
model=$1 text=$2 parts=$3 shards=${SHARDS:-16} threads=${THREADS:-1}
shift 3
collect=(ggufx imatrix collect "$model" -f "$text" --parts "$parts")
parallel --quote --halt soon,fail=1 "$@" "${collect[@]}" --shard "{}/$shards" -t "$threads" \
    ::: $(seq "$shards")
exec "${collect[@]}" --merge --to "$parts.gguf"
