#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace step_work_tests {
namespace {

namespace sw = shardweave;

static_assert(sw::work_model<tiny_steps::model, sw::compressed_graph>);
static_assert(sw::sharing_work_model<tiny_steps::model, sw::compressed_graph>);
static_assert(!sw::classified_work_model<tiny_steps::model, sw::compressed_graph>);

/// Two vertices of two strategies each, and an edge between them.
sw::step_work one_work() {
  const std::vector<std::uint32_t> classes{0, 1};
  sw::step_work work{.times_of = {0, 0}, .times = {{1, 2}}, .shares = 1};
  work.tables.push_back(
      sw::work_table_builder(1, "the edge").table(classes, classes, [](std::uint32_t i, std::uint32_t j) {
        return sw::edge_work{{i == j ? 0.0 : 1.0}, 1};
      }));
  work.edges.push_back({.from = 0, .to = 1});
  return work;
}

/// Two vertices of two strategies and an edge between them.
struct faulty_model {
  std::size_t channels = 2;
  double time = 1;
  sw::edge_work work = {.loads = {0, 3}, .chain = 2};

  [[nodiscard]] std::size_t strategy_count(std::uint32_t) const { return 2; }
  [[nodiscard]] std::size_t channel_count() const { return channels; }
  [[nodiscard]] double vertex_time(std::uint32_t v, sw::strategy s) const { return v == 1 && s == 1 ? time : 4; }
  template <class E>
  [[nodiscard]] sw::edge_work edge_work(const E&, sw::strategy, sw::strategy) const {
    return work;
  }
};

/// Edges of two classes at their ends, whose work is told by number; all edges but the last have one key.
struct by_class {
  std::vector<std::uint32_t> classes{0, 1, 1};
  std::shared_ptr<const std::vector<std::uint32_t>> of_pair =
      std::make_shared<const std::vector<std::uint32_t>>(std::vector<std::uint32_t>{0, 1, 1, 0});

  [[nodiscard]] std::size_t strategy_count(std::uint32_t) const { return 3; }
  [[nodiscard]] std::size_t channel_count() const { return 1; }
  [[nodiscard]] double vertex_time(std::uint32_t, sw::strategy) const { return 0; }
  template <class E>
  [[nodiscard]] std::span<const std::uint32_t> producer_classes(const E&) const {
    return classes;
  }
  template <class E>
  [[nodiscard]] std::span<const std::uint32_t> consumer_classes(const E&) const {
    return classes;
  }
  template <class E>
  [[nodiscard]] sw::work_patterns edge_patterns(const E&) const {
    return {of_pair, 2, 2};
  }
  template <class E>
  [[nodiscard]] sw::edge_work pattern_work(const E& e, std::uint32_t p) const {
    return {.loads = {p == 0 ? 5.0 : 0.0}, .chain = e.index == 2 ? 9.0 : 0.0};
  }
  template <class E>
  [[nodiscard]] std::uint64_t edge_key(const E& e) const {
    return e.index == 2 ? 1 : 0;
  }
};

const sw::compressed_graph one_edge(2, std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}});

}  // namespace

TEST_SUITE("step work") {
  TEST_CASE("what is stored is what the model tells, of every vertex, pair, channel and way") {
    sw::random_source random(7);
    std::size_t several_ways = 0, shared = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(60); ++i) {
      const tiny_steps::model m = tiny_steps::random_model(random);
      const sw::step_work work = sw::describe_work(m.graph, m);
      REQUIRE(work.channels == m.channel_count());
      CHECK(work.machines() == work.channels);
      REQUIRE(work.vertex_count() == m.times.size());
      for (std::uint32_t v = 0; v < m.times.size(); ++v)
        for (sw::strategy s = 0; s < m.times[v].size(); ++s) CHECK(work.time(v, s) == m.vertex_time(v, s));
      const sw::step_work least = sw::least_of_ways(work);
      for (const auto& e : m.graph.all_edges()) {
        const sw::work_edge& told = work.edges[e.index];
        CHECK(told.from == e.source);
        CHECK(told.to == e.target);
        CHECK(told.share < work.shares);
        for (const auto& other : m.graph.all_edges()) {
          CHECK((work.edges[other.index].share == told.share) == (other.source == e.source));  // all want it alike
          shared += other.index != e.index && other.source == e.source ? 1U : 0U;
        }
        for (sw::strategy a = 0; a < m.times[e.source].size(); ++a)
          for (sw::strategy b = 0; b < m.times[e.target].size(); ++b) {
            const sw::edge_work expected = m.edge_work(e, a, b);
            CHECK(work.chain(told, a, b) == expected.chain);
            const bool has_two = !expected.otherwise.empty();
            several_ways += has_two ? 1U : 0U;
            std::vector<double> prices(work.channels);
            for (double& p : prices) p = static_cast<double>(random.below(4));
            double first = 0, second = 0;
            for (std::size_t c = 0; c < work.channels; ++c) {
              CHECK(work.load(told, c, a, b) == expected.loads[c]);
              const double other = has_two ? expected.otherwise[0][c] : expected.loads[c];
              if (work.tables[told.table].ways() > 1) CHECK(work.load(told, c, a, b, 1) == other);
              CHECK(least.load(least.edges[e.index], c, a, b) == std::min(expected.loads[c], other));
              first += prices[c] * expected.loads[c];
              second += prices[c] * other;
            }
            CHECK(work.cheapest_way(told, a, b, prices) == (second < first ? 1U : 0U));
          }
        CHECK(least.tables[told.table].ways() == 1);
      }
    }
    CHECK(several_ways > 0);
    CHECK(shared > 0);
  }

  TEST_CASE("work by class is read once per key, and holds for all pairs of the classes") {
    const sw::compressed_graph g(4, std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {1, 2}, {2, 3}});
    const sw::step_work work = sw::describe_work(g, by_class{});
    CHECK(work.tables.size() == 2);
    CHECK(work.edges[0].table == work.edges[1].table);
    CHECK(work.edges[2].table != work.edges[0].table);
    for (const sw::work_edge& e : work.edges)
      for (sw::strategy a = 0; a < 3; ++a)
        for (sw::strategy b = 0; b < 3; ++b) CHECK(work.load(e, 0, a, b) == ((a == 0) == (b == 0) ? 5 : 0));
    CHECK(work.chain(work.edges[0], 0, 0) == 0);
    CHECK(work.chain(work.edges[2], 0, 0) == 9);
    CHECK(work.shares == 3);        // without a word on sharing each is its own
    CHECK(work.times.size() == 1);  // equal lists are one
  }

  TEST_CASE("infinite work, of what is forbidden, counts as none; the last channels may have limits") {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    sw::step_work work = sw::describe_work(
        one_edge, faulty_model{.time = infinite, .work = {.loads = {infinite, 3}, .chain = infinite}});
    CHECK(work.time(1, 1) == 0);
    CHECK(work.time(1, 0) == 4);
    CHECK(work.load(work.edges[0], 0, 1, 1) == 0);
    CHECK(work.load(work.edges[0], 1, 1, 1) == 3);
    CHECK(work.chain(work.edges[0], 0, 0) == 0);
    work.limits = {100};
    CHECK(work.machines() == 1);
  }

  TEST_CASE("a model without a channel, and work below zero or of too few channels, are refused by name") {
    const auto expect = [](const faulty_model& m, const char* words) {
      CHECK_THROWS_WITH_AS(static_cast<void>(sw::describe_work(one_edge, m)), doctest::Contains(words), sw::error);
    };
    expect({.channels = 0}, "the work model has no channel, expected the compute stream at least");
    expect({.time = -1}, "vertex 1 takes -1");
    expect({.time = std::numeric_limits<double>::quiet_NaN()}, "vertex 1 takes");
    expect({.work = {.loads = {0, -3}}}, "edge 0 takes -3");
    expect({.work = {.loads = {0}}}, "edge 0");
  }

  TEST_CASE("work says what it names that is not there") {
    const sw::step_work work = one_work();
    CHECK(sw::detail::fault_of(work).empty());
    const auto fault = [&](auto change) {
      sw::step_work other = work;
      change(other);
      return sw::detail::fault_of(other);
    };
    const std::string other_graph = "work of edge 0 is not of the problem's vertices and strategies";
    CHECK(fault([](sw::step_work& w) { w.edges[0].from = 1000; }) == other_graph);
    CHECK(fault([](sw::step_work& w) { w.edges[0].to = 1000; }) == other_graph);
    CHECK(fault([](sw::step_work& w) { w.edges[0].since = 1000; }) == other_graph);
    CHECK(fault([](sw::step_work& w) { w.edges[0].table = 1000; }) == other_graph);
    CHECK(fault([](sw::step_work& w) { w.tables[0].row_class = {0}; }) == other_graph);
    CHECK(fault([](sw::step_work& w) { w.tables[0].column_class = {0, 0, 0}; }) == other_graph);
    CHECK(fault([](sw::step_work& w) { w.tables[0].loads.clear(); }) == other_graph);
    CHECK(fault([](sw::step_work& w) { w.tables[0].otherwise.resize(1); }) == other_graph);
    CHECK(fault([](sw::step_work& w) { w.times_of[1] = 7; }) == "work of vertex 1 is list 7 of times, but there are 1");
    CHECK(fault([](sw::step_work& w) { w.edges[0].share = 3; }) == "work of edge 0 has share 3 of 1");
    CHECK(fault([](sw::step_work& w) { w.limits = {1}; }) ==
          "work has 1 limits for 1 channels, one of which is the compute stream");
    CHECK(fault([](sw::step_work& w) { w.late = {{.edge = 1}}; }) ==
          "late work 0 names an edge or a vertex that is not there");
    CHECK(fault([](sw::step_work& w) { w.late = {{.edge = 0, .vertices = {2}}}; }) ==
          "late work 0 names an edge or a vertex that is not there");
  }
}

}  // namespace step_work_tests
