// A host without exceptions, which supplies what Boost asks for: its own end for whatever the library refuses. With
// EACH it includes all, and runs a pipeline.
#ifdef EACH
#include <shardweave/cost.hpp>
#include <shardweave/lowering.hpp>
#include <shardweave/models.hpp>
#include <shardweave/shardweave.hpp>
#include <shardweave/spmd.hpp>
#else
#include <shardweave/planner.hpp>
#include <shardweave/solve/exhaustive.hpp>
#endif

#include <boost/assert/source_location.hpp>
#include <boost/graph/adjacency_list.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string_view>

#ifdef __cpp_exceptions
#error this is to be compiled without exceptions
#endif

namespace sw = shardweave;

namespace boost {
void throw_exception(const std::exception& refusal) {
  std::puts(refusal.what());
  std::exit(std::string_view(refusal.what()).starts_with("the cost of strategy 0 of vertex 0") ? 0 : 4);
}
void throw_exception(const std::exception& refusal, const source_location&) { throw_exception(refusal); }
}  // namespace boost

using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

struct my_costs {
  using cost_type = double;
  double least = 1;
  std::size_t strategy_count(sw::vertex_t<graph>) const { return 2; }
  double vertex_cost(sw::vertex_t<graph> v, sw::strategy s) const { return s == v % 2 ? least : 8; }
  double edge_cost(sw::edge_t<graph>, sw::strategy producer, sw::strategy consumer) const {
    return producer == consumer ? 0 : 2;
  }
};

#ifdef EACH
const auto some_solver = sw::reduced(sw::elimination{});
#else
const auto some_solver = sw::exhaustive{};  // which compiles in a third of the time
#endif

int main() {
  graph g(3);
  add_edge(0, 1, g);
  add_edge(1, 2, g);
  if (sw::planner(g, my_costs{}, some_solver).solve().objective != 7) return 1;

#ifdef EACH
  const sw::llama_config config{.name = "small",
                                .hidden_size = 256,
                                .num_hidden_layers = 1,
                                .num_attention_heads = 4,
                                .num_key_value_heads = 4,
                                .intermediate_size = 512,
                                .vocab_size = 1024};
  const auto device = sw::find_device("h100");
  const sw::spmd_cost_model model(sw::llama_training_graph(config, {.batch = 8, .sequence = 128}), sw::device_mesh({8}),
                                  sw::roofline{device}, sw::node_table<>(device));
  const sw::pipeline way(some_solver, sw::greedy{}, sw::prefetch{});
  const sw::training_plan plan = way.run(model, sw::training_constraints(model, {}), {.threads = 2});
  if (plan.placement.status != sw::solve_status::optimal || !plan.tasks) return 2;
#endif

  (void)sw::planner(g, my_costs{std::numeric_limits<double>::quiet_NaN()}, some_solver)
      .solve();  // refused: the end of this program
  return 3;
}
