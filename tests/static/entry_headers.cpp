// The entry header alone is enough for a planner and a pipeline of one's own parts.
#include <shardweave/shardweave.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace sw = shardweave;

namespace {

// the sketch of a host program reads as it should
struct own_solver {
  static constexpr std::string_view name = "own";
  static constexpr sw::solver_abilities abilities{};
  template <sw::cost_value Cost>
  sw::solution<Cost> solve(const sw::placement_problem<Cost>&, const sw::solve_control&) const;
};
static_assert(sw::solver<own_solver, double> && sw::solver<sw::reduced<own_solver>, std::int64_t>);
struct own_lowering {};
static_assert(sizeof(sw::pipeline<own_solver, sw::two_steps<sw::no_bucketing, sw::in_order>, own_lowering>) > 0);

}  // namespace
