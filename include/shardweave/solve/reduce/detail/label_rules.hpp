#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/range_minimum.hpp>
#include <shardweave/solve/detail/order_by.hpp>
#include <shardweave/solve/reduce/detail/mutable_problem.hpp>
#include <shardweave/solve/reduce/detail/usage_tidy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Rules of a reduction that remove labels.

namespace shardweave::inline v0::detail {

/// Arc consistency.
/// Condition: a label is forbidden, or some neighbour has no label that it may be combined with.
/// Exact because no solution has such a label.
template <cost_value Cost>
class drop_inconsistent {
 public:
  explicit drop_inconsistent(mutable_problem<Cost>& p) : p_(p) {}

  std::size_t removed = 0;

  /// From the listed variables on, until nothing changes.
  /// \param after_each  called when labels of a variable went
  /// \returns false if some variable has no label left
  /// Complexity: O(labels * degree) per variable that changed, and the classes of every distinct table
  template <class AfterEach>
  bool operator()(std::vector<std::uint32_t> open, AfterEach after_each) {
    std::vector<strategy> labels;
    std::vector<std::pair<const cost_table<Cost>*, const support*>> narrow;
    for (std::size_t at = 0; at < open.size(); ++at) {
      const std::uint32_t x = open[at];
      auto& v = p_.variables[x];
      if (!v.alive) continue;
      narrow.clear();
      for (const auto& [y, t] : v.edges)
        if (const support& rows = support_of(t); !rows.of_all) narrow.emplace_back(t.get(), &rows);
      labels.clear();
      for (strategy l = 0; l < v.unary.size(); ++l) {
        bool good = !is_forbidden(v.unary[l]);
        for (auto e = narrow.begin(); good && e != narrow.end(); ++e) good = e->second->of_row[e->first->row_class(l)];
        if (good) labels.push_back(l);
      }
      if (labels.size() == v.unary.size()) continue;
      if (labels.empty()) return false;
      removed += v.unary.size() - labels.size();
      p_.keep(x, labels);
      for (const auto& [y, t] : v.edges) open.push_back(y);
      after_each();
    }
    return true;
  }
  bool operator()(std::vector<std::uint32_t> open) {
    return (*this)(std::move(open), [] {});
  }

  void forget_others(const table_set<Cost>& used) { detail::forget_others(supports_, used); }

 private:
  using table_pointer = typename mutable_problem<Cost>::table_pointer;

  struct support {
    std::vector<bool> of_row;  ///< per row class, whether some column is allowed; empty if all have one
    bool of_all = true;
  };
  const support& support_of(const table_pointer& pointer) {
    const auto [at, fresh] = supports_.try_emplace(pointer);
    support& known = at->second;
    if (!fresh) return known;
    const auto& t = *pointer;
    known.of_row.resize(t.row_classes());
    for (std::size_t i = 0; i < t.row_classes(); ++i) {
      const Cost* const row = t.class_row(i);
      known.of_row[i] = std::any_of(row, row + t.column_classes(), [](Cost c) { return !is_forbidden(c); });
      known.of_all = known.of_all && known.of_row[i];
    }
    if (known.of_all) known.of_row = std::vector<bool>();
    return known;
  }

  mutable_problem<Cost>& p_;
  by_table<Cost, support> supports_;
};

/// Capacity.
/// Condition: a label uses more of some row than the row allows when all other variables use their least.
/// Exact because no solution has such a label.
template <cost_value Cost>
class drop_oversized {
 public:
  explicit drop_oversized(mutable_problem<Cost>& p) : p_(p) {}

  std::size_t removed = 0;

  /// \pre usage is tidy: least usage is zero everywhere
  /// \returns false if some variable has no label left
  /// Complexity: O(rows * log rows + labels * segments)
  bool operator()() {
    if (p_.rows.empty()) return true;
    std::vector<double> highs;
    for (const usage_row& r : p_.rows) highs.push_back(r.high);
    const range_minimum least_room(std::move(highs));
    std::vector<strategy> labels;
    for (std::uint32_t x = 0; x < p_.variables.size(); ++x) {
      auto& v = p_.variables[x];
      if (!v.alive || v.segments.empty()) continue;
      std::vector<bool> fits(v.unary.size(), true);
      for (const usage_segment& s : v.segments) {
        const double room = least_room(s.begin, s.end);
        const double limit = room + budget_tolerance + 1e-9 * std::abs(room);
        for (std::size_t l = 0; l < fits.size(); ++l)
          if (s.usage[l] > limit) fits[l] = false;
      }
      labels.clear();
      for (strategy l = 0; l < fits.size(); ++l)
        if (fits[l]) labels.push_back(l);
      if (labels.size() == fits.size()) continue;
      if (labels.empty()) return false;
      removed += fits.size() - labels.size();
      p_.keep(x, labels);
    }
    return true;
  }

 private:
  mutable_problem<Cost>& p_;
};

/// Goldstein's dead-end elimination.
/// Condition: another label a costs no more than b whatever the neighbours do,
/// `c(a) - c(b) + sum over edges of max over partners x of b of (C(a,x) - C(b,x)) <= 0`, and uses no more of any
/// row. A label that was removed justifies nothing.
/// Exact because b can be replaced by a in every solution.
/// Source: R. F. Goldstein, Efficient rotamer elimination, Biophys. J. 66 (1994).
template <cost_value Cost>
class drop_dominated {
 public:
  /// \param most_labels  variables with more are left alone
  /// \param most_work    table entries that the search at one variable may compare
  /// \param notes        whether the record for lifting gets the labels
  drop_dominated(mutable_problem<Cost>& p, const usage_tidy<Cost>& usage, std::size_t most_labels,
                 std::size_t most_work, bool notes = false)
      : p_(p), usage_(usage), most_labels_(most_labels), most_work_(most_work), notes_(notes) {}

  std::size_t removed = 0;

  /// \pre arc consistency
  /// Complexity: O(labels^2 * degree) and, for pairs of labels that a glance does not settle, a row of each table
  void operator()(std::uint32_t x, const deadline& limit) {
    auto& v = p_.variables[x];
    const std::size_t k = v.unary.size();
    if (k < 2 || k > most_labels_) return;
    if (remembered_ > most_remembered) forget_excess();
    edges_.clear();
    for (const auto& [y, t] : v.edges) edges_.push_back({t.get(), &summary_of(t), 0});
    work_ = 0;
    std::vector<bool> gone(k, false);
    std::size_t left = k;
    // cheap labels first: they are the ones that dominate
    std::vector<strategy> order;
    order_by(std::span<const Cost>(v.unary), order);
    look_at_all(order);
    for (std::size_t i = 0; i < k; ++i) {
      const strategy a = order[i];
      if (work_ > most_work_ || (i % 16 == 0 && limit.expired())) break;
      if (gone[a]) continue;
      glance(i, v.unary, order);
      for (std::size_t j = 0; j < k; ++j) {
        const strategy b = order[j];
        if (i == j || worse_[j] != 0 || gone[b]) continue;
        const Cost ahead = v.unary[a] - v.unary[b];
        if (!may_dominate(a, b, ahead) || !usage_.uses_no_more(v.segments, a, b) || !dominates(a, b, ahead)) continue;
        gone[b] = true;
        --left;
        if (notes_) p_.note_dominated(x, b, a);
      }
    }
    if (left == k) return;
    removed += k - left;
    std::vector<strategy> labels;
    for (strategy l = 0; l < k; ++l)
      if (!gone[l]) labels.push_back(l);
    p_.keep(x, labels);
  }

  void forget_others(const table_set<Cost>& used) {
    detail::forget_others(summaries_, used);
    remembered_ = 0;
    for (const auto& [t, known] : summaries_) remembered_ += known.excess.size();
  }

 private:
  using table = typename mutable_problem<Cost>::table;
  using table_pointer = typename mutable_problem<Cost>::table_pointer;

  /// Summary of a row class, for cheap tests.
  struct row_summary {
    std::uint32_t cheapest = 0, dearest = 0;  ///< column of an allowed entry that is
    std::uint32_t allowed = 0;                ///< how many entries are
  };
  struct summary {
    std::vector<row_summary> rows;
    std::vector<Cost> excess;  ///< of pairs of row classes, `unknown` until computed; empty for large tables
  };
  struct edge {
    const table* costs;
    summary* known;
    std::uint32_t witness = 0;  ///< the column that refuted the last pair of labels
  };
  struct label_glance {
    const Cost* row;
    Cost least;
    std::uint32_t cheapest, allowed;
  };
  static constexpr Cost unknown = std::numeric_limits<Cost>::lowest();
  static constexpr std::size_t most_of_table = 1 << 14;    ///< pairs of classes whose excess is remembered
  static constexpr std::size_t most_remembered = 1 << 18;  ///< of all tables

  summary& summary_of(const table_pointer& pointer) {
    summary& known = summaries_[pointer];
    const table& t = *pointer;
    if (known.excess.empty() && t.row_classes() * t.row_classes() <= most_of_table) {
      known.excess.assign(t.row_classes() * t.row_classes(), unknown);
      remembered_ += known.excess.size();
    }
    if (!known.rows.empty()) return known;
    known.rows.resize(t.row_classes());
    for (std::size_t i = 0; i < t.row_classes(); ++i) {
      const Cost* const costs = t.class_row(i);
      row_summary& row = known.rows[i];
      Cost least{}, most{};
      for (std::uint32_t j = 0; j < t.column_classes(); ++j) {
        const Cost c = costs[j];
        if (is_forbidden(c)) continue;
        const bool is_first = row.allowed++ == 0;
        if (is_first || c < least) {
          least = c;
          row.cheapest = j;
        }
        if (is_first || c > most) {
          most = c;
          row.dearest = j;
        }
      }
    }
    return known;
  }
  void forget_excess() {
    for (auto& [t, known] : summaries_) known.excess = std::vector<Cost>();  // gives the memory back
    remembered_ = 0;
  }

  /// Gathers the data of `glance` contiguously, label by label: for each edge the row, its cheapest column, the cost
  /// there, and the number of allowed columns.
  void look_at_all(const std::vector<strategy>& order) {
    glances_.resize(edges_.size() * order.size());
    auto at = glances_.begin();
    for (const edge& e : edges_)
      for (const strategy l : order) {
        const std::uint32_t row = e.costs->row_class(l);
        const auto& [cheapest, dearest, allowed] = e.known->rows[row];
        *at++ = {e.costs->class_row(row), e.costs->class_cost(row, cheapest), cheapest, allowed};
      }
  }
  /// A necessary condition for the i-th label in order to dominate each of the others, from the columns where these are
  /// cheapest. The data stay in cache, which makes it worthwhile before `may_dominate`.
  void glance(std::size_t i, const std::vector<Cost>& unary, const std::vector<strategy>& order) {
    const std::size_t k = order.size();
    ahead_.resize(k);
    worse_.assign(k, 0);
    for (std::size_t j = 0; j < k; ++j) ahead_[j] = unary[order[i]] - unary[order[j]];
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      const label_glance* const of = glances_.data() + e * k;
      const Cost* const row = of[i].row;
      for (std::size_t j = 0; j < k; ++j) {
        const Cost c = row[of[j].cheapest];
        const bool is_worse = is_forbidden(c) || of[i].allowed < of[j].allowed;
        worse_[j] |= static_cast<char>(is_worse);
        ahead_[j] += is_worse ? Cost{} : c - of[j].least;
      }
    }
    for (std::size_t j = 0; j < k; ++j) worse_[j] |= static_cast<char>(ahead_[j] > 0);
  }

  /// A necessary condition from three columns of each table: where b is cheapest, where a is dearest, and the witness
  /// of the last failure. Rounding cannot make it stricter than `dominates`: every term is one of those that the
  /// maximum is over, and the order of summation is the same.
  [[nodiscard]] bool may_dominate(strategy a, strategy b, Cost ahead) const {
    for (const edge& e : edges_) {
      const std::uint32_t i = e.costs->row_class(a), j = e.costs->row_class(b);
      if (i == j) continue;
      if (e.known->rows[i].allowed < e.known->rows[j].allowed) return false;
      const Cost* of_i = e.costs->class_row(i);
      const Cost* of_j = e.costs->class_row(j);
      Cost most = unknown;
      for (const std::uint32_t c : {e.known->rows[j].cheapest, e.known->rows[i].dearest, e.witness}) {
        if (is_forbidden(of_j[c])) continue;
        if (is_forbidden(of_i[c])) return false;
        most = std::max(most, of_i[c] - of_j[c]);
      }
      ahead += most;
    }
    return ahead <= 0;
  }
  [[nodiscard]] bool dominates(strategy a, strategy b, Cost ahead) {
    for (edge& e : edges_) {
      const std::uint32_t i = e.costs->row_class(a), j = e.costs->row_class(b);
      if (i == j) continue;
      const Cost d = excess_of(e, i, j);
      if (is_forbidden(d)) return false;
      ahead += d;
    }
    return ahead <= 0;
  }

  /// The largest cost excess of row class i over row class j, over the columns that j allows.
  Cost excess_of(edge& e, std::uint32_t i, std::uint32_t j) {
    const table& t = *e.costs;
    const bool remembered = !e.known->excess.empty();
    const std::size_t at = std::size_t{i} * t.row_classes() + j;
    if (remembered && e.known->excess[at] != unknown) return e.known->excess[at];
    work_ += t.column_classes();
    Cost most = unknown;
    const Cost* of_i = t.class_row(i);
    const Cost* of_j = t.class_row(j);
    for (std::uint32_t c = 0; c < t.column_classes(); ++c) {
      if (is_forbidden(of_j[c])) continue;
      const Cost d = is_forbidden(of_i[c]) ? forbidden<Cost> : of_i[c] - of_j[c];
      if (d <= most) continue;
      most = d;
      e.witness = c;
      if (is_forbidden(d)) break;
    }
    if (remembered) e.known->excess[at] = most;
    return most;
  }

  mutable_problem<Cost>& p_;
  const usage_tidy<Cost>& usage_;
  std::size_t most_labels_, most_work_, work_ = 0, remembered_ = 0;
  bool notes_;
  std::vector<edge> edges_;
  std::vector<label_glance> glances_;
  std::vector<Cost> ahead_;
  std::vector<char> worse_;
  by_table<Cost, summary> summaries_;
};

}  // namespace shardweave::inline v0::detail
