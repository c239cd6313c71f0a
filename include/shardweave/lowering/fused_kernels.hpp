#pragma once

#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <span>

/// \file
/// Element-wise work as the kernels that a compiler makes of it.

namespace shardweave::inline v0 {

/// The same graph where tasks that only move data run as fewer kernels: such tasks that follow from each other, with
/// nothing between them that is no such task (a product, attention, a collective, a wait), are one kernel. It reads
/// once what comes from outside and writes what is used outside; what stays inside holds no memory. The kernel's time
/// stands at its last task; its others take none, and are no launches. No dependency changes, so that no order becomes
/// invalid.
///
/// Lookups in tables, copies around collectives, conversions that need a scale of all that they convert ("quantize")
/// and views keep their own time.
/// \param compute    what moving data takes
/// \param module_of  by task: only tasks of one module become one kernel, and tasks of `no_index` with none; empty: all
///         are of one. An operator of a framework that is one kernel, a norm for example, is such a module.
/// \pre the graph's order is topological; `module_of` is empty or has an entry for each task
/// Source: fusion regions of PyTorch Inductor (element-wise operations and reductions, as long as no cycle closes).
/// Complexity: O(V + E), nearly
[[nodiscard]] task_graph with_fused_kernels(const task_graph& g, const compute_profile& compute,
                                            std::span<const std::uint32_t> module_of = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/lowering/impl/fused_kernels.hpp>
#endif
