#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/lowering/collective_tables.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// A device and what its kernels and collectives take.

namespace sw = shardweave;

/// The enumerator of a name. \throws sw::error that names what was given and what is known
template <class Enum, class From>
Enum named(const std::string& name, const char* what, const From& from) {
  if (const std::optional<Enum> found = from(name)) return *found;
  sw::refuse(sw::error_category::input, std::string("no ") + what + " is called '" + name + "'");
}

inline sw::any_collectives collectives_of(const sw::device_preset& preset, const std::string& model) {
  if (model == "nccl") return sw::nccl_smooth(preset.profile);
  if (model == "fitted") return preset.collectives();
  sw::refuse(sw::error_category::input, "no model of collectives is called '" + model + "'; known are nccl, fitted");
}

/// The arithmetic of elements of that size, which is all that decides a device's rate.
inline sw::arithmetic arithmetic_of(std::int64_t element_bytes) {
  if (element_bytes >= 8) return sw::arithmetic::f64;
  if (element_bytes == 4) return sw::arithmetic::f32;
  return element_bytes == 2 ? sw::arithmetic::f16 : sw::arithmetic::i8;
}

/// A device and the model of its collectives: all durations come from here.
class machine {
 public:
  machine(const std::string& device, const std::string& collectives, std::int64_t devices_per_node)
      : preset_(sw::find_preset(device)),
        compute_(preset_.compute()),
        model_(collectives_of(preset_, collectives)),
        collectives_(collectives) {
    if (devices_per_node < 0)
      sw::refuse(sw::error_category::input, "devices_per_node is " + std::to_string(devices_per_node) +
                                                ", expected a positive number, or 0 for the device's own");
    per_node_ = devices_per_node > 0 ? devices_per_node : preset_.profile.devices_per_node;
  }

  [[nodiscard]] std::string name() const { return std::string(preset_.profile.name); }
  [[nodiscard]] const std::string& collectives() const { return collectives_; }
  [[nodiscard]] std::int64_t devices_per_node() const { return per_node_; }
  [[nodiscard]] double bandwidth() const { return preset_.profile.memory_bandwidth; }

  [[nodiscard]] std::int64_t moving(std::int64_t moved) const {
    return sw::from_microseconds(compute_.memory_time(sw::bytes(moved))).count();
  }
  /// What moving takes within a kernel that is launched anyway.
  [[nodiscard]] std::int64_t streaming(std::int64_t moved) const {
    if (moved <= 0) return 0;
    const auto amount = static_cast<double>(moved);
    return sw::from_microseconds(amount / bandwidth() * 1e6 / compute_.memory.at(amount)).count();
  }
  /// \param kind  "product", "attention" or "attention_backward"
  [[nodiscard]] std::int64_t computing(const std::string& kind, double flops, std::int64_t moved,
                                       std::int64_t element_bytes) const {
    const sw::kernel_kind kernel = kind == "attention"            ? sw::kernel_kind::attention
                                   : kind == "attention_backward" ? sw::kernel_kind::attention_backward
                                                                  : sw::kernel_kind::matrix_product;
    const sw::device_work work{flops, sw::bytes(moved), arithmetic_of(element_bytes)};
    return sw::from_microseconds(compute_.compute_time(work, kernel)).count();
  }
  /// How ranks of a group lie on nodes: consecutive ranks fill a node.
  [[nodiscard]] sw::group_shape shape_of(const std::vector<std::int64_t>& ranks) const {
    if (ranks.empty()) return {1, 1};
    std::vector<std::int64_t> nodes;
    for (const std::int64_t r : ranks) nodes.push_back(r / per_node_);
    std::sort(nodes.begin(), nodes.end());
    const auto distinct = static_cast<std::int64_t>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
    const auto count = static_cast<std::int64_t>(ranks.size());
    return {(count + distinct - 1) / distinct, distinct};
  }
  [[nodiscard]] std::int64_t communicating(const std::string& kind, std::int64_t bytes_in,
                                           const std::vector<std::int64_t>& ranks) const {
    const auto op = named<sw::collective>(kind, "collective", sw::collective_from);
    const sw::group_shape shape = shape_of(ranks);
    return sw::from_microseconds(model_.estimate(op, sw::largest_buffer(op, sw::bytes(bytes_in), shape), shape).time_us)
        .count();
  }
  [[nodiscard]] const sw::any_collectives& model() const { return model_; }
  [[nodiscard]] const sw::compute_profile& compute() const { return compute_; }

 private:
  sw::device_preset preset_;
  sw::compute_profile compute_;
  sw::any_collectives model_;
  std::string collectives_;
  std::int64_t per_node_ = 8;
};
