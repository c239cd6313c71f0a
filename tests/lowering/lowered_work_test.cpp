#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/tasks/bucket_costs.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace lowered_work_tests {
namespace {

static_assert(sw::classified_work_model<sw::lowered_work, sw::compressed_graph>);
static_assert(sw::sharing_work_model<sw::lowered_work, sw::compressed_graph>);

/// A small training graph on a mesh, its work of both kinds, and placements of many characters.
struct planned {
  sw::spmd_cost_model model;
  sw::lowered_work prices;
  sw::step_work alone, least;
  std::vector<sw::assignment> placements;
  double bound = 0;

  explicit planned(std::vector<std::int64_t> shape)
      : model(sw::llama_training_graph({.hidden_size = 1024,
                                        .num_hidden_layers = 2,
                                        .num_attention_heads = 8,
                                        .num_key_value_heads = 4,
                                        .intermediate_size = 4096,
                                        .vocab_size = 32'000},
                                       {.batch = 16, .sequence = 4096}),
              sw::device_mesh(std::move(shape)), sw::roofline{sw::find_device("h100")},
              sw::alpha_beta(sw::find_device("h100"))),
        prices(model),
        alone(work_of_kind(prices.alone())),
        least(work_of_kind(prices.least())) {
    const auto problem = sw::compile(sw::describe(model.graph(), model, sw::training_constraints(model)));
    const auto found = sw::step_bound(problem, least, sw::auto_solver{}, {.rounds = 10});
    bound = found.bound;
    placements = found.placements;
    placements.push_back(sw::auto_solver{}.solve(problem).choice);
  }

 private:
  [[nodiscard]] sw::step_work work_of_kind(const sw::lowered_work& kind) const {
    return sw::describe_work(model.graph(), kind);
  }
};

/// Planned once for each mesh: that takes longer than the tests of it.
const planned& planned_on(const std::vector<std::int64_t>& shape) {
  static std::map<std::vector<std::int64_t>, planned> known;
  return known.try_emplace(shape, shape).first->second;
}

/// What the tasks of a graph take of each channel, the compute stream first.
std::vector<double> busy(const sw::task_graph& g) {
  std::vector<double> sum(1 + g.groups().size());
  for (sw::task_index t = 0; t < g.size(); ++t)
    sum[g.is_collective(t) ? 1 + g.collective(t).group : 0] += static_cast<double>(g.duration(t).count());
  return sum;
}

/// What the work of a placement is worth when a unit of each channel is worth so much, each edge done in the best way:
/// of each share the dearest counted alone.
double worth(const sw::step_work& work, const sw::assignment& choice, const std::vector<double>& prices) {
  double sum = 0;
  for (std::uint32_t v = 0; v < work.vertex_count(); ++v) sum += prices[0] * work.time(v, choice[v]);
  std::map<std::uint32_t, double> of_share;
  for (const sw::work_edge& e : work.edges) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t way = 0; way < work.tables[e.table].ways(); ++way) {
      double cost = 0;
      for (std::size_t c = 0; c < work.channels; ++c)
        cost += prices[c] * work.load(e, c, choice[e.from], choice[e.to], way);
      least = std::min(least, cost);
    }
    double& largest = of_share[e.share];
    largest = std::max(largest, least);
  }
  for (const auto& [share, cost] : of_share) sum += cost;
  return sum;
}

/// The loads of each channel, in the ways that take least of it: of each share the largest alone, or all.
std::pair<std::vector<double>, std::vector<double>> loads(const sw::step_work& work, const sw::assignment& choice) {
  sw::taken_work taken = sw::work_of(work, choice);
  std::vector<double> most(work.channels), all(work.channels);
  for (const double t : taken.time) {
    most[0] += t;
    all[0] += t;
  }
  for (std::size_t c = 0; c < work.channels; ++c) {
    sw::work_prices only{std::vector<double>(taken.time.size()), std::vector<double>(taken.load.size()), {}};
    for (std::size_t e = 0; e < work.edges.size(); ++e) only.load[e * work.channels + c] = 1;
    taken = sw::work_of(work, choice, &only);
    std::map<std::uint32_t, double> of_share;
    for (std::size_t e = 0; e < work.edges.size(); ++e) {
      const double load = taken.load[e * work.channels + c];
      all[c] += load;
      double& largest = of_share[work.edges[e].share];
      largest = std::max(largest, load);
    }
    for (const auto& [share, load] : of_share) most[c] += load;
  }
  return {most, all};
}

}  // namespace

TEST_SUITE("lowered work") {
  TEST_CASE("what a placement is told to take is what its tasks take, channel by channel, to the nanosecond") {
    for (const std::vector<std::int64_t>& shape :
         shardweave_test::some_of<std::vector<std::int64_t>>({{2, 4}, {8, 8}, {2, 2, 2}})) {
      const planned& p = planned_on(shape);
      std::size_t shared = 0, alike = 0;
      for (const sw::assignment& choice : p.placements) {
        const std::vector<double> tasks = busy(sw::lower(p.model, choice).tasks);
        const auto [most, all] = loads(p.alone, choice);
        for (std::size_t c = 0; c < tasks.size(); ++c) {
          CAPTURE(c);
          CHECK(most[c] <= tasks[c]);
          CHECK(tasks[c] <= all[c]);
          if (most[c] == all[c]) CHECK(tasks[c] == all[c]);
          alike += most[c] == all[c] ? 1U : 0U;
          shared += most[c] < all[c] ? 1U : 0U;
        }
      }
      CHECK(shared > 0);
      CHECK(alike > 0);
    }
  }

  TEST_CASE("the parts of an edge add up to what the placement pays for it, copies and all channels together") {
    const planned& p = planned_on({2, 4});
    for (std::size_t i = 0; i < p.model.graph().all_edges().size(); ++i) {
      const auto& e = p.model.graph().all_edges()[i];
      for (const sw::assignment& choice : p.placements) {
        const double paid = p.model.edge_parts(e, choice[e.source], choice[e.target]).communication * 1e3;
        const sw::work_edge& w = p.alone.edges[i];
        double sum = 0;
        for (std::size_t c = 0; c < p.alone.channels; ++c) sum += p.alone.load(w, c, choice[w.from], choice[w.to]);
        CHECK(std::abs(sum - paid) < 4);  // every task is rounded
        CHECK(p.alone.chain(w, choice[w.from], choice[w.to]) == sum);
      }
    }
  }

  TEST_CASE(
      "no buckets of any size take less of a channel than what merging leaves, and no plan ends before the bound") {
    for (const std::vector<std::int64_t>& shape :
         shardweave_test::some_of<std::vector<std::int64_t>>({{2, 4}, {8, 8}, {2, 2, 2}})) {
      const planned& p = planned_on(shape);
      double nearest = 0;
      std::size_t weighed = 0;
      for (const sw::assignment& choice : p.placements) {
        const sw::task_graph g = sw::lower(p.model, choice).tasks;
        const auto [most, all] = loads(p.least, choice);
        for (const sw::bytes cap : {sw::kibibytes(16), sw::mebibytes(1), sw::mebibytes(64), sw::gibibytes(4)}) {
          sw::greedy merge;
          merge.cap = cap;
          const sw::bucketing_result buckets = sw::bucket_collectives(g, merge);
          std::vector<double> tasks = busy(g);
          for (const sw::bucket& b : buckets.buckets) {
            for (const sw::task_index t : b.members) tasks[1 + b.channel] -= static_cast<double>(g.duration(t).count());
            const sw::bucket_costs costs = sw::costs_of(g, b);
            tasks[1 + b.channel] += static_cast<double>(costs.duration.count());
            tasks[0] += static_cast<double>((costs.pack + costs.unpack).count());
          }
          // merging takes more of the compute stream, so both together take more than each at its least
          CHECK(most[0] <= tasks[0]);
          for (const double share : {0.3, 0.7})
            for (std::size_t c = 1; c < tasks.size(); ++c) {
              std::vector<double> prices(tasks.size());
              prices[0] = share;
              prices[c] = 1 - share;
              const double told = worth(p.least, choice, prices);
              CHECK(told <= (share * tasks[0] + (1 - share) * tasks[c]) * (1 + 1e-12));
              weighed += told > (share * most[0] + (1 - share) * most[c]) * (1 + 1e-6) ? 1U : 0U;
            }
          for (std::size_t c = 1; c < tasks.size(); ++c) {
            CHECK(most[c] <= tasks[c]);
            if (tasks[c] > 0) nearest = std::max(nearest, most[c] / tasks[c]);
          }
          const auto line = sw::simulate(g, sw::schedule_tasks(g, buckets, sw::prefetch{}));
          CHECK(p.bound <= static_cast<double>(line.end_to_end.count()));
        }
      }
      CHECK(nearest > 0.5);
      CHECK(weighed > 0);
      CHECK(p.bound > 0);
    }
  }
}

}  // namespace lowered_work_tests
