#pragma once

#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/strategy_list.hpp>

#include <string>
#include <utility>
#include <vector>

/// Sources of computations, and strategies in words.
namespace strategy_texts {

using namespace shardweave;

inline const roofline h100{find_device("h100")};

inline operation source(const char* name, tensor value, role kind = role::input) {
  return {name, "input", phase::forward, kind, {}, {std::move(value)}};
}

inline std::string text(const mesh_strategy& s) {
  std::string label;
  for (const sharding& in : s.inputs) label += (label.empty() ? "" : ",") + in.to_string();
  label += "->";
  for (const sharding& out : s.outputs) label += out.to_string();
  return label;
}

inline std::vector<std::string> texts(const strategy_list& list) {
  std::vector<std::string> labels;
  for (const mesh_strategy& s : list.strategies) labels.push_back(text(s));
  return labels;
}

}  // namespace strategy_texts
