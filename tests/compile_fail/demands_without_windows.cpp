// expect: Demands must be a sized range with random access to hideable<Time>
// doors: 3
#include <shardweave/overlap/prices.hpp>
#include <shardweave/overlap/savings.hpp>

#include <deque>
#include <span>
#include <vector>
namespace sw = shardweave;
#ifdef SHARDWEAVE_REFUSED
using demand = double;
#else
using demand = sw::hideable<double>;
#endif
auto saved(const std::vector<double>& computation, const std::vector<demand>& demands) {
  return sw::hide(computation, demands);
}
auto pieces(const std::deque<double>& computation, const std::vector<demand>& demands) {
  return sw::hide_in_pieces(computation, demands);
}
auto prices(std::span<const double> computation, const std::vector<demand>& demands) {
  return sw::best_prices(computation, demands);
}
