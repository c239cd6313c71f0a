#pragma once

#include "finite_difference.hpp"
#include "plain_model.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/spmd/computation.hpp>

#include <doctest/doctest.h>
#include <models/arrays.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// How the graph of a model is checked: as it is written, and as it is executed against a plain model.
namespace model_checks {

/// What a graph is executed with; the real parts stand again in `w`, by name.
struct drawn {
  plain_model::weights w;
  std::map<std::string, interpreter::array> sources;
};

/// Random parameters, tangent and (smaller) "balance", and the tokens of a batch.
inline drawn draw(const shardweave::computation& graph, std::uint64_t seed, std::vector<std::int64_t> tokens_shape,
                  const std::vector<std::size_t>& tokens) {
  shardweave::random_source random(seed);
  drawn made;
  for (const shardweave::operation& op : graph.operations) {
    const bool steers = op.name == "balance";
    if (op.kind != shardweave::role::parameter && op.kind != shardweave::role::tangent && !steers) continue;
    interpreter::array a = interpreter::zeros(op.outputs[0].shape);
    for (auto& e : a.data) e = steers ? 0.3 * random.unit() : 1.2 * random.unit() - 0.5;
    for (const auto& e : a.data) made.w[op.name].push_back(e.real());
    made.sources[op.name] = std::move(a);
  }
  interpreter::array token_array = interpreter::zeros(std::move(tokens_shape));
  std::ranges::copy(tokens, token_array.data.begin());
  made.sources["tokens"] = std::move(token_array);
  return made;
}

inline void check_logits(const interpreter::array& found, const plain_model::row& expected) {
  REQUIRE(found.data.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(found.data[i].real() == doctest::Approx(expected[i]).epsilon(1e-10));
}

struct gradient_errors {
  double worst = 0;                       ///< relative, of all elements looked at
  std::map<std::string, double> largest;  ///< by parameter, of the gradient as found and as expected the smaller
};

/// Every `stride`-th element of the gradients against finite differences of tangent * logits(w).
template <class Logits>
[[nodiscard]] gradient_errors compare_gradients(const shardweave::computation& graph,
                                                const std::vector<std::vector<interpreter::array>>& values,
                                                plain_model::weights w, std::size_t stride, const Logits& logits) {
  const plain_model::row tangent = w.at("tangent");
  const auto loss = [&] {
    const plain_model::row y = logits(w);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * tangent[i];
    return sum;
  };
  gradient_errors all;
  for (const auto& [parameter, gradient] : graph.gradient_of) {
    const std::string& name = graph.operations[parameter].name;
    plain_model::row& p = w.at(name);
    for (std::size_t i = 0; i < p.size(); i += stride) {
      const double expected = finite_difference::slope(p[i], loss);
      const double got = values[gradient].front().data[i].real();
      all.worst = std::max(all.worst, std::abs(got - expected) / (1e-2 + std::abs(expected)));
      all.largest[name] = std::max(all.largest[name], std::min(std::abs(got), std::abs(expected)));
    }
  }
  return all;
}

/// Elements of all parameters.
inline std::int64_t parameter_elements(const shardweave::computation& graph) {
  std::int64_t total = 0;
  for (const shardweave::operation& op : graph.operations)
    if (op.kind == shardweave::role::parameter) total += op.outputs[0].element_count();
  return total;
}

/// Names are unique, and operations name earlier operations only.
inline void check_order(const shardweave::computation& graph) {
  std::set<std::string> names;
  for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
    const shardweave::operation& op = graph.operations[v];
    CHECK_MESSAGE(names.insert(op.name).second, op.name);
    for (const std::uint32_t input : op.inputs) CHECK(input < v);
  }
}

/// The operations of every site; those of one site do the same in every layer.
inline std::map<std::uint64_t, std::vector<const shardweave::operation*>> checked_sites(
    const shardweave::computation& graph) {
  std::map<std::uint64_t, std::vector<const shardweave::operation*>> sites;
  for (const shardweave::operation& op : graph.operations)
    if (op.site != 0) sites[op.site].push_back(&op);
  for (const auto& [site, members] : sites)
    for (const shardweave::operation* op : members) {
      CHECK(op->op == members[0]->op);
      CHECK(op->group == members[0]->group);
      CHECK(op->outputs == members[0]->outputs);
      CHECK(op->with == members[0]->with);
      CHECK(op->inputs.size() == members[0]->inputs.size());
    }
  return sites;
}

}  // namespace model_checks
