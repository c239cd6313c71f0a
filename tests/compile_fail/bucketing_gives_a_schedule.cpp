// expect: A bucketing policy must have a static member name and a const call .task_graph, solve_control. that
// doors: 2
#include <shardweave/bucketing/after_split.hpp>
#include <shardweave/bucketing/bucketing_policy.hpp>
namespace sw = shardweave;

template <int>
struct my_buckets {
  static constexpr std::string_view name = "mine";
#ifdef SHARDWEAVE_REFUSED
  sw::schedule operator()(const sw::task_graph&, const sw::solve_control&) const { return {}; }
#else
  sw::bucketing_result operator()(const sw::task_graph&, const sw::solve_control&) const { return {}; }
#endif
};
sw::bucketing_result merge(const sw::task_graph& g) { return sw::bucket_collectives(g, my_buckets<0>{}); }
sw::bucketing_result merge_halves(const sw::task_graph& g) { return sw::after_split<my_buckets<1>>{}(g); }
