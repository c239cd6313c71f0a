// fwd.hpp first: what it declares must be what the rooms define.
#include <shardweave/fwd.hpp>

#include <type_traits>

namespace sw = shardweave;

namespace {

template <class T>
concept complete = requires { sizeof(T); };

// names suffice for pointers and signatures; asked once, before any definition is seen
struct host_state {
  const sw::placement_problem<double>* problem = nullptr;
  const sw::task_graph* tasks = nullptr;
  sw::solution<double> (*answer)(const sw::constraint_set&) = nullptr;
  sw::solve_status* status = nullptr;
};
static_assert(std::is_enum_v<sw::solve_status>);

}  // namespace

#include <shardweave/shardweave.hpp>

#include <concepts>
#include <string_view>

namespace {

// the names of before are the types of now
static_assert(std::same_as<decltype(host_state::tasks), const sw::task_graph*>);
static_assert(complete<sw::placement_problem<double>> && complete<sw::task_graph> && complete<sw::constraint_set>);
static_assert(std::same_as<std::underlying_type_t<sw::solve_status>, std::uint8_t>);
static_assert(std::invocable<decltype(host_state::answer), const sw::constraint_set&>);

// default template arguments are there once everything is
static_assert(std::same_as<sw::spmd_cost_model<>, sw::spmd_cost_model<sw::alpha_beta>>);
static_assert(std::same_as<sw::budgeted<>, sw::budgeted<sw::trws>>);

// the sketch of a host program reads as it should
struct own_solver {
  static constexpr std::string_view name = "own";
  static constexpr sw::solver_abilities abilities{};
  template <sw::cost_value Cost>
  sw::solution<Cost> solve(const sw::placement_problem<Cost>&, const sw::solve_control&) const;
};
static_assert(sw::solver<own_solver, double> && sw::solver<sw::reduced<own_solver>, std::int64_t>);
static_assert(complete<sw::pipeline<own_solver, sw::no_bucketing, sw::in_order>>);

}  // namespace
