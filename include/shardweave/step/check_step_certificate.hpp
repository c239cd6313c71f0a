#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/step/work_table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// \file
/// Checks proofs of lower bounds on the step, without any code that makes them.

namespace shardweave::inline v0 {

namespace detail {

/// What is wrong with the weights; empty if they are valid.
[[nodiscard]] inline std::string fault_of_weights(const step_certificate& c) {
  if (c.weights.size() != c.claims.size())
    return "there are " + std::to_string(c.weights.size()) + " weights for " + std::to_string(c.claims.size()) +
           " claims";
  if (c.weight_bits < 0 || c.weight_bits > 40)
    return "weights have units of " + std::to_string(c.weight_bits) + " bits, expected 0 to 40";
  const std::int64_t one = std::int64_t{1} << c.weight_bits;
  std::int64_t left = one;
  for (std::size_t r = 0; r < c.weights.size(); ++r) {
    if (c.weights[r] < 0) return "weights[" + std::to_string(r) + "] is below zero";
    if (c.weights[r] > left) return "weights add up to more than 1";
    left -= c.weights[r];
  }
  return {};
}

/// What is wrong with work for a problem; empty if they are of one graph.
[[nodiscard]] inline std::string fault_of_work(const placement_description<double>& d, const step_work& work) {
  if (work.vertex_count() != d.vertices.size())
    return "work is told of " + std::to_string(work.vertex_count()) + " vertices, but the problem has " +
           std::to_string(d.vertices.size());
  for (std::size_t v = 0; v < work.vertex_count(); ++v)
    if (work.times_of[v] < work.times.size() && work.times[work.times_of[v]].size() != d.vertices[v].compute.size())
      return "work is told of " + std::to_string(work.times[work.times_of[v]].size()) + " strategies of " +
             d.name_of(v) + ", which has " + std::to_string(d.vertices[v].compute.size());
  return fault_of(work);
}

}  // namespace detail

/// Checks a lower bound on the makespan of every plan, whatever the assignment, the buckets and the order, without
/// trust in how claims and weights were found: each claim holds by its form (`validate`), hence their mixture; and the
/// placement's certificate proves that no assignment makes it less. In integers, without a solver.
///
/// \param d  its costs are ignored; its constraints and forbidden choices hold
/// Complexity: that of checking the placement's certificate, and linear in claims and work
[[nodiscard]] inline certificate_verdict<double> check_certificate(const placement_description<double>& d,
                                                                   const step_work& work, const step_certificate& c) {
  std::string fault = detail::fault_of_work(d, work);
  if (fault.empty()) fault = detail::fault_of_weights(c);
  for (std::size_t r = 0; r < c.claims.size() && fault.empty(); ++r)
    try_to([&] { validate(c.claims[r], work); },
           [&](const error& e) {
             fault = "claims[" + std::to_string(r) + "]: " + e.what();
             return true;
           });
  if (!fault.empty()) return {.failure = fault};
  const costs_in_place<double> costs = costs_at(c, work);
  certificate_verdict<double> verdict = check_certificate(d, c.placement, &costs);
  verdict.steps += c.claims.size();
  if (verdict.accepted) verdict.bound -= c.placement.lower_bound - bound_of(c, work);
  return verdict;
}

}  // namespace shardweave::inline v0
