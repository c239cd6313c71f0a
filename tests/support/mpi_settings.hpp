#pragma once

#include <string>

/// What Open MPI must be told, as variables of the environment: it runs as root, with more ranks than cores, and
/// processes may not read each other's memory. Open MPI 5 starts its ranks by PRRTE, which has variables of its own.
inline std::string mpi_settings() {
  return " OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
         " OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"
         " OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none"
         " OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none"
         " OMPI_MCA_btl_base_warn_component_unused=0 ASAN_OPTIONS=detect_leaks=0 ";
}
