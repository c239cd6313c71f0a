#!/usr/bin/env bash
# two_hosts.sh PROGRAM ARGUMENTS...
# Runs a program on four MPI ranks, two on each of two hosts: network namespaces of this machine, each with a name, an
# address and a temporary folder of its own, joined by a pair of virtual devices. Root alone may make them. Leaves with
# status 77 and a reason where that cannot be, and nothing behind.
set -euo pipefail
skip() {
  echo "skipped: $1"
  exit 77
}
for tool in mpirun ip nsenter unshare hostname timeout; do
  command -v "$tool" >/dev/null || skip "there is no $tool here"
done
hosts=(swa$$ swb$$)
folder=$(mktemp -d)
clean_up() {
  for host in "${hosts[@]}"; do
    ip netns pids "$host" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    ip netns delete "$host" 2>/dev/null || true  # its device goes with it
  done
  rm -rf "$folder"
}
trap clean_up EXIT
for host in "${hosts[@]}"; do
  why=$(ip netns add "$host" 2>&1) || skip "no network namespace can be made: $why"
  mkdir "$folder/$host"
done
why=$(ip link add "${hosts[0]}" netns "${hosts[0]}" type veth peer name "${hosts[1]}" netns "${hosts[1]}" 2>&1) ||
  skip "no virtual devices can be made: $why"
for i in 0 1; do
  why=$( (ip -n "${hosts[i]}" address add "10.213.7.$((i + 1))/24" dev "${hosts[i]}" &&
    ip -n "${hosts[i]}" link set "${hosts[i]}" up && ip -n "${hosts[i]}" link set lo up) 2>&1) ||
    skip "no virtual devices can be set up: $why"
done

# on_host I COMMAND...: there, with a name and a folder for temporary files as another machine would have
cat > "$folder/on_host" <<'END'
#!/bin/sh
folder=$(dirname "$0")
host=$1
shift
export TMPDIR="$folder/$host"
exec nsenter --net="/run/netns/$host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$host" "$@"
END
# what mpirun calls in place of ssh: ADDRESS COMMAND
cat > "$folder/agent" <<END
#!/bin/sh
shift
exec "$folder/on_host" ${hosts[1]} sh -c "\$*"
END
chmod +x "$folder/on_host" "$folder/agent"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent=$folder/agent
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_mpi_yield_when_idle=1
# Open MPI 5 starts its ranks by PRRTE, which has variables of its own
export PRTE_MCA_plm_ssh_agent=$folder/agent PRTE_MCA_rmaps_default_mapping_policy=node:oversubscribe PRTE_MCA_rmaps_default_ranking_policy=slot
export PRTE_MCA_hwloc_default_binding_policy=none PRTE_MCA_odls_base_sigkill_timeout=0
export OMPI_MCA_odls_base_sigkill_timeout=0  # ranks of a run that has failed are killed at once
# shared memory within a host, TCP between them
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_vader_backing_directory=$folder
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl_base_warn_component_unused=0
timeout -k 5 60 "$folder/on_host" "${hosts[0]}" \
  mpirun --host 10.213.7.1:2,10.213.7.2:2 -np 4 "$@" </dev/null
