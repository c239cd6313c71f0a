#pragma once

#include <shardweave/solve/linear/backend/backend.hpp>
#include <shardweave/solve/linear/detail/multiplier_sweeps.hpp>
#include <shardweave/solve/linear/detail/relaxation_state.hpp>
#include <shardweave/solve/linear/detail/rounding.hpp>
#include <shardweave/solve/linear/model/local_polytope.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardweave {
inline namespace v0 {
namespace detail {

/// What `lp_relaxation` and `ilp` have in common: an incumbent, a bound, what is still worth a column, and
/// one solve of the linear relaxation.
template <cost_value Cost, class Backend>
class relaxation : public relaxation_state<Cost> {
 public:
  relaxation(const placement_problem<Cost>& of, const Backend& engine, const solve_control& c, std::string_view solver)
      : relaxation_state<Cost>(of, c, solver), p(of.compact()), backend(engine), present(of.compact()) {}

  /// A first incumbent and a first bound, from so many sweeps of cheap multipliers; drops what the incumbent
  /// beats.
  void start(std::size_t sweeps) {
    if (this->has_contradiction()) return;
    this->offer(improved({}));
    this->raise(reparametrization<Cost>(p, {}, present).bound(), "multipliers");
    drop();
    multiplier_sweeps<Cost> cheap(p);
    double last = -std::numeric_limits<double>::infinity();
    for (std::size_t sweep = 0; sweep < sweeps && !this->closed() && !this->limit.expired(); ++sweep) {
      cheap.forward(present);
      cheap.backward(present);
      if ((sweep + 1) % 20 != 0 && sweep + 1 != sweeps) continue;
      dual = cheap.values();
      const double now = reparametrization<Cost>(p, dual, present).bound();
      this->raise(now, "multipliers");
      std::vector<strategy> labels = cheap.decode(present);
      this->offer(labels);
      repair(p, labels, this->limit, 30);
      this->offer(labels);
      drop();
      // the incumbent counts: without one there is nothing to drop, and the LP may as well begin
      if (now <= last + 1e-7 * std::abs(last)) break;
      last = now;
    }
    this->report();
  }

  /// The program of what is still worth a column.
  [[nodiscard]] local_polytope<Cost> polytope(bool whole_numbers) const { return {p, present, whole_numbers}; }

  /// Solves the relaxation. Its multipliers prove a bound and drop labels and pairs; its weights are rounded.
  void solve_relaxation() {
    if (this->closed() || this->is_cut()) return;
    const local_polytope<Cost> program = polytope(false);
    const std::optional<backend_outcome> answer = this->ask(backend, program.model());
    if (!answer) return;
    const backend_outcome& outcome = *answer;
    if (outcome.duals.size() == program.model().rows.size()) {
      dual = program.duals_of(outcome.duals);
      this->raise(reparametrization<Cost>(p, dual, present).bound(), "multipliers");
    }
    if (!outcome.primal.empty()) {
      const std::vector<double> weight = this->read_weights(program, outcome.primal);
      this->offer(program.labels_of(outcome.primal));
      if (!this->closed()) this->offer(improved(weight));
    }
    drop();
    this->report();
  }

  /// Drops what no assignment as good as the incumbent needs.
  void drop() {
    if (this->best.is_known())
      reparametrization<Cost>(p, dual, present).drop_above(this->upper() + this->margin(), present);
    if (!tighten(p, present)) {
      // the incumbent survives all drops, so there is none, and only forbidden pairs were propagated
      this->raise(std::numeric_limits<double>::infinity(), "propagation");
    }
  }

  const compact_problem<Cost>& p;
  const Backend& backend;
  presence present;
  dual_values dual;

 private:
  /// Labels from weights, then single changes.
  [[nodiscard]] std::vector<strategy> improved(std::span<const double> weight) const {
    std::vector<strategy> labels = decode(p, weight);
    repair(p, labels, this->limit, 30);
    return labels;
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
