#include "report/small_timeline.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/report/memory_parts.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;

namespace memory_parts_tests {
namespace {
using parts = std::map<std::string, std::int64_t>;

/// Those that hold something.
parts told(const std::array<sw::bytes, sw::memory_part_count>& held) {
  parts all;
  for (std::size_t p = 0; p < held.size(); ++p)
    if (held[p] != sw::bytes()) all[std::string(name_of(static_cast<sw::memory_part>(p)))] = held[p].count();
  return all;
}

/// The graph where only some storages take memory.
template <class Keeps>
sw::task_graph with_storages(const sw::task_graph& g, Keeps keeps) {
  sw::task_graph_builder b;
  b.device = g.device();
  for (const auto& group : g.groups()) b.add_group(group);
  for (const auto& table : g.tables()) b.add_table(table);
  for (std::uint32_t s = 0; s < g.storages().size(); ++s)
    b.add_storage(keeps(s) ? g.storages()[s].size : sw::bytes(), sw::storage_device::gpu);
  for (sw::task_index t = 0; t < g.size(); ++t) b.add_task(g.record(t));
  return std::move(b).build();
}
}  // namespace

TEST_SUITE("memory_parts") {
  TEST_CASE("a training step holds parameters, gathers, what it keeps, makes again and passes on, and gradients") {
    sw::task_graph_builder b;
    const auto made = [&](std::string name, sw::task_kind kind, sw::task_role role, sw::phase when, std::int64_t size,
                          std::vector<sw::task_index> inputs) {
      return b.add_task({.name = std::move(name),
                         .op = "op",
                         .kind = kind,
                         .inputs = std::move(inputs),
                         .outputs = {{sw::bytes(size), b.add_storage(sw::bytes(size)), "bf16", {}}},
                         .role = role,
                         .when = when});
    };
    using enum sw::task_role;
    using enum sw::phase;
    const auto compute = sw::task_kind::compute, input = sw::task_kind::input;
    const auto weight = made("primals_w", input, parameter, forward, 1, {});
    const auto state = made("primals_m", input, optimizer_state, forward, 2, {});
    const auto tokens = made("tokens", input, sw::task_role::data, forward, 4, {});
    const auto whole = made("whole", compute, parameter, forward, 8, {weight});
    const auto hidden = made("hidden", compute, activation, forward, 16, {whole, tokens});
    const auto dropped = made("dropped", compute, activation, forward, 32, {hidden});
    const auto loss = made("loss", compute, activation, forward, 64, {dropped});
    const auto remade = made("remade", compute, activation, backward, 128, {hidden});
    const auto back = made("back", compute, activation, backward, 256, {loss, remade});
    const auto gradient_of_w = made("grad", compute, gradient, backward, 512, {back, hidden});
    const auto out =
        b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = {gradient_of_w, state}});
    const sw::task_graph g = std::move(b).build();
    sw::schedule s;
    for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
    std::vector<char> again(g.size());
    again[remade] = 1;
    const sw::memory_by_part m = sw::memory_parts(g, s, again);
    CHECK(told(m.held[weight]) == parts{{"parameters", 1}, {"optimizer state", 2}, {"other inputs", 4}});
    CHECK(told(m.held[whole]) ==
          parts{{"parameters", 1}, {"optimizer state", 2}, {"other inputs", 4}, {"gathered weights", 8}});
    CHECK(told(m.held[dropped]) ==
          parts{{"parameters", 1}, {"optimizer state", 2}, {"kept for backward", 16}, {"passing values", 32}});
    CHECK(told(m.held[remade]) == parts{{"parameters", 1},
                                        {"optimizer state", 2},
                                        {"kept for backward", 16 + 64},  // the backward part reads the loss
                                        {"made again", 128}});
    CHECK(told(m.held[out]) == parts{{"parameters", 1}, {"optimizer state", 2}, {"parameter gradients", 512}});
    CHECK(m.on_host.empty());
    CHECK(told(sw::memory_parts(g, s).held[remade])["passing values"] == 128);  // who made it again is not told
  }

  TEST_CASE("packed buckets hold their buffers from the launch to the unpacking") {
    const small_timeline small = two_products();
    const sw::memory_by_part m = sw::memory_parts(small.graph, small.schedule);
    constexpr auto buffers = static_cast<std::size_t>(sw::memory_part::buffers);
    std::vector<std::int64_t> held;
    for (const auto& at : m.held) held.push_back(at[buffers].count());
    CHECK(held == std::vector<std::int64_t>{0, 0, 300, 300, 0, 0, 0, 0, 0, 0});  // 2 * (50 + 100)
  }

  TEST_CASE("each part is what the simulator holds of a graph with its storages alone, and all of it their sum") {
    std::size_t with_buffers = 0, with_host = 0;
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 30});
      sw::random_source random(seed);
      sw::schedule s;
      if (seed % 2 == 0) s.buckets = sw::greedy{}(g, {}).buckets;  // without them each part is compared by itself
      s.order = random_order(g, s.buckets, random);
      std::vector<char> again(g.size());
      for (char& x : again) x = random.chance(0.2) ? 1 : 0;
      const sw::memory_by_part m = sw::memory_parts(g, s, again);
      const sw::timeline line = sw::simulate(g, s, {.memory_samples = true});
      REQUIRE(m.held.size() == line.memory.size());
      std::vector<sw::bytes> open(m.held.size());  // buffers, by their definition
      for (const sw::bucket& b : s.buckets) {
        const auto at = [&](sw::task_index t) { return std::ranges::find(s.order, t) - s.order.begin(); };
        std::ptrdiff_t launch = 0, unpack = static_cast<std::ptrdiff_t>(s.order.size());
        for (const sw::task_index t : b.members) {
          launch = std::max(launch, at(t));
          for (sw::task_index w = 0; w < g.size(); ++w)
            if (g.completes(w) == t) unpack = std::min(unpack, at(w));
        }
        for (std::ptrdiff_t i = launch; i < unpack; ++i) open[static_cast<std::size_t>(i)] += b.bytes_in + b.bytes_out;
        ++with_buffers;
      }
      sw::schedule alone{.order = s.order};
      for (std::size_t i = 0; i < m.held.size(); ++i) {
        sw::bytes sum;
        for (const sw::bytes part : m.held[i]) sum += part;
        CHECK(sum == line.memory[i].live);
        CHECK(m.held[i][static_cast<std::size_t>(sw::memory_part::buffers)] == open[i]);
      }
      // storages of the host, as if they were of the accelerator: buckets make no difference to when they are freed
      const bool has_host = std::ranges::any_of(g.storages(), [](const sw::storage& x) {
        return x.device == sw::storage_device::cpu && x.size > sw::bytes();
      });
      CHECK(m.on_host.empty() == !has_host);
      if (!has_host || !s.buckets.empty()) continue;
      ++with_host;
      const auto there = sw::simulate(
          with_storages(g, [&](std::uint32_t x) { return g.storages()[x].device == sw::storage_device::cpu; }), alone,
          {.memory_samples = true});
      for (std::size_t i = 0; i < m.on_host.size(); ++i) CHECK(m.on_host[i] == there.memory[i].live);
      const auto here =
          sw::simulate(with_storages(g,
                                     [&](std::uint32_t x) {
                                       for (sw::task_index t = 0; t < g.size(); ++t)  // who lists it first
                                         for (std::size_t o = 0; o < g.output_count(t); ++o)
                                           if (g.output(t, o).storage == x)
                                             return again[t] != 0 && g.storages()[x].device == sw::storage_device::gpu;
                                       return false;
                                     }),
                       alone, {.memory_samples = true});
      for (std::size_t i = 0; i < m.held.size(); ++i)
        CHECK(m.held[i][static_cast<std::size_t>(sw::memory_part::replayed)] == here.memory[i].live);
    }
    CHECK(with_buffers > 0);
    CHECK(with_host > 0);
  }

  TEST_CASE("a stated baseline stays what it is") {
    sw::task_graph_builder b;
    b.memory_baseline = sw::bytes(1000);
    const auto x = b.add_task({.name = "x",
                               .op = "input",
                               .kind = sw::task_kind::input,
                               .outputs = {{sw::bytes(10), b.add_storage(sw::bytes(10)), "f32", {}}}});
    b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = {x}});
    const sw::task_graph g = std::move(b).build();
    const sw::memory_by_part m = sw::memory_parts(g, {.order = {0, 1}});
    CHECK(told(m.held[0]) == parts{{"other inputs", 10}, {"not told", 990}});
  }

  TEST_CASE("nothing holds nothing") { CHECK(sw::memory_parts(no_tasks().graph, {}).held.empty()); }
}
}  // namespace memory_parts_tests
