// expect: Costs are counted in a floating-point type or std::int64_t
#include <shardweave/placement/cost_table.hpp>

#ifdef SHARDWEAVE_REFUSED
using cost = int;
#else
using cost = double;
#endif

std::size_t classes(const shardweave::cost_table<cost>& table) { return table.row_classes(); }
