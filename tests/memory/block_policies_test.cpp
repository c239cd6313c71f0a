#include "support/scale.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/memory/block_policies.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace sw = shardweave;
using shardweave_test::refusal_of;

namespace block_policies_tests {
namespace {

using sw::bytes;
using sw::nanoseconds;
using sw::retention;

sw::recompute_block random_block(sw::random_source& random) {
  sw::recompute_block b{.name = "random"};
  const std::size_t n = 1 + random.below(5);
  for (std::uint32_t v = 0; v < n; ++v) {
    sw::block_value value{.name = "v" + std::to_string(v),
                          .size = bytes(static_cast<std::int64_t>(random.below(9))),
                          .time = nanoseconds(static_cast<std::int64_t>(random.below(9)))};
    for (std::uint32_t input = 0; input < v; ++input)
      if (random.below(2) == 0) value.inputs.push_back(input);
    value.may_drop = random.below(5) != 0;
    value.may_keep = !value.may_drop || random.below(4) != 0;
    value.may_offload = random.below(2) == 0;
    // some operations give two values
    if (v > 0 && b.values[v - 1].made_with.empty() && random.below(4) == 0) {
      value.inputs = b.values[v - 1].inputs;
      value.may_offload = b.values[v - 1].may_offload = false;
      value.may_drop = b.values[v - 1].may_drop = true;
      value.made_with = {v - 1};
      b.values[v - 1].made_with = {v};
    }
    b.values.push_back(value);
  }
  for (std::size_t s = 1 + random.below(4); s-- > 0;) {
    sw::backward_step step{.gradients = bytes(static_cast<std::int64_t>(random.below(9)))};
    for (std::uint32_t v = 0; v < n; ++v)
      if (random.below(3) == 0) step.reads.push_back(v);
    b.backward.push_back(step);
  }
  return b;
}

/// The contract once more, in another way: the list of everything that happens, and from it when each value is made and
/// used last; the memory of a moment is the sum over the values that are between the two.
sw::block_policy played(const sw::recompute_block& b, const std::vector<retention>& choice,
                        const sw::offload_rates& rates) {
  struct event {
    std::set<std::uint32_t> uses, makes;
    std::int64_t gradients = 0;
  };
  std::vector<event> events;
  std::set<std::uint32_t> there, untaken, needed;
  for (std::uint32_t v = 0; v < choice.size(); ++v)
    if (choice[v] != retention::recompute) there.insert(v);
  for (const auto& step : b.backward) needed.insert(step.reads.begin(), step.reads.end());
  for (std::size_t size = 0; size != needed.size();) {
    size = needed.size();
    for (const std::uint32_t v : std::set<std::uint32_t>(needed))
      if (choice[v] == retention::recompute) needed.insert(b.values[v].inputs.begin(), b.values[v].inputs.end());
  }
  const auto made_again = [&](std::uint32_t v) {
    std::set<std::uint32_t> all{v};
    for (const std::uint32_t other : b.values[v].made_with)
      if (choice[other] == retention::recompute && needed.contains(other)) all.insert(other);
    return all;
  };
  sw::block_policy result{.values = choice};
  for (const auto& step : b.backward) {
    // the last input first, and an operation once for all of its values
    const auto visit = [&](const auto& self, std::uint32_t v) -> void {
      const std::set<std::uint32_t> all = made_again(v);
      if (untaken.erase(v) > 0) events.push_back({all, {}, step.gradients.count()});
      if (there.contains(v)) return;
      there.insert(all.begin(), all.end());
      untaken.insert(all.begin(), all.end());
      untaken.erase(v);
      std::set<std::uint32_t> inputs;
      for (const std::uint32_t x : all) {
        result.time += b.values[x].time;
        inputs.insert(b.values[x].inputs.begin(), b.values[x].inputs.end());
      }
      for (auto input = b.values[v].inputs.rbegin(); input != b.values[v].inputs.rend(); ++input) self(self, *input);
      events.push_back({inputs, all, step.gradients.count()});
    };
    for (const std::uint32_t v : step.reads) visit(visit, v);
    events.push_back({{step.reads.begin(), step.reads.end()}, {}, step.gradients.count()});
  }
  std::int64_t most = events.empty() ? 0 : -1'000'000;
  for (std::size_t e = 0; e < events.size(); ++e) {
    std::int64_t live = events[e].gradients;
    for (std::uint32_t v = 0; v < choice.size(); ++v) {
      int made = choice[v] == retention::recompute ? 1'000'000 : -1, last = -1;
      for (std::size_t i = 0; i < events.size(); ++i) {
        if (events[i].makes.contains(v)) made = static_cast<int>(i);
        if (events[i].uses.contains(v)) last = static_cast<int>(i);
      }
      const int now = static_cast<int>(e);
      const bool is_live = made <= now && now <= std::max(last, choice[v] == retention::recompute ? made : -1);
      if (is_live) live += b.values[v].size.count();
      if (choice[v] == retention::keep) live -= b.values[v].size.count();
    }
    most = std::max(most, live);
  }
  result.transient = bytes(std::max<std::int64_t>(most, 0));
  for (std::uint32_t v = 0; v < choice.size(); ++v) {
    if (choice[v] == retention::keep) result.kept += b.values[v].size;
    if (choice[v] == retention::offload) result.offloaded += b.values[v].size;
  }
  if (rates.memory_bandwidth > 0)
    result.time += nanoseconds(
        static_cast<std::int64_t>(2e9 * static_cast<double>(result.offloaded.count()) / rates.memory_bandwidth));
  return result;
}

}  // namespace

TEST_SUITE("memory") {
  TEST_CASE("a policy costs what its events add up to, and no policy that matters is left out") {
    sw::random_source random(3);
    std::size_t dropped = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(2000); ++i) {
      CAPTURE(i);
      const auto block = random_block(random);
      const sw::offload_rates rates{.window = bytes(static_cast<std::int64_t>(random.below(12))),
                                    .memory_bandwidth = random.below(2) == 0 ? 0.0 : 2e9};
      const auto found = sw::block_policies(block, rates);
      std::vector<retention> choice(block.values.size(), retention::keep);
      std::size_t all = 0;
      const auto try_from = [&](const auto& self, std::size_t v) -> void {
        if (v < choice.size()) {
          for (const retention r : {retention::keep, retention::recompute, retention::offload}) {
            if ((r == retention::keep && !block.values[v].may_keep) ||
                (r == retention::recompute && !block.values[v].may_drop) ||
                (r == retention::offload && !block.values[v].may_offload))
              continue;
            choice[v] = r;
            self(self, v + 1);
          }
          return;
        }
        const auto expected = played(block, choice, rates);
        CHECK(sw::price_policy(block, choice, rates) == expected);
        if (expected.offloaded > rates.window) return;
        ++all;
        CHECK(std::any_of(found.begin(), found.end(), [&](const auto& p) {
          return p.time <= expected.time && p.kept <= expected.kept && p.transient <= expected.transient &&
                 p.offloaded <= expected.offloaded;
        }));
      };
      try_from(try_from, 0);
      dropped += all - found.size();
      bytes no_other;  // of what may be nothing but offloaded
      for (const sw::block_value& value : block.values)
        if (!value.may_keep && !value.may_drop) no_other += value.size;
      for (const auto& a : found) {
        CHECK(a.offloaded <= rates.window + no_other);
        CHECK(sw::price_policy(block, a.values, rates) == a);
        for (const auto& b : found)
          if (&a != &b)
            CHECK(!(a.time <= b.time && a.kept <= b.kept && a.transient <= b.transient && a.offloaded <= b.offloaded));
      }
    }
    CHECK(dropped > 0);
  }

  TEST_CASE("a block of too many choices is refused by name, and a stop ends it") {
    sw::recompute_block b{.name = "mlp", .values = {{.name = "x"}, {.name = "gate", .inputs = {0}}}};
    for (int i = 0; i < 20; ++i) b.values.push_back({.name = "more", .size = bytes(1)});
    CHECK(refusal_of([&] { static_cast<void>(sw::block_policies(b)); }) ==
          "block 'mlp' has 22 values with a choice, expected at most 20: part it, or fix some of "
          "them");
    b.values.resize(18);
    std::stop_source stop;
    stop.request_stop();
    CHECK(refusal_of([&] { static_cast<void>(sw::block_policies(b, {}, {.stop = stop.get_token()})); }) ==
          "block 'mlp': stopped among its policies");
  }
}

}  // namespace block_policies_tests
