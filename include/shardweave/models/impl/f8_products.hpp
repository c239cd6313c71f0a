#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/models/detail/einsum_letters.hpp>
#include <shardweave/models/f8_products.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Which operands are converted, and where.

namespace shardweave::inline v0 {

namespace detail {

class f8_writer {
 public:
  f8_writer(const computation& graph, const f8_options& options) : graph_(graph), options_(options) {}

  [[nodiscard]] computation write() {
    find_products();
    made_.name = graph_.name;
    std::vector<std::uint32_t> moved;
    for (std::uint32_t v = 0; v < graph_.operations.size(); ++v) {
      operation op = graph_.operations[v];
      for (std::uint32_t& input : op.inputs) input = moved[input];
      if (is_product_[v])
        for (std::size_t i = 0; i < op.inputs.size(); ++i)
          op.inputs[i] = converted(graph_.operations[v].inputs[i], op.inputs[i], v, i);
      moved.push_back(static_cast<std::uint32_t>(made_.operations.size()));
      made_.operations.push_back(std::move(op));
      if (const auto wanted = early_.find(v); wanted != early_.end())
        for (const auto& [reader, argument] : wanted->second) (void)converted(v, moved[v], reader, argument);
    }
    for (const auto& [of, gradient] : graph_.gradient_of) made_.gradient_of.emplace_back(moved[of], moved[gradient]);
    for (const auto& [of, tangent] : graph_.tangent_of) made_.tangent_of.emplace_back(moved[of], moved[tangent]);
    for (const std::uint32_t v : graph_.results) made_.results.push_back(moved[v]);
    return std::move(made_);
  }

 private:
  /// A tensor for all products of a phase that add it up along the same dimensions.
  using form = std::tuple<std::uint32_t, phase, std::vector<std::size_t>>;

  [[nodiscard]] static bool has_16_bits(dtype type) { return type == dtype::bf16 || type == dtype::f16; }

  /// Products of weights and the products of their gradients, which have the group of the weight.
  void find_products() {
    const std::size_t count = graph_.operations.size();
    std::vector<bool> of_weights(count);
    std::set<std::pair<std::int64_t, std::string>> parts;
    is_product_.assign(count, false);
    for (int round = 0; round < 2; ++round)  // gradients stand after the products that name their parts
      for (std::uint32_t v = 0; v < count; ++v) {
        const operation& op = graph_.operations[v];
        const bool is_einsum = op.op == "einsum" && op.inputs.size() == 2 && op.layer >= 0;
        const bool any =
            std::any_of(op.inputs.begin(), op.inputs.end(), [&](std::uint32_t p) { return of_weights[p]; });
        const bool all =
            std::all_of(op.inputs.begin(), op.inputs.end(), [&](std::uint32_t p) { return of_weights[p]; });
        of_weights[v] = op.kind == role::parameter || (all && !op.inputs.empty());
        if (!is_einsum || std::find(options_.apart.begin(), options_.apart.end(), op.group) != options_.apart.end())
          continue;
        if (op.when == phase::forward && any && !all) parts.emplace(op.layer, op.group);
        is_product_[v] =
            parts.contains({op.layer, op.group}) &&
            std::all_of(op.inputs.begin(), op.inputs.end(), [&](std::uint32_t p) {
              return graph_.operations[p].outputs.size() == 1 && has_16_bits(graph_.operations[p].outputs.front().type);
            });
      }
    if (!options_.keeps_converted) return;
    for (std::uint32_t v = 0; v < count; ++v)
      for (std::size_t i = 0; i < graph_.operations[v].inputs.size(); ++i) {
        const std::uint32_t of = graph_.operations[v].inputs[i];
        if (is_product_[v] && graph_.operations[v].when != phase::forward &&
            graph_.operations[of].when == phase::forward && !of_weights[of])
          early_[of].emplace_back(v, i);
      }
  }

  /// The dimensions of an argument over which its product adds up.
  [[nodiscard]] std::vector<std::size_t> added_up(std::uint32_t product, std::size_t argument) const {
    const std::vector<std::string> letters = einsum_letters(graph_.operations[product].with.equation);
    std::vector<std::size_t> result;
    for (std::size_t d = 0; d < letters[argument].size(); ++d)
      if (letters.back().find(letters[argument][d]) == std::string::npos) result.push_back(d);
    return result;
  }

  /// Whether what made a tensor could find its largest element on the way.
  [[nodiscard]] bool is_measured(std::uint32_t v) const {
    const operation& op = graph_.operations[v];
    if (op.op == "alias" || op.op == "view" || op.op == "permute") return is_measured(op.inputs.front());
    return op.op != "einsum" && op.op != "sdpa" && op.op != "sdpa_backward" && op.op != "getitem";
  }

  /// \returns the converted tensor, which is written where it is not there yet
  std::uint32_t converted(std::uint32_t of, std::uint32_t now, std::uint32_t product, std::size_t argument) {
    const operation& reader = graph_.operations[product];
    const operation& maker = graph_.operations[of];
    const bool is_early = early_.contains(of);
    const phase when = is_early ? phase::forward : reader.when;
    const auto [entry, is_new] = converted_.try_emplace(form(of, when, added_up(product, argument)));
    if (!is_new) return entry->second;
    operation op;
    op.name = maker.name.empty() ? "" : maker.name + ".f8." + std::to_string(product) + "." + std::to_string(argument);
    op.op = options_.scaling == f8_scaling::current ? "quantize" : "conv";
    op.when = when;
    op.inputs = {now};
    op.outputs = {tensor{maker.outputs.front().shape, maker.when == phase::forward ? dtype::f8e4m3 : dtype::f8e5m2}};
    op.with.index = options_.scaling == f8_scaling::delayed || is_measured(of) ? 1 : 2;
    op.group = reader.group;
    op.layer = reader.layer;
    op.site = reader.site == 0 ? 0 : reader.site | (first_mark << argument);
    entry->second = static_cast<std::uint32_t>(made_.operations.size());
    made_.operations.push_back(std::move(op));
    return entry->second;
  }

  static constexpr std::uint64_t first_mark = std::uint64_t{1}
                                              << 48U;  ///< backward halves and aliases have those below

  const computation& graph_;
  const f8_options& options_;
  computation made_;
  std::vector<bool> is_product_;
  std::map<form, std::uint32_t> converted_;
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::size_t>>> early_;
};

}  // namespace detail

SHARDWEAVE_INLINE computation with_f8_products(const computation& graph, const f8_options& options) {
  return detail::f8_writer(graph, options).write();
}

}  // namespace shardweave::inline v0
