#pragma once

#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/backend/backend.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/linear/detail/relaxation_state.hpp>
#include <shardweave/solve/linear/detail/rounding.hpp>
#include <shardweave/solve/linear/model/local_polytope.hpp>
#include <shardweave/solve/search/detail/savings_descent.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// `relaxation` for a problem with savings. The multipliers of the chain rows are prices of computation; at any prices
/// the problem is one without savings (`priced_problem`), and any multipliers of it bound costs less savings.
template <cost_value Cost, class Backend>
class savings_relaxation : public relaxation_state<Cost> {
 public:
  /// \pre of.savings() != nullptr
  savings_relaxation(const placement_problem<Cost>& of, const Backend& engine, const solve_control& c,
                     std::string_view solver)
      : relaxation_state<Cost>(of, c, solver),
        backend(engine),
        p(plain_),
        terms_(*of.savings()),
        priced_(of.compact(), terms_),
        plain_(at(std::vector<double>(terms_.channels * terms_.slots()))),
        in_double_(in_double(terms_)) {
    present = presence(plain_);
  }

  /// Finds a first incumbent and a first bound by so many sweeps of message passing, five per step of the prices;
  /// removes labels by reduced costs.
  void start(std::size_t sweeps) {
    if (this->has_contradiction()) return;
    offer_improved(first_labels(this->problem.compact(), this->limit));
    this->raise(bound_at(plain_, {}), "multipliers");
    drop(plain_);
    if (sweeps == 0 || this->closed() || this->problem.compact().size() == 0) return;
    savings_ascent<Cost> ascent(this->problem.compact(), terms_);
    for (std::size_t done = 0; done < sweeps && !this->closed() && !this->limit.expired(); done += 5) {
      const bool more = ascent.step(this->upper());
      offer_repaired({ascent.labels().begin(), ascent.labels().end()});
      this->raise(ascent.bound(), "multipliers");
      if (!more) break;
    }
    if (this->best.is_known()) offer_improved(this->best.labels());
    const std::vector<double> least = ascent.label_bounds();
    this->raise(ascent.bound(), "multipliers");
    for (std::size_t at = 0; at < least.size() && this->best.is_known(); ++at)
      if (least[at] > this->upper() + this->margin()) present.drop_label(at);
    tighten_present();
    this->report();
  }

  /// The linear program of the remaining labels and pairs.
  [[nodiscard]] local_polytope<double> polytope(bool whole_numbers) const {
    return {plain_, present, whole_numbers, &in_double_};
  }

  /// Solves the relaxation, as `relaxation` does.
  void solve_relaxation() {
    if (this->closed() || this->is_cut()) return;
    const local_polytope<double> program = polytope(false);
    const std::optional<backend_outcome> answer = this->ask(backend, program.model());
    if (!answer) return;
    const backend_outcome& outcome = *answer;
    if (outcome.duals.size() == program.model().rows.size()) {
      known_ = at(program.chain_prices_of(outcome.duals));
      dual_ = program.duals_of(outcome.duals, known_);
      this->raise(bound_at(known_, dual_), "multipliers");
    }
    if (!outcome.primal.empty()) {
      const std::vector<double> weight = this->read_weights(program, outcome.primal);
      this->offer(program.labels_of(outcome.primal));
      if (!this->closed()) offer_improved(decode(plain_, weight));
    }
    drop();
    this->report();
  }

  /// Removes labels and pairs that no assignment as good as the incumbent uses.
  void drop() {
    if (known_.size() == plain_.size()) drop(known_);
  }

  const Backend& backend;
  const compact_problem<double>& p;  ///< variables and rows of the program, and its classes
  presence present;

 private:
  /// Rounding error where communication was subtracted from costs.
  [[nodiscard]] double slack(double value) const {
    return 1e-12 * (std::abs(value) + static_cast<double>(terms_.most()));
  }
  [[nodiscard]] double bound_at(const compact_problem<double>& costs, const dual_values& dual) const {
    const double value = reparametrization<double>(costs, dual, present).bound();
    return std::isfinite(value) ? value - slack(value) : value;
  }
  void drop(const compact_problem<double>& costs) {
    if (this->best.is_known()) {
      const double most = this->upper() + this->margin() + slack(this->upper());
      reparametrization<double>(costs, &costs == &known_ ? dual_ : dual_values{}, present).drop_above(most, present);
    }
    tighten_present();
  }
  void tighten_present() {
    if (!tighten(plain_, present)) this->raise(std::numeric_limits<double>::infinity(), "propagation");
  }

  /// The problem without savings at some prices, with the classes of `plain_`.
  [[nodiscard]] compact_problem<double> at(std::vector<double> values) {
    chain_prices<Cost> prices(terms_);
    prices.values() = std::move(values);
    prices.update();
    return priced_.with_prices(prices, false);
  }

  void offer_repaired(std::vector<strategy> labels) {
    if (this->offer(labels)) return;
    improve(this->problem.compact(), labels, this->limit);
    this->offer(labels);
  }
  void offer_improved(std::vector<strategy> labels) {
    improve(this->problem.compact(), labels, this->limit);
    if (!this->offer(labels)) return;
    savings_descent(this->problem.compact(), terms_, labels, this->limit);
    this->offer(labels);
  }

  static savings_terms<double> in_double(const savings_terms<Cost>& t) {
    if constexpr (std::floating_point<Cost>) {
      return t;
    } else {
      const auto all = [](const auto& list) { return std::vector<double>(list.begin(), list.end()); };
      savings_terms<double> result{t.demands, t.channels, all(t.computation), all(t.amount), {}, {}, {}, {}};
      for (const auto& a : t.offers) result.offers.push_back({a.at, a.variable, all(a.amount)});
      for (const auto& a : t.own) result.own.push_back({a.at, a.variable, all(a.amount)});
      for (const auto& a : t.joint) result.joint.push_back({a.demand, a.first, a.second, a.table, a.count});
      for (const auto& table : t.tables)
        result.tables.push_back(std::make_shared<const cost_table<double>>(table->template in<double>()));
      return result;
    }
  }

  const savings_terms<Cost>& terms_;
  priced_problem<Cost> priced_;
  compact_problem<double> plain_;  ///< all communication of the terms counts as hidden
  savings_terms<double> in_double_;
  compact_problem<double> known_;  ///< at the prices of the relaxation
  dual_values dual_;
};

}  // namespace shardweave::inline v0::detail
