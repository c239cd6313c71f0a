// expect: An engine that is one rank of several must have rank.., size.. and largest.numbers.
#include <shardweave/engine/rank_agreement.hpp>
#include <shardweave/engine/virtual_engine.hpp>
namespace sw = shardweave;
struct my_engine : sw::virtual_engine {
#ifndef SHARDWEAVE_REFUSED
  std::int64_t rank() const { return 0; }
  std::int64_t size() const { return 1; }
  void largest(std::span<double>) {}
#endif
};
void check(const sw::task_graph& g, const sw::schedule& s, my_engine& engine) { sw::check_agreement(g, s, engine); }
