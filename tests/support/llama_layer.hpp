#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/memory/block_policies.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/choose_policies.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// A layer with published policies, and published choices for 32 of them: for the tests and the table of room memory.

namespace shardweave_test {

/// The values of a layer, in their order.
namespace llama_layer_values {
enum : std::uint32_t { x, n1, q0, k0, q, k, v, o, projected, h, n2, a1, a3, g, values };
}

/// A layer of LLaMA-3 8B, two sequences of 8,192 tokens in bf16: 600 TFLOP/s of products, 400 of attention, 2.6 TB/s.
/// \param plain  what nothing in the backward part reads is never kept
inline shardweave::recompute_block llama_layer(std::int64_t scale = 1, bool plain = true) {
  using namespace llama_layer_values;
  using shardweave::mebibytes;
  shardweave::recompute_block b{.name = "layer"};
  const auto add = [&](const char* name, std::int64_t mib, double ms, std::vector<std::uint32_t> inputs) {
    b.values.push_back({.name = name,
                        .size = mebibytes(mib) * scale,
                        .time = shardweave::nanoseconds(static_cast<std::int64_t>(ms * 1e6)) * scale,
                        .inputs = std::move(inputs),
                        .may_offload = true});
  };
  add("x", 128, 0, {});
  b.values[x].may_drop = b.values[x].may_offload = false;
  add("n1", 128, 0.103, {x});
  add("q0", 128, 0.916, {n1});
  add("k0", 32, 0.229, {n1});
  add("q", 128, 0.103, {q0});
  add("k", 32, 0.026, {k0});
  add("v", 32, 0.229, {n1});
  add("o", 130, 2.749, {q, k, v});
  add("projected", 128, 0.916, {o});
  add("h", 128, 0.155, {x, projected});
  add("n2", 128, 0.103, {h});
  add("a1", 448, 3.207, {n2});
  add("a3", 448, 3.207, {n2});
  add("g", 448, 0.542, {a1, a3});
  for (const std::uint32_t inner : {q0, k0, projected}) b.values[inner].may_keep = b.values[inner].may_offload = !plain;
  const auto step = [&](std::vector<std::uint32_t> reads, std::int64_t mib) {
    b.backward.push_back({std::move(reads), mebibytes(mib) * scale});
  };
  step({g}, 128);                              // the gradient of the second product's weights
  step({}, 128 + 448);                         // of g
  step({a1, a3}, 128 + 448 + 2 * 448);         // of a1 and a3
  step({n2}, 128 + 2 * 448);                   // of the weights
  step({}, 128 + 2 * 448 + 128);               // of n2
  step({h}, 2 * 128 + 128);                    // of h
  step({o}, 128);                              // of Wo
  step({}, 2 * 128);                           // of o
  step({q, k, v, o}, 2 * 128 + 128 + 2 * 32);  // of q, k, v
  step({n1}, 128 + 128 + 2 * 32);              // of the weights
  step({}, 2 * 128 + 128 + 2 * 32);            // of n1
  step({x}, 3 * 128);                          // of x
  return b;
}

inline shardweave::bytes gib(double amount) {
  return shardweave::bytes(static_cast<std::int64_t>(amount * 1073741824.0));
}

/// What was published of the quickest choice for 32 such layers on one GPU of eight.
struct published_choice {
  double usable;       ///< GiB of the device
  double loss;         ///< GiB between the parts: 3.425 in chunks, 27.40 as eager frameworks hold it
  double known;        ///< ms more than if everything were kept
  std::int64_t scale;  ///< of the sequence's length
  double rate;         ///< GB/s to the host, 0 = nothing is lent

  [[nodiscard]] shardweave::memory_rows rows() const { return {.limit = gib(usable) - gib(15.46), .after = gib(loss)}; }
  [[nodiscard]] shardweave::offload_rates rates() const {
    if (rate == 0) return {};
    return {.window = shardweave::bytes(static_cast<std::int64_t>(rate * 15.85e6)) * scale, .memory_bandwidth = 2.6e12};
  }
};

inline constexpr published_choice published_choices[] = {
    {74, 3.425, 12.9, 1, 0},  {64, 3.425, 31.1, 1, 0},   {56, 3.425, 89.7, 1, 0},  {48, 3.425, 148.3, 1, 0},
    {74, 27.40, 133.4, 1, 0}, {74, 6.850, 344.3, 2, 0},  {56, 6.850, 476.6, 2, 0}, {48, 3.425, 85.3, 1, 25},
    {64, 3.425, 21.1, 1, 25}, {74, 6.850, 217.9, 2, 25}, {48, 3.425, 35.8, 1, 50}, {64, 3.425, 19.0, 1, 50},
    {74, 6.850, 79.9, 2, 50}};

/// The choice for 32 layers; gradients of the weights of the layers after one lie beside its values.
inline shardweave::chosen_policies choose_for_32(const std::vector<shardweave::block_policy>& policies,
                                                 const shardweave::memory_rows& rows) {
  std::vector<shardweave::memory_block> blocks(32);
  for (std::size_t l = 0; l < blocks.size(); ++l)
    blocks[l] = {.policies = policies,
                 .beside = shardweave::mebibytes(104) * static_cast<std::int64_t>(31 - l),
                 .may_offload = l + 1 < blocks.size()};
  return shardweave::choose_policies(blocks, rows);
}

}  // namespace shardweave_test
