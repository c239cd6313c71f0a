// expect: a rule is called with .operation_view, extent.
#include <shardweave/spmd/rules.hpp>

namespace sw = shardweave;

struct my_rule {
#ifdef SHARDWEAVE_REFUSED
  // forgets to say where the argument lies
  sw::dim_placement operator()(const sw::operation_view&, std::int64_t) const { return {}; }
#else
  std::vector<sw::dim_strategy> operator()(const sw::operation_view&, std::int64_t) const {
    return {{{sw::dim_placement::replicate()}, {sw::dim_placement::replicate()}}};
  }
#endif
};

void teach(sw::rule_table& rules) { rules.add("my_operator", my_rule{}, {.moves_data_only = true}); }
