#include <shardweave/lowering/batch_parts_lowering.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/whole_step.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/tasks/task.hpp>

#include <doctest/doctest.h>
#include <support/two_layers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace batch_parts_lowering_tests {

namespace sw = shardweave;

static_assert(sw::classified_work_model<sw::batch_parts_work, sw::compressed_graph>);
static_assert(sw::sharing_work_model<sw::batch_parts_work, sw::compressed_graph>);

using planned = shardweave_test::two_layers;

/// Bytes that collectives take in, by what they move and along which dimension.
std::map<std::string, std::int64_t> moved(const sw::task_graph& g) {
  std::map<std::string, std::int64_t> sum;
  for (sw::task_index t = 0; t < g.size(); ++t)
    if (g.is_collective(t))
      sum[std::string(g.op(t)) + " " + g.groups()[g.collective(t).group].name + " " +
          std::string(sw::to_string(g.role(t)))] += g.collective(t).bytes_in.count();
  return sum;
}

sw::nanoseconds step_of(const sw::task_graph& g) { return sw::simulate(g, sw::prefetch{}(g, {})).end_to_end; }

TEST_SUITE("batch parts lowering") {
  TEST_CASE("parameters are gathered and gradients reduced once, activations move as those of the whole batch") {
    const planned whole(8), half(4);
    const sw::lowered_graph of_whole = sw::lower(whole.model, whole.choice);
    const sw::lowered_graph in_parts = sw::batch_parts_lowering{}(half.model, half.choice);
    CHECK(moved(of_whole.tasks) == moved(in_parts.tasks));
    REQUIRE(in_parts.origin.size() == in_parts.tasks.size());

    // a sum for each gradient, and nothing else of the parts is added up
    std::size_t sums = 0;
    for (sw::task_index t = 0; t < in_parts.tasks.size(); ++t) sums += in_parts.tasks.op(t) == "accumulate" ? 1U : 0U;
    CHECK(sums == half.model.operations().gradient_of.size());
    for (sw::task_index t = 0; t < in_parts.tasks.size(); ++t) {  // takes as long as reading its inputs and writing
      if (in_parts.tasks.op(t) != "accumulate") continue;
      REQUIRE(in_parts.tasks.inputs(t).size() == 2);
      sw::bytes moves = in_parts.tasks.output(t, 0).size;
      for (const sw::task_index p : in_parts.tasks.inputs(t)) moves += in_parts.tasks.output(p, 0).size;
      CHECK(in_parts.tasks.duration(t) == sw::from_microseconds(half.model.compute().memory_time(moves)));
    }
    for (const auto& [parameter, gradient] : half.model.operations().gradient_of) {
      const sw::task_index now = in_parts.task_of[gradient], was = of_whole.task_of[gradient];
      CHECK(in_parts.tasks.output(now, 0).size == of_whole.tasks.output(was, 0).size);
    }
    // so the optimizer follows it as it follows the whole batch
    const auto with = [](const sw::lowered_graph& g, const planned& p) {
      return sw::with_optimizer(g, p.model, p.choice).work.update;
    };
    CHECK(with(in_parts, half) == with(of_whole, whole));
  }

  TEST_CASE("the step gets shorter where a collective hides behind the other part, not where kernels get too small") {
    const auto gain = [](std::int64_t batch, unsigned parts) {
      const planned whole(batch), part(batch / parts);
      const sw::batch_parts_lowering in_parts{.parts = parts, .part = {}};
      return static_cast<double>(step_of(sw::lower(whole.model, whole.choice).tasks).count()) /
             static_cast<double>(step_of(in_parts(part.model, part.choice).tasks).count());
    };
    CHECK(gain(8, 2) > 1.02);
    CHECK(gain(16, 8) < gain(16, 2));
  }

  TEST_CASE("what a placement is told to take is what its tasks take but for sums, channel by channel") {
    std::size_t alike = 0;
    for (const unsigned parts : {2U, 3U}) {
      const planned part(4);
      const sw::batch_parts_lowering way{.parts = parts, .part = {}};
      const sw::task_graph tasks = way(part.model, part.choice).tasks;
      const auto prices = way.work(part.model);
      const sw::step_work alone = sw::describe_work(part.model.graph(), prices.alone()),
                          least = sw::describe_work(part.model.graph(), prices.least());
      std::vector<double> busy(alone.channels), most(alone.channels), all(alone.channels), fewest(alone.channels);
      for (sw::task_index t = 0; t < tasks.size(); ++t)
        if (tasks.op(t) != "accumulate")
          busy[tasks.is_collective(t) ? 1 + tasks.collective(t).group : 0] +=
              static_cast<double>(tasks.duration(t).count());
      const sw::taken_work taken = sw::work_of(alone, part.choice);
      sw::taken_work told = sw::work_of(least, part.choice);
      for (std::size_t v = 0; v < taken.time.size(); ++v) {
        most[0] += taken.time[v];
        all[0] += taken.time[v];
        fewest[0] += told.time[v];
      }
      for (std::size_t c = 0; c < alone.channels; ++c) {
        sw::work_prices only{std::vector<double>(told.time.size()), std::vector<double>(told.load.size()), {}};
        for (std::size_t e = 0; e < least.edges.size(); ++e) only.load[e * least.channels + c] = 1;
        told = sw::work_of(least, part.choice, &only);  // in the ways that take least of this channel
        std::map<std::uint32_t, double> of_share, least_of_share;
        for (std::size_t e = 0; e < alone.edges.size(); ++e) {
          const double load = taken.load[e * alone.channels + c];
          all[c] += load;
          double& largest = of_share[alone.edges[e].share];
          largest = std::max(largest, load);
          double& shared = least_of_share[alone.edges[e].share];
          shared = std::max(shared, told.load[e * alone.channels + c]);
        }
        for (const auto& [share, load] : of_share) most[c] += load;
        for (const auto& [share, load] : least_of_share) fewest[c] += load;
        CAPTURE(c);
        CHECK(most[c] <= busy[c]);
        CHECK(busy[c] <= all[c]);
        CHECK(fewest[c] < busy[c]);
        CHECK(most[c] > 0.9 * busy[c]);
        if (most[c] == all[c]) CHECK(busy[c] == all[c]);
        alike += most[c] == all[c] ? 1U : 0U;
      }
    }
    CHECK(alike > 0);
  }
}

}  // namespace batch_parts_lowering_tests
