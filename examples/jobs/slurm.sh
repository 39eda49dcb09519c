#!/bin/bash
# Perplexity of a model over a text in 16 shares, by a Slurm array:
#
#   sbatch examples/jobs/slurm.sh model.gguf text.txt /shared/ppl
#   ggufx perplexity model.gguf -f text.txt --parts /shared/ppl --merge
#
# The second line adds up the shares, or lists those missing: `sbatch --array=3,7 ...` starts some of
# them again. A share that is finished says so and ends at once.
#SBATCH --array=1-16
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --requeue
set -eu
model=$1 text=$2 parts=$3 shards=${SHARDS:-16} # not the array's size: it may be a part of it
exec ggufx perplexity "$model" -f "$text" --parts "$parts" \
    --shard "$SLURM_ARRAY_TASK_ID/$shards" -t "$SLURM_CPUS_PER_TASK"
