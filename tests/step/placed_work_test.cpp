#include <shardweave/core/random.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/step/detail/claim_game.hpp>
#include <shardweave/step/detail/placed_work.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/step/work_table.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sw = shardweave;

namespace placed_work_tests {
namespace {

/// A path of vertices with two strategies each, whose edges have up to three ways of random whole loads.
sw::step_work random_work(sw::random_source& random) {
  const std::size_t channels = 1 + random.below(3), vertices = 2 + random.below(4);
  sw::step_work work{.channels = channels + 1, .limits = {static_cast<double>(random.below(20))}};
  for (std::uint32_t v = 0; v < vertices; ++v) {
    work.times.push_back({static_cast<double>(random.below(9)), static_cast<double>(random.below(9))});
    work.times_of.push_back(v);
  }
  const auto loads = [&] {
    std::vector<double> some(work.channels);
    for (double& load : some) load = static_cast<double>(random.below(5));
    return some;
  };
  for (std::uint32_t v = 0; v + 1 < vertices; ++v) {
    work.tables.push_back(sw::work_table_builder(work.channels, "an edge").table({{0, 1}}, {{0, 1}}, [&](auto, auto) {
      sw::edge_work edge{.loads = loads(), .chain = static_cast<double>(random.below(5))};
      for (std::size_t more = random.below(3); more > 0; --more) edge.otherwise.push_back(loads());
      return edge;
    }));
    work.edges.push_back({.from = v, .to = v + 1, .table = v, .share = v});
  }
  work.shares = work.edges.size();
  return work;
}
sw::assignment random_choice(sw::random_source& random, const sw::step_work& work) {
  sw::assignment choice;
  for (std::size_t v = 0; v < work.vertex_count(); ++v) choice.push_back(static_cast<sw::strategy>(random.below(2)));
  return choice;
}
/// Calls `tell` with the work of a placement, its edges in each combination of their ways.
template <class Tell>
void for_each_way(const sw::step_work& work, const sw::assignment& choice, const Tell& tell) {
  sw::taken_work taken = sw::work_of(work, choice);
  const auto from = [&](const auto& self, std::uint32_t e) -> void {
    if (e == work.edges.size()) return tell(taken);
    const sw::work_edge& edge = work.edges[e];
    for (std::size_t way = 0; way < work.tables[edge.table].ways(); ++way) {
      for (std::size_t c = 0; c < work.channels; ++c)
        taken.load[e * work.channels + c] = work.load(edge, c, choice[edge.from], choice[edge.to], way);
      self(self, e + 1);
    }
  };
  from(from, 0);
}
sw::work_prices random_prices(sw::random_source& random, const sw::step_work& work) {
  sw::work_prices prices{std::vector<double>(work.vertex_count(), 1.0),
                         std::vector<double>(work.edges.size() * work.channels),
                         std::vector<double>(work.edges.size())};
  for (double& price : prices.load) price = static_cast<double>(random.below(4));
  return prices;
}

}  // namespace

TEST_SUITE("the ways of a placement to do its work") {
  TEST_CASE("the cheapest one takes what it takes when all is looked up anew") {
    sw::random_source random(5);
    std::size_t others = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(1000); ++i) {
      const sw::step_work work = random_work(random);
      const sw::assignment choice = random_choice(random, work);
      const sw::detail::placed_work placed(work, choice);
      const sw::work_prices prices = random_prices(random, work);
      sw::taken_work taken = sw::work_of(work, choice);
      for (const sw::detail::other_way& way : placed.cheapest(prices)) {
        ++others;
        for (std::size_t c = 0; c < work.channels; ++c) taken.load[way.edge * work.channels + c] += placed.more(way)[c];
      }
      CHECK(taken.load == sw::work_of(work, choice, &prices).load);
    }
    CHECK(others > 0);
  }

  TEST_CASE("the game's value is that of all claims on all placements, each in all ways of its edges") {
    sw::random_source random(6);
    for (std::size_t i = 0; i < shardweave_test::at_scale(300); ++i) {
      const sw::step_work work = random_work(random);
      std::vector<sw::step_claim> claims{{.edges = {0}}};
      for (std::uint32_t c = 0; c < work.machines(); ++c) claims.push_back({.channel = c, .edges = {0}});
      claims.push_back({.channel = 0, .edges = {0}, .price = 2, .held = static_cast<std::uint32_t>(work.machines())});
      sw::detail::claim_game game(work, claims, 0);
      game.count(work);
      std::vector<std::vector<double>> gain(claims.size());
      for (std::size_t p = 0; p < 3; ++p) {
        const sw::assignment choice = random_choice(random, work);
        game.add_placement(p, choice, random_prices(random, work));
        for_each_way(work, choice, [&](const sw::taken_work& taken) {
          for (std::size_t r = 0; r < claims.size(); ++r) gain[r].push_back(sw::value_of(claims[r], work, taken));
        });
      }
      while (game.add_ways(game.value())) {
      }
      CAPTURE(i);
      CHECK(game.value().value == doctest::Approx(sw::detail::value_of_game(gain).value).epsilon(1e-9));
    }
  }
}

}  // namespace placed_work_tests
