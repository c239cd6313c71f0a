// expect: a backward rule is called with .backward_pass
#include <shardweave/models/backward_pass.hpp>

namespace sw = shardweave;

struct my_rule {
#ifdef SHARDWEAVE_REFUSED
  // cannot know what to differentiate
  void operator()() const {}
#else
  void operator()(sw::backward_pass& p) const { p.give(p.input(0), p.gradient()); }
#endif
};

void teach(sw::backward_rules& rules) { rules.add("my_operator", my_rule{}); }
