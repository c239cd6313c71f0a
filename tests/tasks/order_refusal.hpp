#pragma once

#include <shardweave/tasks/check_order_certificate.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace order_proofs {

namespace sw = shardweave;

/// Why a proof about orders is not accepted.
inline std::string refusal_of(const sw::task_graph& g, const sw::order_certificate& c) {
  const sw::order_verdict verdict = sw::check_certificate(g, c);
  CHECK(!verdict.accepted);
  return verdict.failure;
}
/// A proof of nothing, about orders without buckets.
inline sw::order_certificate none() { return {.buckets = std::vector<sw::bucket>()}; }

}  // namespace order_proofs
