#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/strategy_list.hpp>

#include <string>

/// \file
/// How strategies are named.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE label_list label_strategies(const strategy_list& list) {
  const auto texts_of = [](const std::vector<sharding_classes>& tensors) {  // each sharding is written once
    std::vector<std::vector<std::string>> texts(tensors.size());
    for (std::size_t t = 0; t < tensors.size(); ++t)
      for (const sharding& where : tensors[t].distinct) texts[t].push_back(where.to_string());
    return texts;
  };
  const auto inputs = texts_of(list.inputs), outputs = texts_of(list.outputs);
  std::vector<std::string> labels(list.size());
  for (std::size_t s = 0; s < labels.size(); ++s) {
    std::string& text = labels[s];
    const auto add = [&](const auto& texts, const std::vector<sharding_classes>& tensors) {
      for (std::size_t t = 0; t < tensors.size(); ++t) {
        if (t > 0) text += ',';
        text += texts[t][tensors[t].of[s]];
      }
    };
    add(inputs, list.inputs);
    text += "->";
    if (outputs.size() != 1) text += '[';
    add(outputs, list.outputs);
    if (outputs.size() != 1) text += ']';
  }
  return labels;
}

}  // namespace shardweave::inline v0
