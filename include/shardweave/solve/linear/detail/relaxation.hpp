#pragma once

#include <shardweave/solve/backend/backend.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/linear/detail/relaxation_state.hpp>
#include <shardweave/solve/linear/detail/rounding.hpp>
#include <shardweave/solve/linear/model/local_polytope.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace shardweave::inline v0::detail {

/// Common part of `lp_relaxation` and `ilp`: an incumbent, a bound, the labels and pairs that still have columns, and
/// one solve of the linear relaxation.
template <cost_value Cost, class Backend>
class relaxation : public relaxation_state<Cost> {
 public:
  relaxation(const placement_problem<Cost>& of, const Backend& engine, const solve_control& c, std::string_view solver)
      : relaxation_state<Cost>(of, c, solver), p(of.compact()), backend(engine), present(of.compact()) {}

  /// Finds a first incumbent and a first bound by so many sweeps of message passing; removes labels by reduced costs.
  void start(std::size_t sweeps) {
    if (this->has_contradiction()) return;
    offer_improved(first_labels(p, this->limit));
    prove();
    price_ascent<Cost> ascent(p);
    std::vector<strategy> labels(p.size());
    for (std::size_t sweep = 1; sweep <= sweeps && !this->closed() && !this->limit.expired(); ++sweep) {
      const bool more = ascent.step(this->upper());
      if (sweep % 20 != 0 && sweep != sweeps && more) continue;
      ascent.decode(labels);
      offer_improved(labels);
      dual = ascent.multipliers();
      prove();
      if (!more) break;
    }
    this->report();
  }

  /// The linear program of the remaining labels and pairs.
  [[nodiscard]] local_polytope<Cost> polytope(bool whole_numbers) const { return {p, present, whole_numbers}; }

  /// Solves the relaxation. Its multipliers prove a bound and remove labels and pairs; its primal solution is rounded.
  void solve_relaxation() {
    if (this->closed() || this->is_cut()) return;
    const local_polytope<Cost> program = polytope(false);
    const std::optional<backend_outcome> answer = this->ask(backend, program.model());
    if (!answer) return;
    const backend_outcome& outcome = *answer;
    if (outcome.duals.size() == program.model().rows.size()) {
      dual = program.duals_of(outcome.duals);
    }
    if (!outcome.primal.empty()) {
      const std::vector<double> weight = this->read_weights(program, outcome.primal);
      this->offer(program.labels_of(outcome.primal));
      if (!this->closed()) offer_improved(decode(p, weight));
    }
    prove();
    this->report();
  }

  /// Removes labels and pairs that no assignment as good as the incumbent uses.
  void drop() {
    if (this->best.is_known())
      reparametrization<Cost>(p, dual, present).drop_above(this->upper() + this->margin(), present);
    if (!tighten(p, present)) {
      // the incumbent survives all removals, so there is none, and only forbidden pairs were propagated
      this->raise(std::numeric_limits<double>::infinity(), "propagation");
    }
  }

  const compact_problem<Cost>& p;
  const Backend& backend;
  presence present;
  dual_values dual;

 private:
  void offer_improved(std::vector<strategy> labels) {
    improve(p, labels, this->limit);
    this->offer(labels);
  }
  /// Raises the bound to that of the multipliers, and removes labels and pairs by it.
  void prove() {
    this->raise(reparametrization<Cost>(p, dual, present).bound(), "multipliers");
    drop();
  }
};

}  // namespace shardweave::inline v0::detail
