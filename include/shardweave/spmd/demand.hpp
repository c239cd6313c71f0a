#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/spmd/memory_budget.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

/// \file
/// What a user may demand of a plan, as data and as words.

namespace shardweave::inline v0 {

/// The first result of every operation whose name fits lies so. In a pattern * stands for any text, also none.
struct operations_placed {
  std::string pattern;
  sharding where;
  friend bool operator==(const operations_placed&, const operations_placed&) = default;
};
/// The same along one mesh dimension only.
struct operations_placed_along {
  std::string pattern;
  std::size_t mesh_dim = 0;
  dim_placement where;
  friend bool operator==(const operations_placed_along&, const operations_placed_along&) = default;
};
/// Where inputs lie: all operations of role `input`.
struct inputs_placed {
  sharding where;
  friend bool operator==(const inputs_placed&, const inputs_placed&) = default;
};
/// Where the graph's results lie that are not gradients.
struct results_placed {
  sharding where;
  friend bool operator==(const results_placed&, const results_placed&) = default;
};
/// Gradients lie as their parameters do, incoming gradients as the results they belong to.
struct gradients_paired {
  friend bool operator==(const gradients_paired&, const gradients_paired&) = default;
};
/// Repeated layers are placed alike.
struct layers_tied {
  friend bool operator==(const layers_tied&, const layers_tied&) = default;
};
/// A limit on what a device holds of all parameters together: the sum, over the parameters, of this share of each, or
/// of the least that a device can hold of it where that is more; see `training_options::parameter_share`. Parameters
/// that a demand places outright are not in the sum.
struct parameters_shared {
  double share = 0;
  parameter_unit unit = parameter_unit::ratio;
  friend bool operator==(const parameters_shared&, const parameters_shared&) = default;
};
/// What a device may hold of all parameters together, however they are placed.
struct parameters_limited {
  bytes most{};
  friend bool operator==(const parameters_limited&, const parameters_limited&) = default;
};
/// What a device may hold in all at any time, with so many bytes of optimizer state per element; see `memory_budget`.
struct memory_limited {
  bytes most{};
  double state_per_element = memory_options{}.state_per_element;
  friend bool operator==(const memory_limited&, const memory_limited&) = default;
};

/// One demand of a user: data that files hold and `constraints_of` turns into constraints.
using demand = std::variant<operations_placed, operations_placed_along, inputs_placed, results_placed, gradients_paired,
                            layers_tied, parameters_shared, parameters_limited, memory_limited>;

/// One line of words: "placed layers.*.wq S(0)R", "placed_along layers.*.wq 0 S(0)", "inputs S(0)R", "results S(0)R",
/// "pair_gradients", "tie_layers", "parameter_share 0.5 ratio" (or size), "parameter_bytes 16000000000",
/// "memory_bytes 80000000000 state 8".
[[nodiscard]] inline std::string to_string(const demand& what) {
  struct {
    std::string operator()(const operations_placed& d) const {
      return "placed " + d.pattern + " " + d.where.to_string();
    }
    std::string operator()(const operations_placed_along& d) const {
      return "placed_along " + d.pattern + " " + std::to_string(d.mesh_dim) + " " + sharding{d.where}.to_string();
    }
    std::string operator()(const inputs_placed& d) const { return "inputs " + d.where.to_string(); }
    std::string operator()(const results_placed& d) const { return "results " + d.where.to_string(); }
    std::string operator()(const gradients_paired&) const { return "pair_gradients"; }
    std::string operator()(const layers_tied&) const { return "tie_layers"; }
    std::string operator()(const parameters_shared& d) const {
      return "parameter_share " + number_text(d.share) + (d.unit == parameter_unit::size ? " size" : " ratio");
    }
    std::string operator()(const parameters_limited& d) const {
      return "parameter_bytes " + std::to_string(d.most.count());
    }
    std::string operator()(const memory_limited& d) const {
      return "memory_bytes " + std::to_string(d.most.count()) + " state " + number_text(d.state_per_element);
    }
  } words;
  return std::visit(words, what);
}

namespace detail {
inline constexpr std::array<std::string_view, std::variant_size_v<demand>> demand_examples = {
    "placed layers.*.wq S(0)R",
    "placed_along layers.*.wq 0 S(0)",
    "inputs S(0)R",
    "results S(0)R",
    "pair_gradients",
    "tie_layers",
    "parameter_share 0.5 ratio",
    "parameter_bytes 16000000000",
    "memory_bytes 80000000000 state 8"};
}  // namespace detail

/// Reads what `to_string` writes.
/// \throws error (format) naming the line, and what it should look like, if it is something else
[[nodiscard]] inline demand parse_demand(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  const std::string_view kind = words.empty() ? std::string_view{} : words[0];
  const auto bad = [&] {
    std::string kinds;
    for (const std::string_view like : detail::demand_examples) {
      const std::string_view name = like.substr(0, like.find(' '));
      if (name == kind)
        refuse(error_category::format,
               "'" + std::string(line) + "' is no demand, expected one like '" + std::string(like) + "'");
      kinds += (kinds.empty() ? "" : ", ") + std::string(name);
    }
    refuse(error_category::format,
           "'" + std::string(line) + "' is no demand, expected one that begins with one of " + kinds);
  };
  const auto number = [&](std::string_view text, auto& value) {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) bad();
  };
  const auto is = [&](std::string_view name, std::size_t count) { return kind == name && words.size() == count; };
  if (is("placed", 3)) return operations_placed{std::string(words[1]), sharding::parse(words[2])};
  if (is("inputs", 2)) return inputs_placed{sharding::parse(words[1])};
  if (is("results", 2)) return results_placed{sharding::parse(words[1])};
  if (is("pair_gradients", 1)) return gradients_paired{};
  if (is("tie_layers", 1)) return layers_tied{};
  if (is("placed_along", 4)) {
    operations_placed_along d{std::string(words[1]), 0, {}};
    number(words[2], d.mesh_dim);
    const sharding one = sharding::parse(words[3]);
    if (one.size() != 1) bad();
    d.where = one[0];
    return d;
  }
  if (is("parameter_share", 3) && (words[2] == "ratio" || words[2] == "size")) {
    parameters_shared d{0, words[2] == "size" ? parameter_unit::size : parameter_unit::ratio};
    number(words[1], d.share);
    return d;
  }
  if (is("parameter_bytes", 2)) {
    std::int64_t most = 0;
    number(words[1], most);
    return parameters_limited{bytes(most)};
  }
  if (is("memory_bytes", 4) && words[2] == "state") {
    std::int64_t most = 0;
    memory_limited d;
    number(words[1], most);
    number(words[3], d.state_per_element);
    d.most = bytes(most);
    return d;
  }
  bad();
  return {};
}

}  // namespace shardweave::inline v0
