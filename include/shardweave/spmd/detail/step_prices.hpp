#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/sharding.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// What one change along one mesh dimension takes.
struct priced_step {
  std::optional<collective> op;
  double cost_us = 0;
};

/// Prices single steps of redistributions and remembers the times of collectives.
class step_prices {
 public:
  step_prices(device_mesh mesh, compute_profile compute, any_collectives collectives)
      : mesh_(std::move(mesh)), compute_(compute), collectives_(std::move(collectives)) {
    for (std::size_t d = 0; d < mesh_.rank(); ++d)
      groups_.push_back(mesh_.group_along(d, compute_.device.devices_per_node));
  }

  /// \param held        bytes on each rank before the step
  /// \param copy_first  the tensor is not contiguous
  /// \pre `to` is not partial and differs from `from`
  [[nodiscard]] priced_step operator()(dim_placement from, dim_placement to, bytes held, std::size_t d,
                                       bool copy_first) {
    if (from.is_replicated()) return {};
    const std::int64_t ranks = mesh_.extent(d);
    priced_step step;
    bytes moved = held;
    int copies = 0;
    if (from.is_partial()) {
      step.op = to.is_replicated() ? collective::all_reduce : collective::reduce_scatter;
      copies = to.is_sharded() && to.dim() != 0 ? 1 : 0;
    } else if (to.is_replicated()) {
      step.op = collective::all_gather;
      moved = held * ranks;
      copies = from.dim() != 0 ? 1 : 0;
    } else {
      step.op = collective::all_to_all;
      copies = (from.dim() != 0 ? 1 : 0) + (to.dim() != 0 ? 1 : 0);
    }
    if (ranks == 1) return step;
    step.cost_us = time(*step.op, moved, d) + copies * compute_.memory_time(moved * 2);
    if (copy_first) step.cost_us += compute_.memory_time(held * 2);
    return step;
  }

  [[nodiscard]] const device_mesh& mesh() const { return mesh_; }
  [[nodiscard]] const compute_profile& compute() const { return compute_; }
  [[nodiscard]] const any_collectives& collectives() const { return collectives_; }

 private:
  [[nodiscard]] double time(collective op, bytes moved, std::size_t d) {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(moved.count()) * max_mesh_rank + d) * 4 + static_cast<std::uint64_t>(op);
    const auto [at, fresh] = times_.try_emplace(key, 0);
    if (fresh) at->second = collectives_.estimate(op, moved, groups_[d]).time_us;
    return at->second;
  }

  device_mesh mesh_;
  compute_profile compute_;
  any_collectives collectives_;
  std::vector<group_shape> groups_;
  std::unordered_map<std::uint64_t, double> times_;
};

}  // namespace shardweave::inline v0::detail
