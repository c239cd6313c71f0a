// expect: The backend of ilp must take whole numbers
#include <shardweave/solve/ilp.hpp>
namespace sw = shardweave;
struct my_backend {
  static constexpr std::string_view name = "mine";
#ifdef SHARDWEAVE_REFUSED
  static constexpr bool whole_numbers = false;
#endif
  sw::backend_outcome solve(const sw::linear_model&, const sw::backend_limits&) const { return {}; }
};
using mine = sw::ilp<my_backend>;
mine made() { return mine(); }
