#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/solve/detail/mutable_problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Exact kernelization: a smaller problem with the same optimum.

namespace shardweave {
inline namespace v0 {

/// Bounds on the work of a reduction.
struct reduction_limits {
  std::size_t rounds = 20;
  std::size_t elimination_work = 2'000'000;  ///< labels of the three variables of a degree-2 elimination, multiplied
  std::size_t dominance_labels = 400;        ///< variables with more labels are not searched for dominated ones
  std::size_t dominance_work = 20'000'000;   ///< classes^2 * classes of a table that dominance may look at
};

/// What a reduction did.
struct reduction_counts {
  std::size_t inconsistent = 0;  ///< labels without a partner
  std::size_t dominated = 0;     ///< labels another one is at least as good as
  std::size_t merged = 0;        ///< variables that follow a neighbour
  std::size_t settled = 0;       ///< variables decided alone
  std::size_t eliminated = 0;    ///< variables between two others
  std::size_t separated = 0;     ///< edges that were sums of unary costs
  std::size_t rows = 0;          ///< rows that cannot bind
};

/// Applies rules that keep at least one optimum until none changes anything:
///  - arc consistency; a variable with one label becomes a constant, unary costs and less room in its rows;
///  - an edge whose costs are a sum of one term per end goes;
///  - a variable whose label is determined by a neighbour's follows it (with its usage);
///  - a leaf, an isolated variable, and a variable between two others are minimised out, where their usage
///    allows it;
///  - a label goes when another one costs no more whatever the neighbours do, and uses no more of any row
///    (Goldstein's dead-end elimination);
///  - rows that no labeling can break go.
/// Rows with a lower limit count usage as worse in both directions.
///
/// Complexity: a few rounds, each O(labels * degree) and O(classes^3) per distinct table for dominance.
/// Source: R. F. Goldstein, Efficient rotamer elimination, Biophys. J. 66 (1994).
template <cost_value Cost>
class reduction {
 public:
  explicit reduction(const compact_problem<Cost>& problem, const reduction_limits& limits = {},
                     const solve_control& control = {})
      : p_(problem), limits_(limits), limit_(control), always_(problem.rows().size() + 1) {
    double largest = 0;
    for (const auto& v : p_.variables)
      for (const usage_segment& s : v.segments)
        for (const double u : s.usage) {
          largest = std::max(largest, u);
          if (u != std::floor(u)) rounding_ = 1e-12;  // whole numbers are summed exactly
        }
    rounding_ *= largest;
    run();
    if (!infeasible_) kernel_.emplace(p_.build(kept_));
  }

  /// No labeling is feasible.
  [[nodiscard]] bool is_infeasible() const { return infeasible_; }
  /// \pre !is_infeasible()
  [[nodiscard]] const compact_problem<Cost>& kernel() const { return *kernel_; }
  [[nodiscard]] const reduction_counts& counts() const { return counts_; }
  /// Labels of the reduced problem's variables -> labels of the given problem's. An optimum becomes an optimum.
  [[nodiscard]] std::vector<strategy> lift(std::span<const strategy> labels) const { return p_.lift(kept_, labels); }

 private:
  using table = cost_table<Cost>;
  using table_pointer = std::shared_ptr<const table>;

  void run() {
    tidy_rows();
    for (std::size_t round = 0; round < limits_.rounds && !infeasible_; ++round) {
      const std::vector<std::uint32_t> open = changed();
      if (open.empty()) return;
      for (const std::uint32_t x : open) p_.variables[x].dirty = false;
      make_consistent(open);
      each(open, [&](std::uint32_t x) { absorb_single(x); });
      each(open, [&](std::uint32_t x) { separate(x); });
      each(open, [&](std::uint32_t x) { follow_neighbour(x); });
      tidy_rows();
      make_consistent(changed());  // what follows counts on finite unary costs
      each(open, [&](std::uint32_t x) { drop_dominated(x); });
      each(open, [&](std::uint32_t x) { remove_leaf(x); });
      each(open, [&](std::uint32_t x) { remove_between(x); });
      tidy_rows();
    }
    make_consistent(changed());
  }

  [[nodiscard]] std::vector<std::uint32_t> changed() const {
    std::vector<std::uint32_t> open;
    for (std::uint32_t x = 0; x < p_.variables.size(); ++x)
      if (p_.variables[x].alive && p_.variables[x].dirty) open.push_back(x);
    return open;
  }

  template <class Rule>
  void each(const std::vector<std::uint32_t>& open, Rule rule) {
    for (const std::uint32_t x : open) {
      if (infeasible_ || limit_.expired()) return;
      if (p_.variables[x].alive) rule(x);
    }
  }

  void keep(std::uint32_t x, const std::vector<strategy>& labels) {
    if (labels.empty()) {
      infeasible_ = true;
    } else {
      p_.keep(x, labels);
    }
  }

  void make_consistent(std::vector<std::uint32_t> open) {
    for (std::size_t at = 0; at < open.size() && !infeasible_; ++at) {
      const std::uint32_t x = open[at];
      auto& v = p_.variables[x];
      if (!v.alive) continue;
      std::vector<strategy> labels;
      for (strategy l = 0; l < v.unary.size(); ++l) {
        bool good = !is_forbidden(v.unary[l]);
        for (auto e = v.edges.begin(); good && e != v.edges.end(); ++e) good = supports(e->second)[e->second->row_class(l)];
        if (good) labels.push_back(l);
      }
      if (labels.size() == v.unary.size()) continue;
      counts_.inconsistent += v.unary.size() - labels.size();
      keep(x, labels);
      for (const auto& [y, t] : v.edges) open.push_back(y);
    }
  }
  /// Per row class, whether some column is allowed.
  const std::vector<bool>& supports(const table_pointer& pointer) {
    auto& known = supports_[pointer];
    const table& t = *pointer;
    if (known.empty()) {
      known.resize(t.row_classes());
      for (std::size_t i = 0; i < t.row_classes(); ++i)
        for (std::size_t j = 0; j < t.column_classes() && !known[i]; ++j) known[i] = !is_forbidden(t.class_cost(i, j));
    }
    return known;
  }

  /// A variable with one label: its edges are unary costs of the neighbours, its usage is always there.
  void absorb_single(std::uint32_t x) {
    auto& v = p_.variables[x];
    if (v.unary.size() != 1) return;
    const auto edges = v.edges;
    for (const auto& [y, t] : edges) {
      for (strategy b = 0; b < t->columns(); ++b)
        p_.variables[y].unary[b] = plus(p_.variables[y].unary[b], (*t)(0, b));
      p_.drop_edge(x, y);
    }
    for (const usage_segment& s : v.segments) take_from_rows(s, s.usage[0]);
    v.segments.clear();
    p_.settle(x, 0);
    ++counts_.settled;
  }

  /// Usage that is there whatever is chosen; `tidy_rows` takes it off the limits.
  void take_from_rows(const usage_segment& s, double amount) {
    always_[s.begin] += amount;
    always_[s.end] -= amount;
  }

  /// Finite tables with cost(a, b) = f(a) + g(b).
  void separate(std::uint32_t x) {
    const auto edges = p_.variables[x].edges;
    for (const auto& [y, t] : edges) {
      if (!is_separable(*t)) continue;
      for (strategy a = 0; a < t->rows(); ++a)
        p_.variables[x].unary[a] = plus(p_.variables[x].unary[a], t->class_cost(t->row_class(a), 0));
      for (strategy b = 0; b < t->columns(); ++b)
        p_.variables[y].unary[b] += t->class_cost(0, t->column_class(b)) - t->class_cost(0, 0);
      p_.drop_edge(x, y);
      ++counts_.separated;
    }
  }
  static bool is_separable(const table& t) {
    const Cost corner = t.class_cost(0, 0);
    if (is_forbidden(corner)) return false;
    for (std::size_t i = 0; i < t.row_classes(); ++i)
      for (std::size_t j = 0; j < t.column_classes(); ++j) {
        if (is_forbidden(t.class_cost(i, j)) || is_forbidden(t.class_cost(i, 0)) || is_forbidden(t.class_cost(0, j)))
          return false;
        if (t.class_cost(i, j) != t.class_cost(i, 0) + t.class_cost(0, j) - corner) return false;
      }
    return true;
  }

  /// Merges x into a neighbour whose label determines x's, the one of most edges, and neighbours of fewer
  /// edges that x determines into x: edges move with the merged one, so the smaller end moves.
  void follow_neighbour(std::uint32_t x) {
    std::vector<std::uint32_t> followers;
    for (const auto& [y, t] : p_.variables[x].edges)
      if (p_.degree(y) < p_.degree(x) && determines_row(p_.variables[y].edges.at(x))) followers.push_back(y);
    for (const std::uint32_t y : followers) merge_into(y, x);
    std::uint32_t best = x;
    for (const auto& [y, t] : p_.variables[x].edges)
      if ((best == x || p_.degree(y) > p_.degree(best)) && determines_row(t)) best = y;
    if (best != x) merge_into(x, best);
  }
  void merge_into(std::uint32_t v, std::uint32_t u) {
    const table_pointer t = p_.variables[u].edges.at(v);
    std::vector<strategy> image(p_.label_count(u));
    for (strategy a = 0; a < image.size(); ++a)
      for (strategy b = 0; b < t->columns(); ++b)
        if (!is_forbidden((*t)(a, b))) image[a] = b;
    p_.merge(v, u, image);
    ++counts_.merged;
  }
  /// Every column allows exactly one row.
  bool determines_row(const table_pointer& pointer) {
    const auto [known, fresh] = determined_.try_emplace(pointer, false);
    if (fresh) known->second = allows_one_row(*pointer);
    return known->second;
  }
  static bool allows_one_row(const table& t) {
    std::vector<std::size_t> members(t.row_classes());
    for (const std::uint32_t c : t.row_class()) ++members[c];
    for (std::size_t j = 0; j < t.column_classes(); ++j) {
      std::size_t allowed = 0;
      for (std::size_t i = 0; i < t.row_classes() && allowed <= 1; ++i)
        if (!is_forbidden(t.class_cost(i, j))) allowed += members[i];
      if (allowed != 1) return false;
    }
    return true;
  }

  /// Label a uses no more than b, in any row; exactly as much where a row has a lower limit.
  [[nodiscard]] bool uses_no_more(const std::vector<usage_segment>& segments, strategy a, strategy b) const {
    return std::all_of(segments.begin(), segments.end(), [&](const usage_segment& s) {
      return s.usage[a] == s.usage[b] || (s.usage[a] < s.usage[b] && !has_lower_limit(s));
    });
  }
  [[nodiscard]] bool has_lower_limit(const usage_segment& s) const {
    if (!some_lower_limit_) return false;
    return std::any_of(p_.rows.begin() + s.begin, p_.rows.begin() + s.end,
                       [](const usage_row& r) { return r.low > -std::numeric_limits<double>::infinity(); });
  }

  void drop_dominated(std::uint32_t x) {
    auto& v = p_.variables[x];
    const std::size_t k = v.unary.size();
    if (k < 2 || k > limits_.dominance_labels) return;
    for (const auto& [y, t] : v.edges)
      if (t->row_classes() * t->row_classes() * t->column_classes() > limits_.dominance_work) return;
    std::vector<bool> gone(k, false);
    std::size_t left = k;
    // cheap labels first: they are the ones that dominate
    std::vector<strategy> order(k);
    std::iota(order.begin(), order.end(), strategy{0});
    std::stable_sort(order.begin(), order.end(), [&](strategy a, strategy b) { return v.unary[a] < v.unary[b]; });
    for (const strategy a : order) {
      if (gone[a]) continue;
      for (const strategy b : order) {
        if (a == b || gone[b] || gone[a]) continue;
        Cost excess = v.unary[a] - v.unary[b];
        bool worse = false;
        for (auto e = v.edges.begin(); !worse && e != v.edges.end(); ++e) {
          const Cost d = excess_of(e->second, e->second->row_class(a), e->second->row_class(b));
          worse = is_forbidden(d);
          if (!worse) excess += d;
        }
        if (worse || excess > 0 || !uses_no_more(v.segments, a, b)) continue;
        gone[b] = true;
        --left;
      }
    }
    if (left == k) return;
    counts_.dominated += k - left;
    std::vector<strategy> labels;
    for (strategy l = 0; l < k; ++l)
      if (!gone[l]) labels.push_back(l);
    keep(x, labels);
  }
  /// The most by which row class i costs more than row class j, over the columns that j allows.
  Cost excess_of(const table_pointer& pointer, std::uint32_t i, std::uint32_t j) {
    auto& known = excess_[pointer];
    const table& t = *pointer;
    const std::size_t r = t.row_classes();
    if (known.empty()) {
      known.assign(r * r, std::numeric_limits<Cost>::lowest());
      for (std::size_t a = 0; a < r; ++a)
        for (std::size_t b = 0; b < r; ++b)
          for (std::size_t c = 0; c < t.column_classes(); ++c) {
            if (is_forbidden(t.class_cost(b, c))) continue;
            Cost& most = known[a * r + b];
            most = is_forbidden(t.class_cost(a, c)) || is_forbidden(most)
                       ? forbidden<Cost>
                       : std::max(most, t.class_cost(a, c) - t.class_cost(b, c));
          }
    }
    return known[i * r + j];
  }

  /// A variable with one neighbour, or none.
  void remove_leaf(std::uint32_t x) {
    auto& v = p_.variables[x];
    if (v.edges.size() > 1) return;
    const auto better = [&](Cost ca, strategy a, Cost cb, strategy b) {
      return ca < cb || (ca == cb && !v.segments.empty() && uses_no_more(v.segments, a, b));
    };
    const auto best_of = [&](auto cost) -> std::optional<strategy> {
      strategy best = 0;
      for (strategy b = 1; b < v.unary.size(); ++b)
        if (better(cost(b), b, cost(best), best)) best = b;
      for (strategy b = 0; b < v.unary.size(); ++b)
        if (!is_forbidden(cost(b)) && !uses_no_more(v.segments, best, b)) return std::nullopt;
      return best;
    };
    if (v.edges.empty()) {
      const auto best = best_of([&](strategy b) { return v.unary[b]; });
      if (!best) return;
      for (const usage_segment& s : v.segments) take_from_rows(s, s.usage[*best]);
      v.segments.clear();
      p_.settle(x, *best);
      ++counts_.settled;
      return;
    }
    const std::uint32_t u = v.edges.begin()->first;
    const table_pointer t = v.edges.begin()->second;
    std::vector<std::optional<strategy>> by_class(t->column_classes());
    for (std::size_t j = 0; j < by_class.size(); ++j) {
      by_class[j] = best_of([&](strategy b) { return plus(v.unary[b], t->class_cost(t->row_class(b), j)); });
      if (!by_class[j]) return;
    }
    std::vector<strategy> image(t->columns());
    for (strategy a = 0; a < image.size(); ++a) image[a] = *by_class[t->column_class(a)];
    p_.merge(x, u, image);
    ++counts_.merged;
  }

  void remove_between(std::uint32_t x) {
    const auto& v = p_.variables[x];
    if (v.edges.size() != 2 || !v.segments.empty()) return;
    const auto first = v.edges.begin(), second = std::next(first);
    if (v.unary.size() * p_.label_count(first->first) * p_.label_count(second->first) > limits_.elimination_work) return;
    p_.eliminate(x, first->first, second->first);
    ++counts_.eliminated;
  }

  /// The usage of a variable as disjoint ranges of rows, neighbours of equal usage joined. What every label
  /// uses is taken off the limits.
  /// Complexity: O(segments * log segments + distinct range ends * labels)
  void tidy_segments(typename detail::mutable_problem<Cost>::variable& v) {
    const std::size_t k = v.unary.size();
    std::map<std::uint32_t, std::vector<double>> change;
    for (const usage_segment& s : v.segments)
      for (const auto& [at, sign] : {std::pair{s.begin, 1.0}, std::pair{s.end, -1.0}}) {
        auto& step = change[at];
        step.resize(k);
        for (std::size_t l = 0; l < k; ++l) step[l] += sign * s.usage[l];
      }
    v.segments.clear();
    std::vector<double> now(k);
    for (auto at = change.begin(); at != change.end(); ++at) {
      for (std::size_t l = 0; l < k; ++l) now[l] += at->second[l];
      if (std::next(at) == change.end()) break;
      usage_segment segment{at->first, std::next(at)->first, now};
      const double base = *std::min_element(now.begin(), now.end());
      take_from_rows(segment, base);
      bool constant = true;
      for (double& u : segment.usage) {
        u -= base;
        if (u <= rounding_) u = 0;  // sums of fractions that cancel leave dust
        constant = constant && u == 0;
      }
      if (constant) continue;
      if (!v.segments.empty() && v.segments.back().end == segment.begin && v.segments.back().usage == segment.usage) {
        v.segments.back().end = segment.end;
      } else {
        v.segments.push_back(std::move(segment));
      }
    }
  }

  /// Marks where usage of some label becomes more, or less, than in the row before.
  static void mark_changes(const std::vector<usage_segment>& segments, std::vector<bool>& rises, std::vector<bool>& falls) {
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const usage_segment& s = segments[i];
      if (i > 0 && segments[i - 1].end == s.begin) {
        for (std::size_t l = 0; l < s.usage.size(); ++l) {
          if (s.usage[l] > segments[i - 1].usage[l]) rises[s.begin] = true;
          if (s.usage[l] < segments[i - 1].usage[l]) falls[s.begin] = true;
        }
      } else {
        rises[s.begin] = true;
      }
      if (i + 1 == segments.size() || segments[i + 1].begin != s.end) falls[s.end] = true;
    }
  }

  /// A row whose neighbour has no more room and no label that uses less is implied by it.
  void drop_implied(std::vector<bool>& binds, const std::vector<bool>& rises, const std::vector<bool>& falls) const {
    const auto plain = [&](std::size_t r) { return p_.rows[r].low == -std::numeric_limits<double>::infinity(); };
    const auto scan = [&](auto at, const std::vector<bool>& against, std::size_t boundary_shift) {
      std::size_t kept = p_.rows.size();  // the last row that still stands
      bool broken = false;                // some usage is less in `kept` than in a row since
      for (std::size_t i = 0; i < p_.rows.size(); ++i) {
        const std::size_t r = at(i);
        if (i > 0) broken = broken || against[r + boundary_shift];
        if (!binds[r]) continue;
        if (kept < p_.rows.size() && !broken && plain(r) && plain(kept) && p_.rows[r].high >= p_.rows[kept].high) {
          binds[r] = false;
        } else {
          kept = r;
          broken = false;
        }
      }
    };
    scan([&](std::size_t i) { return i; }, rises, 0);                          // implied by the row before
    scan([&](std::size_t i) { return p_.rows.size() - 1 - i; }, falls, 1);     // implied by the row after
  }

  /// Takes what is always used off the limits, and removes rows that no labeling can break or that others imply.
  void tidy_rows() {
    if (infeasible_ || p_.rows.empty()) return;
    std::vector<double> most(p_.rows.size() + 1);
    std::vector<bool> rises(p_.rows.size() + 1), falls(p_.rows.size() + 1);
    for (auto& v : p_.variables) {
      if (!v.alive || v.segments.empty()) continue;
      tidy_segments(v);
      mark_changes(v.segments, rises, falls);
      for (const usage_segment& s : v.segments) {
        const double span = *std::max_element(s.usage.begin(), s.usage.end());
        most[s.begin] += span;
        most[s.end] -= span;
      }
    }
    std::vector<bool> binds(p_.rows.size());
    for (std::size_t r = 0; r < p_.rows.size(); ++r) {
      if (r > 0) {
        always_[r] += always_[r - 1];
        most[r] += most[r - 1];
      }
      usage_row& row = p_.rows[r];
      row.high -= always_[r];
      row.low -= always_[r];
      if (row.high < -1e-6 || most[r] < row.low - 1e-6) infeasible_ = true;
      binds[r] = most[r] > row.high || row.low > 0;
    }
    drop_implied(binds, rises, falls);
    std::vector<std::uint32_t> before(p_.rows.size() + 1);
    std::vector<usage_row> left;
    some_lower_limit_ = false;
    for (std::size_t r = 0; r < p_.rows.size(); ++r) {
      before[r + 1] = before[r] + (binds[r] ? 1 : 0);
      if (!binds[r]) continue;
      left.push_back(p_.rows[r]);
      some_lower_limit_ = some_lower_limit_ || left.back().low > -std::numeric_limits<double>::infinity();
    }
    counts_.rows += p_.rows.size() - left.size();
    if (left.size() < p_.rows.size())
      for (auto& v : p_.variables) {
        const std::size_t had = v.segments.size();
        for (usage_segment& s : v.segments) {
          s.begin = before[s.begin];
          s.end = before[s.end];
        }
        std::erase_if(v.segments, [](const usage_segment& s) { return s.begin == s.end; });
        if (v.segments.size() < had) v.dirty = true;
      }
    p_.rows = std::move(left);
    always_.assign(p_.rows.size() + 1, 0.0);
  }

  detail::mutable_problem<Cost> p_;
  reduction_limits limits_;
  deadline limit_;
  reduction_counts counts_;
  bool infeasible_ = false;
  bool some_lower_limit_ = false;
  double rounding_ = 0;         ///< sums of usage are off by less than this
  std::vector<double> always_;  ///< usage to be taken off the limits, as changes from row to row
  std::vector<std::uint32_t> kept_;
  std::optional<compact_problem<Cost>> kernel_;
  // keyed by owners, so that no address is used twice
  std::map<table_pointer, std::vector<bool>> supports_;
  std::map<table_pointer, std::vector<Cost>> excess_;
  std::map<table_pointer, bool> determined_;
};

}  // namespace v0
}  // namespace shardweave
