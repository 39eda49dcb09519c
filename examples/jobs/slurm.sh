#!/bin/bash
# Computes the perplexity of a model over a text in 16 shards, by a Slurm array:
#
#   sbatch examples/jobs/slurm.sh model.gguf text.txt /shared/ppl
#   ggufx perplexity model.gguf -f text.txt --parts /shared/ppl --merge
#
# The second command merges the shards. If shards are missing, it lists them: `sbatch --array=3,7 ...`
# runs some of them again. A finished shard reports this and exits at once.
#SBATCH --array=1-16
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --requeue
set -eu
model=$1 text=$2 parts=$3 shards=${SHARDS:-16} # not the array size: an array may run only some shards
exec ggufx perplexity "$model" -f "$text" --parts "$parts" \
    --shard "$SLURM_ARRAY_TASK_ID/$shards" -t "$SLURM_CPUS_PER_TASK"
