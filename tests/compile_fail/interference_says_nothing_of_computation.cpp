// expect: An interference policy needs const members compute_slowdown.running_work. and
// expect: collective_slowdown.running_work, i. that return numbers
#include <shardweave/simulate/machine.hpp>
namespace sw = shardweave;
struct my_interference {
#ifndef SHARDWEAVE_REFUSED
  double compute_slowdown(const sw::running_work&) const { return 1; }
#endif
  double collective_slowdown(const sw::running_work&, std::size_t) const { return 1; }
};
sw::machine<my_interference> mine() { return {}; }
