#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/lowering/fused_kernels.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace fused_kernels_tests {
namespace {

using sw::no_index;
using sw::task_index;
using sw::task_kind;

/// One byte in a microsecond, nothing is shorter than that.
sw::compute_profile slow() {
  sw::device_profile device;
  device.name = "slow";
  device.memory_bandwidth = 1e6;
  sw::compute_profile compute(device);
  compute.memory = {1, 0, 1};
  compute.launch_us = 0;
  return compute;
}

struct written {
  sw::task_graph_builder b;
  task_index add(const std::string& name, task_kind kind, std::vector<task_index> inputs, std::int64_t gives,
                 const std::string& op = "add", sw::phase when = sw::phase::forward) {
    sw::task_record r{.name = name, .op = op, .kind = kind, .inputs = std::move(inputs), .when = when};
    if (kind == task_kind::other || kind == task_kind::compute) r.duration = sw::nanoseconds(1000);
    if (kind == task_kind::view) {
      r.outputs = {{.size = sw::bytes(gives), .storage = of.at(r.inputs.front())}};
    } else if (kind != task_kind::output) {
      r.outputs = {{.size = sw::bytes(gives), .storage = b.add_storage(sw::bytes(gives))}};
    }
    of.push_back(r.outputs.empty() ? no_index : r.outputs.front().storage);
    return b.add_task(r);
  }
  std::vector<std::uint32_t> of;
};

std::int64_t us(const sw::task_graph& g, task_index t) { return g.duration(t).count() / 1000; }

TEST_SUITE("fused_kernels") {
  TEST_CASE("a chain is one kernel: what stays inside is neither moved nor held") {
    written w;
    const auto x = w.add("x", task_kind::input, {}, 100);
    const auto a = w.add("a", task_kind::other, {x}, 200);
    const auto b = w.add("b", task_kind::other, {a}, 200);
    const auto v = w.add("v", task_kind::view, {b}, 200, "view");
    const auto c = w.add("c", task_kind::other, {v, x}, 50);
    const auto m = w.add("m", task_kind::compute, {c}, 10, "einsum");
    const auto d = w.add("d", task_kind::other, {m, c}, 10);
    w.add("out", task_kind::output, {d}, 0, "output");
    const sw::task_graph g = sw::with_fused_kernels(std::move(w.b).build(), slow());
    CHECK(us(g, a) == 0);
    CHECK(us(g, b) == 0);
    CHECK(us(g, c) == 100 + 50);  // x once, c
    CHECK(us(g, m) == 1);
    CHECK(us(g, d) == 1);  // alone, as it was: the product lies between it and c
    CHECK(g.output_storage(a, 0) == no_index);
    CHECK(g.output_storage(v, 0) == no_index);
    CHECK(g.output_storage(c, 0) != no_index);
    CHECK(sw::simulate(g).peak.count() == 100 + 50);  // x and c
  }

  TEST_CASE("what is read outside is written, by whoever makes it") {
    written w;
    const auto x = w.add("x", task_kind::input, {}, 100);
    const auto a = w.add("a", task_kind::other, {x}, 30);
    const auto b = w.add("b", task_kind::other, {a}, 7);
    const auto late = w.add("late", task_kind::other, {a, b}, 5, "mul", sw::phase::backward);
    w.add("out", task_kind::output, {late}, 0, "output");
    const sw::task_graph g = sw::with_fused_kernels(std::move(w.b).build(), slow());
    CHECK(us(g, a) == 0);
    CHECK(us(g, b) == 100 + 30 + 7);
    CHECK(g.output_storage(a, 0) != no_index);
    CHECK(us(g, late) == 1);  // another phase
  }

  TEST_CASE("lookups and copies stay alone, and so do modules") {
    written w;
    const auto x = w.add("x", task_kind::input, {}, 100);
    const auto e = w.add("e", task_kind::other, {x}, 100, "embedding");
    const auto a = w.add("a", task_kind::other, {e}, 20);
    const auto b = w.add("b", task_kind::other, {a}, 20);
    const auto c = w.add("c", task_kind::other, {b}, 20);
    const auto p = w.add("p", task_kind::other, {c}, 20, "copy");
    w.add("out", task_kind::output, {p}, 0, "output");
    const sw::task_graph given = std::move(w.b).build();
    const sw::task_graph all = sw::with_fused_kernels(given, slow());
    CHECK(us(all, e) == 1);
    CHECK(us(all, c) == 100 + 20);
    CHECK(us(all, p) == 1);
    const std::vector<std::uint32_t> modules{no_index, no_index, 1, 1, no_index, no_index, no_index};
    const sw::task_graph some = sw::with_fused_kernels(given, slow(), modules);
    CHECK(us(some, b) == 100 + 20);
    CHECK(us(some, a) == 0);
    CHECK(us(some, c) == 1);
  }

  TEST_CASE("on random graphs kernels are what a second definition says, and none waits for itself") {
    sw::random_source random(5);
    std::size_t large = 0;
    for (int round = 0; round < 300; ++round) {
      written w;
      std::vector<task_index> made{w.add("x", task_kind::input, {}, 10)};
      for (int i = 0; i < 25; ++i) {
        std::vector<task_index> inputs;
        for (std::uint64_t k = 1 + random.below(2); k > 0; --k) inputs.push_back(made[random.below(made.size())]);
        made.push_back(w.add("t" + std::to_string(i), random.below(4) == 0 ? task_kind::compute : task_kind::other,
                             inputs, 1 + static_cast<std::int64_t>(random.below(20))));
      }
      const sw::task_graph given = std::move(w.b).build();
      const sw::task_graph g = sw::with_fused_kernels(given, slow());
      const auto fuses = [&](task_index t) { return given.kind(t) == task_kind::other; };
      // how many computations a way to the task has at most, by walking all of them
      std::vector<int> deep(g.size());
      for (task_index t = 0; t < g.size(); ++t)
        for (const task_index p : g.inputs(t))
          deep[t] = std::max(deep[t], deep[p] + (given.kind(p) == task_kind::compute ? 1 : 0));
      std::vector<task_index> kernel(g.size());
      for (task_index t = 0; t < g.size(); ++t) kernel[t] = t;
      for (bool changes = true; changes;) {
        changes = false;
        for (task_index t = 0; t < g.size(); ++t)
          for (const task_index p : g.inputs(t)) {
            if (!fuses(t) || !fuses(p) || deep[t] != deep[p] || kernel[t] == kernel[p]) continue;
            kernel[t] = kernel[p] = std::min(kernel[t], kernel[p]);
            changes = true;
          }
      }
      std::vector<std::set<task_index>> after(g.size());
      for (task_index t = 0; t < g.size(); ++t)
        for (const task_index p : g.inputs(t))
          if (kernel[p] != kernel[t]) after[kernel[p]].insert(kernel[t]);
      bool cycle = false;
      std::vector<int> state(g.size());
      const auto visit = [&](const auto& self, task_index t) -> void {
        state[t] = 1;
        for (const task_index next : after[t]) {
          cycle = cycle || state[next] == 1;
          if (state[next] == 0) self(self, next);
        }
        state[t] = 2;
      };
      for (task_index t = 0; t < g.size(); ++t)
        if (kernel[t] == t && state[t] == 0) visit(visit, t);
      CHECK_FALSE(cycle);
      for (task_index k = 0; k < g.size(); ++k) {
        std::set<task_index> members, moves;
        for (task_index t = 0; t < g.size(); ++t)
          if (fuses(t) && kernel[t] == k) members.insert(t);
        if (members.size() < 2) continue;
        large += members.size() > 2 ? 1U : 0U;
        std::int64_t time = 0, moved = 0;
        for (const task_index t : members) {
          time += us(g, t);
          for (const task_index p : g.inputs(t))
            if (!members.contains(p)) moves.insert(p);
          bool leaves = true, is_read = false;
          for (task_index u = 0; u < g.size(); ++u)
            for (const task_index p : g.inputs(u))
              if (p == t) {
                leaves = is_read ? leaves || !members.contains(u) : !members.contains(u);
                is_read = true;
              }
          if (leaves) moves.insert(t);
          CHECK((g.output_storage(t, 0) != no_index) == leaves);
        }
        for (const task_index t : moves) moved += given.output(t, 0).size.count();
        CHECK(time == moved);
      }
    }
    CHECK(large > 100);
  }
}

}  // namespace
}  // namespace fused_kernels_tests
