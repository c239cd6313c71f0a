#pragma once

#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <span>

/// \file
/// Fusion of element-wise tasks into kernels, as a compiler does it.

namespace shardweave::inline v0 {

/// The same graph with tasks that only move data fused into fewer kernels: such tasks that depend on one another, with
/// only such tasks between them (no product, attention, collective or wait), are one kernel. It reads each input from
/// outside once and writes what is used outside; results used only inside take no memory. The kernel's time is that of
/// its last task; the other tasks take no time and are no launches. Dependencies stay, so valid orders stay valid.
///
/// Lookups in tables, copies around collectives, conversions that need a scale of all that they convert ("quantize")
/// and views keep their own time.
/// \param compute    the time of moving data
/// \param module_of  by task: its module, such as an operator of a framework that is one kernel (a norm). Only tasks of
///                   one module are fused, and tasks of `no_index` with none; empty: all tasks are of one module
/// \pre the graph's order is topological; `module_of` is empty or has an entry for each task, and no way leads from a
///      module through another one back to it
/// Source: fusion regions of PyTorch Inductor (element-wise operations and reductions, as long as no cycle closes).
/// Complexity: O(V + E), nearly
[[nodiscard]] task_graph with_fused_kernels(const task_graph& g, const compute_profile& compute,
                                            std::span<const std::uint32_t> module_of = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/fused_kernels.hpp>
#endif
