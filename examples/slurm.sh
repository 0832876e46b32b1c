#!/bin/bash
# Import or encode in shares, each a task of a Slurm array (docs/scale.md). The words after the first two are those of
# `patent-mteb data import` and `patent-mteb store encode`:
#
#     sbatch --array=1-8 examples/slurm.sh import records grants/
#     sbatch --array=1-8 --gres=gpu:1 examples/slurm.sh encode stores mine -m MODEL
#
# After all tasks of an array, once:
#
#     patent-mteb data import --merge --out records
#     patent-mteb store merge stores/* --store store
#
# A task that was killed is submitted again alone (--array=3 needs SHARES=8) and continues.
#SBATCH --job-name=patent-mteb
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=08:00:00
set -euo pipefail
usage="usage: slurm.sh import RECORDS FILES... | encode STORES DIRECTORY -m MODEL"
step=${1:?$usage} out=${2:?$usage} task=${SLURM_ARRAY_TASK_ID:?submit it with sbatch --array=1-N}
shard=$task/${SHARES:-$SLURM_ARRAY_TASK_COUNT}
case $step in
    import) patent-mteb data import "${@:3}" --out "$out" --shard "$shard" ;;
    encode) patent-mteb store encode "${@:3}" --store "$out/$task" --shard "$shard" ;;
    *) echo "$usage" >&2 && exit 2 ;;
esac
