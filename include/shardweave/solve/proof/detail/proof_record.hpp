#pragma once

#include <shardweave/core/range_sums.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/proof/detail/stated_multipliers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

/// \file
/// The record of a search for a proof.

namespace shardweave::inline v0::detail {

/// What a search for a proof has found so far.
template <cost_value Cost>
class proof_so_far {
 public:
  virtual ~proof_so_far() = default;
  /// The number of cases.
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// Writes multipliers and cases into a certificate.
  virtual void write(placement_certificate<Cost>& c) const = 0;
};

/// The cases of a proof as a search explores them: how each was reduced or split, and the multipliers that bound it,
/// its own or those of an ancestor. \tparam Form  as `stated_multipliers` has it
template <cost_value Cost, class Form = stated_form<Cost>>
class proof_record : public proof_so_far<Cost> {
 public:
  static constexpr bool explains = true;

  /// \pre all references outlive this object
  proof_record(const compact_problem<Cost>& p, const stated_multipliers<Cost, Form>& in_stated)
      : p_(&p), in_stated_(&in_stated), multipliers_(1), nodes_(1) {}

  [[nodiscard]] std::size_t size() const override { return nodes_.size(); }

  /// From now on, variables and labels are those of another problem. \pre both outlive their use
  void work_on(const compact_problem<Cost>& p, const stated_multipliers<Cost, Form>& in_stated) {
    p_ = &p;
    in_stated_ = &in_stated;
  }

  /// Adds prices of savings. \returns their number
  std::uint32_t add(savings_prices prices) {
    savings_.push_back(std::move(prices));
    return static_cast<std::uint32_t>(savings_.size() - 1);
  }
  [[nodiscard]] const savings_prices& savings(std::uint32_t number) const { return savings_[number]; }
  /// Sets the prices of savings for cases without multipliers.
  void begin_with(std::uint32_t savings) { multipliers_.front().savings = savings; }
  /// Gives a case multipliers of its own, in place of those that it had.
  void bounded(std::uint32_t number, placement_multipliers m) {
    node& of = nodes_[number];
    if (of.has_own) {
      multipliers_[of.multipliers] = std::move(m);
      return;
    }
    of.has_own = true;
    of.multipliers = static_cast<std::uint32_t>(multipliers_.size());
    multipliers_.push_back(std::move(m));
  }
  /// A case is infeasible: by arc consistency, which a checker repeats by itself, or by a row, which is recorded.
  void refuted(std::uint32_t number, const std::vector<char>& allowed) {
    const Form& form = in_stated_->form();
    kept_labels kept(p_->size());
    for (std::size_t x = 0; x < p_->size(); ++x)
      for (strategy l = 0; l < p_->label_count(x); ++l)
        if (allowed[p_->label_start(x) + l] != 0) kept[x].push_back(l);
    strategies_left left = in_stated_->left(kept);
    form.propagate(left);
    range_sums of_least(p_->rows().size()), of_most(p_->rows().size());
    for (std::uint32_t x = 0; x < p_->size(); ++x) {
      const auto& of_x = left[in_stated_->unknown(x)];
      for (const usage_segment& s : p_->segments(x)) {
        double low = infinity, high = -infinity;
        for (const strategy l : kept[x])
          if (of_x[in_stated_->stated(x, l)] != 0) {
            low = std::min(low, s.usage[l]);
            high = std::max(high, s.usage[l]);
          }
        if (low > high) return;
        of_least.add(s.begin, s.end, low);
        of_most.add(s.begin, s.end, high);
      }
    }
    const std::vector<double> least = of_least.values(), most = of_most.values();
    std::pair<double, std::size_t> worst{0, p_->rows().size()};
    bool is_high = true;
    for (std::size_t r = 0; r < p_->rows().size(); ++r) {
      const usage_row& row = p_->rows()[r];
      for (const bool high : {true, false})
        if (const double beyond = high ? least[r] - row.high : row.low - most[r]; beyond > worst.first) {
          worst = {beyond, r};
          is_high = high;
        }
    }
    if (worst.second == p_->rows().size()) return;
    const usage_row& row = p_->rows()[worst.second];
    nodes_[number].multipliers = static_cast<std::uint32_t>(multipliers_.size());
    multipliers_.push_back({.only_limits = true, .prices = {{row.budget, row.time, is_high ? 1 : -1}}});
  }

  /// Labels of a case are removed by its multipliers. \returns the number of the remaining case
  [[nodiscard]] std::uint32_t narrowed(std::uint32_t number) { return add_below(number); }
  /// Labels of a case are removed by other multipliers, which do not bound the rest. \returns its number
  [[nodiscard]] std::uint32_t narrowed(std::uint32_t number, placement_multipliers by) {
    const std::uint32_t before = nodes_[number].multipliers;
    nodes_[number].has_own = false;  // the rest has those before
    bounded(number, std::move(by));
    const std::uint32_t rest = add_below(number);
    nodes_[rest].multipliers = before;
    return rest;
  }
  /// A case is reduced. What is left of it has no multipliers yet. \returns its number
  [[nodiscard]] std::uint32_t reduced(std::uint32_t number, placement_reduction r) {
    nodes_[number].reduction = static_cast<std::uint32_t>(reductions_.size());
    reductions_.push_back(std::move(r));
    const std::uint32_t rest = add_below(number);
    nodes_[rest].multipliers = 0;
    return rest;
  }
  /// A case is settled by a dynamic program at its multipliers' prices, in an order of variables.
  void settled(std::uint32_t number, const std::vector<std::uint32_t>& variables) {
    for (const std::uint32_t x : variables) nodes_[number].order.push_back(in_stated_->vertex(x));
    placement_multipliers only_prices = multipliers_[nodes_[number].multipliers];
    only_prices.messages.clear();
    only_prices.knapsacks.clear();
    bounded(number, std::move(only_prices));
  }
  /// The labels of a variable are split. \returns the number of the first of the cases, which follow one another
  [[nodiscard]] std::uint32_t parted(std::uint32_t number, std::uint32_t variable,
                                     const std::vector<std::vector<strategy>>& parts) {
    // the last part has all others, for those that no label stands for may be left to a checker
    std::vector<char> is_left(in_stated_->form().strategies(in_stated_->unknown(variable)), 1);
    std::vector<std::vector<strategy>> stated(parts.size());
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      for (const strategy l : parts[i]) {
        stated[i].push_back(in_stated_->stated(variable, l));
        is_left[stated[i].back()] = 0;
      }
    for (strategy s = 0; s < is_left.size(); ++s)
      if (is_left[s] != 0) stated.back().push_back(s);
    nodes_[number].vertex = in_stated_->vertex(variable);
    nodes_[number].parts = std::move(stated);
    const std::uint32_t first = add_below(number);
    for (std::size_t i = 1; i < parts.size(); ++i) static_cast<void>(add_below(number));
    return first;
  }

  void write(placement_certificate<Cost>& c) const override {
    std::vector<std::uint32_t> number_of(multipliers_.size(), ~0U);
    write(c, 0, number_of);
    add_savings(c);
  }
  /// Writes a single case that bounds everything.
  /// \param is_plain  without prices and messages
  void write_root(placement_certificate<Cost>& c, bool is_plain) const {
    const placement_multipliers& of_root = multipliers_[nodes_.front().multipliers];
    c.multipliers.push_back(of_root.only_limits || is_plain ? multipliers_.front() : of_root);
    c.cases.push_back({.multipliers = 0});
    add_savings(c);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct node {
    std::uint32_t multipliers = 0;
    bool has_own = false;
    std::vector<std::uint32_t> children = {};  ///< none of a leaf, one if labels were removed, two and more of a split
    std::uint32_t vertex = 0;                  ///< of a split
    std::vector<std::vector<strategy>> parts = {};  ///< of a split
    std::optional<std::uint32_t> reduction = std::nullopt;
    std::vector<std::uint32_t> order = {};  ///< vertices, if a dynamic program settles it
  };

  std::uint32_t add_below(std::uint32_t parent) {
    const auto number = static_cast<std::uint32_t>(nodes_.size());
    nodes_[parent].children.push_back(number);
    nodes_.push_back({.multipliers = nodes_[parent].multipliers});
    return number;
  }

  void write(placement_certificate<Cost>& c, std::uint32_t number, std::vector<std::uint32_t>& number_of) const {
    const node& from = nodes_[number];
    const std::size_t at = c.cases.size();
    c.cases.emplace_back();
    if (from.reduction) {
      c.cases[at].reduction = static_cast<std::uint32_t>(c.reductions.size());
      c.reductions.push_back(reductions_[*from.reduction]);
    } else if (from.children.size() < 2) {
      std::uint32_t& known = number_of[from.multipliers];
      if (known == ~0U) {
        known = static_cast<std::uint32_t>(c.multipliers.size());
        c.multipliers.push_back(multipliers_[from.multipliers]);
      }
      c.cases[at].multipliers = known;
      c.cases[at].elimination_order = from.order;
    } else {
      c.cases[at].vertex = from.vertex;
    }
    for (std::size_t i = 0; i < from.children.size(); ++i) {
      c.cases[at].cases.push_back(static_cast<std::uint32_t>(c.cases.size()));
      if (from.children.size() > 1) c.cases[at].parts.push_back(from.parts[i]);
      write(c, from.children[i], number_of);
    }
    if (from.reduction) {
      std::set<std::pair<std::uint32_t, std::int64_t>> priced;
      add_prices(number, priced);
      for (const auto& [budget, time] : priced) c.reductions[*c.cases[at].reduction].rows.push_back({budget, time});
    }
  }
  /// Adds the rows with prices of a case and its parts.
  void add_prices(std::uint32_t number, std::set<std::pair<std::uint32_t, std::int64_t>>& to) const {
    const node& from = nodes_[number];
    if (!from.reduction && from.children.size() < 2) multipliers_[from.multipliers].add_rows(to);
    for (const std::uint32_t child : from.children) add_prices(child, to);
  }

  /// Writes the prices of savings that the multipliers refer to, renumbered.
  void add_savings(placement_certificate<Cost>& c) const {
    std::vector<std::uint32_t> number_of(savings_.size(), ~0U);
    for (placement_multipliers& m : c.multipliers) {
      if (!m.savings) continue;
      std::uint32_t& number = number_of[*m.savings];
      if (number == ~0U) {
        number = static_cast<std::uint32_t>(c.savings.size());
        c.savings.push_back(savings_[*m.savings]);
      }
      m.savings = number;
    }
  }

  const compact_problem<Cost>* p_;
  const stated_multipliers<Cost, Form>* in_stated_;
  std::vector<savings_prices> savings_;
  std::vector<placement_multipliers> multipliers_;  ///< the first has only zeros
  std::vector<placement_reduction> reductions_ = {};
  std::vector<node> nodes_;
};

}  // namespace shardweave::inline v0::detail
