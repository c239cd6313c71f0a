// expect: The backend of lp_relaxation must have a member name and a const member solve
// expect: A backend must have a member name and a const member solve.linear_model, backend_limits.
// doors: 2
#include <shardweave/solve/backend/any_backend.hpp>
#include <shardweave/solve/lp_relaxation.hpp>
namespace sw = shardweave;
struct my_backend {
  static constexpr std::string_view name = "mine";
#ifndef SHARDWEAVE_REFUSED
  sw::backend_outcome solve(const sw::linear_model&, const sw::backend_limits&) const { return {}; }
#endif
};
using mine = sw::lp_relaxation<my_backend>;
mine made() { return mine(); }
sw::any_backend any() { return sw::any_backend(my_backend{}); }
