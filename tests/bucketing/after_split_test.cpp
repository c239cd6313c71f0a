#include <shardweave/bucketing/after_split.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace after_split_tests {
namespace {

using members = std::vector<std::vector<sw::task_index>>;

members of(const sw::bucketing_result& r) {
  members all;
  for (const auto& b : r.buckets) all.push_back(b.members);
  return all;
}
sw::greedy small() { return {.needs_gain = false}; }

/// Two layers of a joint graph. Each layer's forward ends in a scatter of activations, which the backward half uses
/// again; its backward gathers the weight once more and scatters its gradient.
struct joint_layers {
  overlap_tasks p;
  std::vector<sw::task_index> gathers, again, activations, gradients;
  joint_layers() {
    std::vector<sw::task_index> weights, values, results;
    for (int i = 0; i < 2; ++i) weights.push_back(p.input("primals"));
    const auto x = p.input("primals");
    for (int i = 0; i < 2; ++i) {
      const auto gathered = p.ag(weights[static_cast<std::size_t>(i)]);
      const auto scattered = p.rs(p.mm({x, gathered.wait}));
      gathers.push_back(gathered.start);
      activations.push_back(scattered.start);
      values.push_back(scattered.wait);
    }
    auto value = p.mm({values[0], values[1], p.input("tangents_1")});
    for (int i = 0; i < 2; ++i) {
      const auto gathered = p.ag(weights[static_cast<std::size_t>(i)]);
      const auto scattered = p.rs(p.mm({value, values[static_cast<std::size_t>(i)]}));
      again.push_back(gathered.start);
      gradients.push_back(scattered.start);
      results.push_back(scattered.wait);
      value = p.mm({value, gathered.wait});
    }
    results.push_back(p.mm({values[0], x}));  // the forward result
    p.output(results);
  }
  /// Gathers that come from weights alone are backward because they say so.
  sw::task_graph graph() {
    const sw::task_graph g = p.graph();
    std::vector<sw::task_tags> tags;
    for (sw::task_index t = 0; t < g.size(); ++t) {
      tags.push_back(g.tags(t));
      const sw::task_index launched = g.is_collective(t) ? t : g.completes(t);
      if (std::find(again.begin(), again.end(), launched) != again.end()) tags.back().when = sw::phase::backward;
    }
    return g.with_tags(tags);
  }
};

}  // namespace

TEST_SUITE("after_split") {
  TEST_CASE("buckets made after the split never join both phases, those before may") {
    joint_layers l;
    const sw::task_graph g = l.graph();
    CHECK(of(small()(g)) == members{{l.gathers[0], l.gathers[1], l.again[0], l.again[1]}, l.gradients});
    CHECK(of(sw::after_split<>{.policy = small()}(g)) == members{l.gathers, l.again, l.gradients});
    // those of before, used after
    const sw::split_graph s = sw::split_phases(sw::with_inferred_tags(g));
    const auto here = [](const sw::graph_half& half, const std::vector<sw::task_index>& joint) {
      std::vector<sw::task_index> all;
      for (const auto t : joint) all.push_back(half.task_of[t]);
      return all;
    };
    const auto joint = small()(g);
    CHECK(of(sw::buckets_of_half(s.forward, joint)) == members{here(s.forward, l.gathers)});
    CHECK(of(sw::buckets_of_half(s.backward, joint)) ==
          members{here(s.backward, l.again), here(s.backward, l.gradients)});
    const sw::bucketing_result torn{.buckets = {sw::make_bucket(g, {l.gathers[0], l.again[0]})}};
    for (const sw::graph_half* half : {&s.forward, &s.backward}) {
      const auto r = sw::buckets_of_half(*half, torn);
      CHECK(r.buckets.empty());
      REQUIRE(r.decisions.size() == 1);
      CHECK(r.decisions[0].reason == sw::decision_reason::alone);
      CHECK(half->joint[r.decisions[0].subject] == (half == &s.forward ? l.gathers[0] : l.again[0]));
    }
  }
  TEST_CASE("told by each half for itself, a scatter whose result is saved looks like one of gradients") {
    joint_layers l;
    const sw::task_graph g = l.graph();
    const auto before = sw::after_split<>{.policy = small()}(g);
    const auto after = sw::after_split<>{.policy = small(), .roles_before = false}(g);
    const auto holds = [](const sw::bucketing_result& r, const std::vector<sw::task_index>& some) {
      const members all = of(r);
      return std::find(all.begin(), all.end(), some) != all.end();
    };
    CHECK(holds(before, l.gradients));
    CHECK(holds(after, l.gradients));
    const auto refused = [&](const sw::bucketing_result& r, sw::task_index t) {
      return std::any_of(r.decisions.begin(), r.decisions.end(),
                         [&](const auto& d) { return d.subject == t && d.reason == sw::decision_reason::other_role; });
    };
    CHECK(refused(before, l.activations[0]));
    CHECK(refused(before, l.activations[1]));
    // the second is used by the backward half alone: the forward half only returns it
    CHECK_FALSE(refused(after, l.activations[1]));
  }
  TEST_CASE("buckets of random joint graphs keep the rules, and every collective is told of") {
    std::size_t buckets = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      const sw::task_graph plain = random_tasks(seed, {.blocks = 24, .groups = 1 + seed % 2, .communicates = 0.9});
      std::vector<sw::task_tags> tags;
      for (sw::task_index t = 0; t < plain.size(); ++t) {
        tags.push_back(plain.tags(t));
        bool late = t >= plain.size() / 2 && seed % 5 == 0;
        late = late || t == seed % 60;
        for (const auto& e : plain.dependencies().in(t)) late = late || tags[e.source].when == sw::phase::backward;
        tags.back().when = late ? sw::phase::backward : sw::phase::forward;
      }
      const sw::task_graph g = plain.with_tags(tags);
      const sw::greedy greedy{.cap = sw::bytes(40), .fsdp_only = false, .needs_gain = false};
      const sw::topological_span span{.cap = sw::bytes(40), .groups = sw::bucket_groups::all};
      const auto r = seed % 2 == 0 ? sw::after_split<>{.policy = greedy}(g)
                                   : sw::after_split<sw::topological_span>{.policy = span}(g);
      std::vector<bool> told(g.size());
      for (const auto& b : r.buckets)
        for (const auto t : b.members) {
          told[t] = true;
          REQUIRE(g.when(t) == g.when(b.members.front()));
        }
      for (const auto& d : r.decisions) told[d.subject] = true;
      for (sw::task_index t = 0; t < g.size(); ++t) REQUIRE(told[t] == g.is_collective(t));
      sw::random_source random(seed);
      sw::schedule s{.order = random_order(g, r.buckets, random), .buckets = r.buckets};
      REQUIRE(s.order.size() == g.size());  // empty if the buckets close a cycle
      CHECK_NOTHROW(sw::validate_schedule(g, s));
      buckets += r.buckets.size();
    }
    CHECK(buckets > shardweave_test::at_scale(100));
  }
}

}  // namespace after_split_tests
