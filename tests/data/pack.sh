#!/usr/bin/env bash
# tests/data/pack.sh FOLDER: makes the archives beside this script from the whole data, of which FOLDER holds
# placement/, tasks/, collectives/, iopddl/, training/ and chakra/. Equal files make equal archives.
set -euo pipefail
[ $# = 1 ] && [ -d "$1/placement" ] || { echo "usage: tests/data/pack.sh FOLDER" >&2; exit 2; }
from=$(cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# take FILE...: a file of FOLDER, unpacked
take() {
  for name in "$@"; do
    mkdir -p "$work/$(dirname "$name")"
    case $name in
      *.gz) gunzip -c "$from/$name" >"$work/${name%.gz}" ;;
      *) cp "$from/$name" "$work/$name" ;;
    esac
  done
}
# pack NAME: what was taken since the last one becomes NAME.tar.xz; files that are alike share what they have in common
pack() {
  chmod -R u=rwX,go=rX "$work"
  (cd "$work" && tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - *) | xz -9e >"$here/$1.tar.xz"
  rm -rf "${work:?}"/*
}

take placement/{tiny2-1d-8-overlap,tiny2-1d-8-overlap-gradients,tiny2-2d-4x2}.json.gz
take placement/llama3-1b-1d-64{,-untied,-memory,-march,-overlap,-overlap-gradients,-overlap-tail}.json.gz
take placement/llama3-1b-2layer-2d-8x8-overlap-{gradients,tail}.json.gz
take placement/{llama3-1b-2d-8x8,llama3-1b-2d-8x8-memory,llama3-8b-2d-8x8,dsv3-2l-2d-4x64}.json.gz
pack placement
take placement/llama3-1b-4layer-3d-2x4x8.json.gz
pack placement-3d
take tasks/{llama3-8b-fw-64-1d,llama3-8b-bw-64-2d,deepseek-v3-fw-64}.json.gz
pack tasks
take collectives/{golden_nccl_2_27_5_h100_tuning_log,autoparallel_overlap_sim_tables,simai_efficiency_ratio}.csv
take collectives/{aws_p4d_2node,aws_p5_1node,aws_p5_2node,azure_nda100v4,azure_ndh100v5}_allreduce.csv
take collectives/{coreweave_gb200_nvl72,coreweave_h100_64_sharp}_allreduce.csv
take collectives/xla_{h100_8gpu,b200_8gpu,gb200_nvl72}.csv
take iopddl/example.json iopddl/asplos-2025-iopddl-{B,G}.json.gz
pack tables
# every third row, in the order of the table
mkdir -p "$work/training"
awk 'NR == 1 || NR % 3 == 0' "$from/training/measured.csv" >"$work/training/measured.csv"
pack training
if [ -d "$from/chakra" ]; then  # made by tests/io/chakra_traces.py
  take $(cd "$from" && ls chakra/*)
  pack chakra
fi
