// expect: The second policy of a pipeline must be a bucketing policy with a scheduler after it, or have a static
// expect: A pass must have a static member name and a const member plan.task_graph, solve_control.
// doors: 2
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/schedule/best_of.hpp>
#include <shardweave/solve/trws.hpp>
namespace sw = shardweave;
struct my_pass {
  static constexpr std::string_view name = "mine";
#ifdef SHARDWEAVE_REFUSED
  sw::schedule plan(const sw::task_graph&, const sw::solve_control&) { return {}; }
#else
  sw::schedule plan(const sw::task_graph&, const sw::solve_control&) const { return {}; }
#endif
};
auto way() { return sw::pipeline<sw::trws, my_pass>{}; }
auto best(const sw::task_graph& g) { return sw::best_of(sw::two_steps<sw::greedy, sw::prefetch>{}, my_pass{}).plan(g); }
