// What a transformer layer keeps for its backward part, makes again, or lends to the host's memory: all policies of one
// layer, then the quickest choice for 32 of them within the memory of a device.
#include <shardweave/memory/block_policies.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/choose_policies.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace {

sw::nanoseconds us(std::int64_t x) { return sw::nanoseconds(x * 1000); }

// LLaMA-3 8B, 16,384 tokens in bf16: sizes from shapes, times at 600 TFLOP/s (attention 400) and 2.6 TB/s.
// [block]
enum value : std::uint32_t {
  x,
  normed,
  query,
  key,
  content,
  attended,
  projected,
  middle,
  normed_again,
  gate,
  up,
  product
};

sw::recompute_block layer() {
  const auto mib = sw::mebibytes;
  sw::recompute_block b{.name = "layer"};
  b.values = {
      {.name = "x", .size = mib(128), .may_drop = false},  // what the layer is given
      {.name = "normed", .size = mib(128), .time = us(103), .inputs = {x}},
      {.name = "query", .size = mib(128), .time = us(1019), .inputs = {normed}, .may_offload = true},
      {.name = "key", .size = mib(32), .time = us(255), .inputs = {normed}, .may_offload = true},
      {.name = "content", .size = mib(32), .time = us(229), .inputs = {normed}, .may_offload = true},
      {.name = "attended", .size = mib(130), .time = us(2749), .inputs = {query, key, content}, .may_offload = true},
      {.name = "projected", .size = mib(128), .time = us(916), .inputs = {attended}},
      {.name = "middle", .size = mib(128), .time = us(155), .inputs = {x, projected}, .may_offload = true},
      {.name = "normed again", .size = mib(128), .time = us(103), .inputs = {middle}},
      {.name = "gate", .size = mib(448), .time = us(3207), .inputs = {normed_again}, .may_offload = true},
      {.name = "up", .size = mib(448), .time = us(3207), .inputs = {normed_again}, .may_offload = true},
      {.name = "product", .size = mib(448), .time = us(542), .inputs = {gate, up}},
  };
  b.backward = {
      {.reads = {product}, .gradients = mib(128)},
      {.reads = {gate, up}, .gradients = mib(128 + 3 * 448)},
      {.reads = {normed_again}, .gradients = mib(128 + 2 * 448)},
      {.reads = {middle}, .gradients = mib(3 * 128)},
      {.reads = {attended}, .gradients = mib(2 * 128)},
      {.reads = {query, key, content, attended}, .gradients = mib(448)},
      {.reads = {normed}, .gradients = mib(320)},
      {.reads = {x}, .gradients = mib(3 * 128)},
  };
  return b;
}
// [block]

/// What a policy makes again and offloads, by name.
std::string text_of(const sw::recompute_block& block, const sw::block_policy& policy) {
  std::string again, lent;
  for (std::size_t v = 0; v < block.values.size(); ++v) {
    if (v == projected) continue;  // nothing in the backward part wants it
    if (policy.values[v] == sw::retention::recompute) again += (again.empty() ? "" : ", ") + block.values[v].name;
    if (policy.values[v] == sw::retention::offload) lent += (lent.empty() ? "" : ", ") + block.values[v].name;
  }
  return (again.empty() ? "makes nothing again" : "makes again " + again) + (lent.empty() ? "" : "; lends " + lent);
}

double gib(sw::bytes size) { return static_cast<double>(size.count()) / (1 << 30); }
double ms(sw::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

/// The plan of 32 layers, where the device has so much for values and gradients. False if nothing fits.
bool print_plan(const sw::recompute_block& block, const sw::offload_rates& rates, sw::bytes memory) {
  // [choose]
  const std::vector<sw::block_policy> policies = sw::block_policies(block, rates);
  std::vector<sw::memory_block> layers(32, {.policies = policies});
  for (std::size_t l = 0; l < layers.size(); ++l)  // gradients of the weights of the layers after it
    layers[l].beside = sw::mebibytes(104) * static_cast<std::int64_t>(31 - l);
  layers.back().may_offload = false;  // its values come back at once
  const sw::chosen_policies plan = sw::choose_policies(layers, {.limit = memory, .after = sw::mebibytes(3507)});
  // [choose]
  if (plan.policy.empty()) {
    std::printf("%.0f GiB: at least %.2f GiB are needed\n", gib(memory), gib(plan.shortage->least));
    return false;
  }
  std::printf("%.0f GiB: %.1f ms more, %s; %.2f GiB kept, %.2f GiB lent to the host, %.2f GiB at the peak\n",
              gib(memory), ms(plan.time), plan.is_proven() ? "proven" : "not proven", gib(plan.kept),
              gib(plan.offloaded), gib(plan.peak));
  std::map<std::uint32_t, int> layers_with;
  for (const std::uint32_t p : plan.policy) ++layers_with[p];
  for (const auto& [p, count] : layers_with)
    std::printf("  %2d layers: %s\n", count, text_of(block, policies[p]).c_str());
  return true;
}

}  // namespace

int main() {
  const sw::recompute_block block = layer();
  // [price]
  std::vector<sw::retention> all(block.values.size(), sw::retention::recompute);
  all[x] = sw::retention::keep;
  const sw::block_policy full = sw::price_policy(block, all);
  // [price]
  std::printf("%zu policies of a layer; checkpointing it as a whole keeps %lld MiB and takes %.2f ms\n",
              sw::block_policies(block).size(), static_cast<long long>(full.kept.count() >> 20), ms(full.time));
  // copies to the host at 25 GB/s, while the forward part of a layer takes 15.85 ms
  const sw::offload_rates lent{.window = sw::bytes(396'250'000), .memory_bandwidth = 2.6e12};
  const bool fit = print_plan(block, {}, sw::gibibytes(56)) && print_plan(block, {}, sw::gibibytes(32)) &&
                   print_plan(block, lent, sw::gibibytes(32));
  return fit && !print_plan(block, {}, sw::gibibytes(6)) ? 0 : 1;
}
