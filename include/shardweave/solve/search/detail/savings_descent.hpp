#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>
#include <shardweave/solve/search/detail/descent.hpp>
#include <shardweave/solve/search/detail/forest_block.hpp>
#include <shardweave/solve/search/detail/savings_state.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Local search with savings.

namespace shardweave::inline v0::detail {

/// Changes one label at a time while that lowers costs less savings and breaks no row. Each sweep uses the prices of
/// the current labeling's least cut: priced costs bound costs less savings from below and are equal for this labeling,
/// so only moves that lower them can improve; these are evaluated exactly (`savings_state`).
/// \returns whether anything improved
template <cost_value Cost>
bool savings_descent(const compact_problem<Cost>& p, const savings_terms<Cost>& terms, std::vector<strategy>& labels,
                     const deadline& limit, std::size_t most_sweeps = 4) {
  if (is_forbidden(p.cost(labels))) return false;
  savings_state<Cost> exact(p, terms, labels);
  const Cost before = exact.objective();
  priced_problem<Cost> priced(p, terms);
  chain_prices<Cost> chain(terms);
  for (std::size_t sweep = 0; sweep < most_sweeps && !limit.expired(); ++sweep) {
    chain.values() = exact.prices();
    chain.update();
    const compact_problem<double> costs = priced.with_prices(chain);
    labeling_state<double> state(costs, {exact.labels().begin(), exact.labels().end()});
    forest_block<double> block(costs);
    if (!descent<double>(state, block, limit, &exact).coordinate_sweep()) break;
    exact.refresh();
  }
  if (!(exact.objective() < before)) return false;
  labels.assign(exact.labels().begin(), exact.labels().end());
  return true;
}

#ifdef SHARDWEAVE_COMPILED
extern template bool savings_descent(const compact_problem<double>&, const savings_terms<double>&,
                                     std::vector<strategy>&, const deadline&, std::size_t);
extern template bool savings_descent(const compact_problem<std::int64_t>&, const savings_terms<std::int64_t>&,
                                     std::vector<strategy>&, const deadline&, std::size_t);
#endif

}  // namespace shardweave::inline v0::detail
