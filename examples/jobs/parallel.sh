#!/bin/bash
# An importance matrix of a model over a text in shares, by GNU parallel, here or on other machines:
#
#   SHARDS=16 examples/jobs/parallel.sh model.gguf text.txt /shared/im --sshlogin a,b,c
#
# Its last line adds up the shares into /shared/im.gguf, the bytes of one run, or lists those missing:
# the same command starts them again.
set -eu
model=$1 text=$2 parts=$3 shards=${SHARDS:-16} threads=${THREADS:-1}
shift 3
collect=(ggufx imatrix collect "$model" -f "$text" --parts "$parts")
parallel --quote --halt soon,fail=1 "$@" "${collect[@]}" --shard "{}/$shards" -t "$threads" \
    ::: $(seq "$shards")
exec "${collect[@]}" --merge --to "$parts.gguf"
