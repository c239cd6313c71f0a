#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/spmd/rules.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// \file
/// Parts of a program that decide for themselves how they are distributed.

namespace shardweave::inline v0 {

/// An operator that the host runs on its pieces as it likes, with collectives of its own: it takes its arguments and
/// leaves its results as declared, and in no other way. A sharding that stands for "no tensor" is allowed for what is
/// not distributed at all.
///
/// ```
/// // attention over a sequence that is cut along the second mesh dimension: keys and values are whole there
/// rules.add("context_parallel_attention",
///           local_region_rule{{sharding::parse("S(0)S(2)"), sharding::parse("S(0)R"), sharding::parse("S(0)R")},
///                             {sharding::parse("S(0)S(2)")}},
///           {.flops = attention_flops{}, .kernel = kernel_kind::attention});
/// ```
struct local_region_rule {
  std::vector<sharding> inputs = {};
  std::vector<sharding> outputs = {};

  /// \throws error naming the operation if a placement is not valid for its tensor on this mesh
  [[nodiscard]] std::vector<mesh_strategy> operator()(const operation_view& view, const device_mesh& mesh) const {
    const auto check = [&](const std::vector<sharding>& declared, auto tensors, const std::string& what) {
      if (declared.size() != tensors.size())
        refuse(error_category::input, "local region '" + view.op.name + "' declares " +
                                          std::to_string(declared.size()) + " " + what + "s, expected " +
                                          std::to_string(tensors.size()));
      for (std::size_t t = 0; t < declared.size(); ++t)
        if (!declared[t].is_none() && !is_valid_sharding(tensors[t].shape, declared[t], mesh))
          refuse(error_category::input, "local region '" + view.op.name + "': " + what + " " + std::to_string(t) +
                                            " cannot be placed " + declared[t].to_string() + " on mesh " +
                                            mesh.to_string());
    };
    check(inputs, view.whole_inputs, "argument");
    check(outputs, std::span<const tensor>(view.op.outputs), "result");
    return {{outputs, inputs}};
  }
};

}  // namespace shardweave::inline v0
