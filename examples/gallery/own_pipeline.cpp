// The whole way with a graph and prices of one's own: a cost model, a lowering, and the stages that the library has.
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/lowering/lowering_policy.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using vertex = sw::vertex_t<graph>;
using edge = sw::edge_t<graph>;

// [model]
/// Stages of a program on two machines. Strategy 0: half of the work on each; 1: all of it on both, so that nothing has
/// to be sent afterwards.
struct two_machines {
  using cost_type = double;
  const graph& stages;
  std::vector<double> work_us;
  double exchange_us = 30;  ///< of which 10 are for the start

  std::size_t strategy_count(vertex) const { return 2; }
  double vertex_cost(vertex v, sw::strategy s) const {
    if (s == 1) return work_us[v];
    return v + 1 == work_us.size() ? sw::forbidden<double> : work_us[v] / 2;
  }
  double edge_cost(edge, sw::strategy producer, sw::strategy consumer) const {
    return producer == 0 && consumer == 1 ? exchange_us : 0;
  }
};

/// A task per stage; before it an exchange for each argument that is there by halves and wanted whole.
struct exchange_lowering {
  static constexpr std::string_view name = "exchange";
  sw::bytes size = sw::mebibytes(1);

  sw::lowered_graph operator()(const two_machines& model, std::span<const sw::strategy> chosen) const {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .name = "both", .size = 2});
    b.add_table(
        {sw::collective::all_gather, 0, {sw::bytes(0), size * 8}, {time_of(10), time_of(model.exchange_us * 8 - 70)}});
    sw::lowered_graph made;
    std::vector<std::vector<sw::task_index>> arrived(num_vertices(model.stages));
    const auto add = [&](const sw::task_record& task, sw::task_origin origin) {
      made.origin.push_back(origin);
      return b.add_task(task);
    };
    for (std::uint32_t v = 0; v < num_vertices(model.stages); ++v) {  // edges run from lower numbers to higher ones
      const std::string stage = "stage " + std::to_string(v);
      const auto work = add({.name = stage,
                             .op = "work",
                             .kind = sw::task_kind::compute,
                             .duration = time_of(model.vertex_cost(v, chosen[v])),
                             .inputs = arrived[v]},
                            {.operation = v});
      made.task_of.push_back(work);
      for (auto [e, last] = out_edges(v, model.stages); e != last; ++e) {
        const auto to = static_cast<std::uint32_t>(target(*e, model.stages));
        const auto argument = static_cast<std::uint32_t>(arrived[to].size());
        if (model.edge_cost(*e, chosen[v], chosen[to]) == 0) {
          arrived[to].push_back(work);
          continue;
        }
        sw::task_record send{.name = stage + " to " + std::to_string(to),
                             .op = "exchange",
                             .kind = sw::task_kind::collective,
                             .duration = time_of(model.exchange_us),
                             .inputs = {work}};
        send.collective = {.op = sw::collective::all_gather, .group = 0, .bytes_in = size, .bytes_out = size * 2};
        const auto sent = add(send, {.operation = to, .argument = argument});
        arrived[to].push_back(add({.name = send.name + " done",
                                   .op = "wait",
                                   .kind = sw::task_kind::wait,
                                   .inputs = {sent},
                                   .completes = sent},
                                  {.operation = to, .argument = argument}));
      }
    }
    made.tasks = std::move(b).build();
    return made;
  }

 private:
  static sw::nanoseconds time_of(double us) { return sw::from_microseconds(us); }
};
// [model]

int main() {
  graph stages(5);  // 0 feeds 1, 2 and 3, all of which 4 brings together
  for (const vertex v : {1U, 2U, 3U}) {
    add_edge(0, v, stages);
    add_edge(v, 4, stages);
  }
  // [run]
  const two_machines model{stages, {100, 400, 50, 300, 10}};
  const sw::pipeline way(sw::elimination{}, sw::greedy{.fsdp_only = false}, sw::prefetch{}, exchange_lowering{});
  const sw::training_plan plan = way.run(stages, model);
  // [run]

  const sw::task_plan& tasks = plan.tasks.value();
  std::printf("%.0f us: %zu tasks in %s, no order ends before %s\n", plan.placement.objective,
              plan.lowered->tasks.size(), sw::time_text(tasks.after.end_to_end).c_str(),
              sw::time_text(tasks.makespan_bound).c_str());
  return plan.placement.status == sw::solve_status::optimal && tasks.after.end_to_end <= tasks.before.end_to_end ? 0
                                                                                                                 : 1;
}
