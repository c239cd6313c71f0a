#pragma once

#include <shardweave/solve/bound/detail/knapsack_factor.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/detail/min_plus.hpp>
#include <shardweave/solve/detail/two_costs.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Dual ascent by message passing, the base of `trws` and `budgeted`.

namespace shardweave::inline v0 {

/// Sequential tree-reweighted message passing over the variables of a compact problem in their order.
///
/// Rows are not considered: a caller adds their prices to the unary costs. The bound of a pass is valid for the present
/// unary costs whatever the messages are, so costs may change between passes while messages stay warm; while costs do
/// not change, the bound never falls. Messages are stored per class of the receiver's labels.
/// Complexity: a pass takes O(labels * degree + sum of row classes * column classes)
///
/// Source: V. Kolmogorov, Convergent tree-reweighted message passing for energy minimization, PAMI 28 (2006).
template <cost_value Cost>
class dual_ascent {
 public:
  /// \pre `problem` outlives this object
  explicit dual_ascent(const compact_problem<Cost>& problem) : p_(&problem), tables_(problem) {
    unary_.reserve(problem.total_labels());
    for (std::size_t x = 0; x < problem.size(); ++x)
      for (const Cost c : problem.unary(x)) unary_.push_back(in_double(c));
    share_.resize(problem.size());
    std::size_t most_classes = 0, most_labels = 0;
    for (const compact_edge& e : problem.edges()) {
      const auto& t = problem.table(e);
      to_first_.push_back(static_cast<std::uint32_t>(messages_.size()));
      messages_.resize(messages_.size() + padded(t.row_classes()));
      to_second_.push_back(static_cast<std::uint32_t>(messages_.size()));
      messages_.resize(messages_.size() + t.stride());
      most_classes = std::max({most_classes, padded(t.row_classes()), t.stride()});
      is_plain_.push_back(
          static_cast<char>((is_identity(t.row_class()) ? 1 : 0) | (is_identity(t.column_class()) ? 2 : 0)));
    }
    messages_.shrink_to_fit();
    for (std::size_t x = 0; x < problem.size(); ++x) {
      share_[x] = share_of(x);
      most_labels = std::max(most_labels, problem.label_count(x));
    }
    belief_.resize(most_labels);
    least_.resize(most_classes);
    out_.resize(most_classes);
  }

  /// Makes a row a knapsack factor instead of pricing it: a dynamic program over the used capacity, which exchanges
  /// messages with the variables that use the row and bounds the row's integer hull.
  /// \param price       the caller's price on the row, which the factor takes over and `unary` must no longer contain
  /// \param most_cells  resolution: the limit counts as at most so many cells, usage is rounded down to cells
  /// \pre no usage of the row is negative, and it has no lower limit
  /// Complexity: O(cells * usage classes) per pass and variable that uses the row; memory O(variables * cells)
  void add_row(std::uint32_t row, double price, std::size_t most_cells) {
    const auto number = static_cast<std::uint32_t>(rows_.size());
    const auto& added = rows_.emplace_back(*p_, row, price, most_cells);
    row_links_.resize(p_->size());
    const auto members = added.members();
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      const std::uint32_t x = members[i].variable;
      row_links_[x].push_back({number, i});
      row_least_.resize(std::max(row_least_.size(), members[i].weight.size()));
      share_[x] = share_of(x);
    }
  }
  /// The work of such a row per pass: cells times usage classes.
  [[nodiscard]] std::size_t work_of_row(std::uint32_t row, std::size_t most_cells) const {
    std::size_t classes = 0;
    for (std::uint32_t x = 0; x < p_->size(); ++x)
      for (const usage_segment& s : p_->segments(x))
        if (s.begin <= row && row < s.end) {
          std::vector<double> usage = s.usage;
          std::sort(usage.begin(), usage.end());
          classes += static_cast<std::size_t>(std::unique(usage.begin(), usage.end()) - usage.begin());
        }
    return classes * most_cells;
  }

  /// The present unary costs, for all labels of all variables; a caller may change them between passes.
  [[nodiscard]] std::span<double> unary() { return unary_; }

  /// The present costs of one of the problem's tables, for a caller who changes them between passes: row classes times
  /// the table's stride, padding included. The pointer stays valid; to be called once per table.
  [[nodiscard]] double* own_table(std::size_t table) { return tables_.own(table); }

  /// One pass in the order of the variables. \returns a valid lower bound, the problem's constant included
  ///
  /// If `excess` is not empty, it receives for every label the belief above the least one of its variable at its visit:
  /// the bound plus that is a lower bound on all labelings that use the label.
  double forward(std::span<double> excess = {}) { return pass(true, excess); }
  /// One pass in reverse order. \returns a valid lower bound, the problem's constant included
  double backward(std::span<double> excess = {}) { return pass(false, excess); }
  /// For every label of every variable, a valid lower bound on all labelings that use it: the bound of one pass plus
  /// the label's excess in the next one. The excess counts in full only if the messages of both directions belong to
  /// the present unary costs, so two passes go before.
  /// \param earned  the constant part of the prices in unary costs, which is subtracted from every bound
  /// \param bound   raised to what the passes prove; no label has a lower one
  [[nodiscard]] std::vector<double> label_bounds(double earned, double& bound) {
    forward();
    double reached = backward() - earned;
    std::vector<double> excess(p_->total_labels()), result(p_->total_labels(), reached);
    for (const bool ascending : {true, false}) {
      const double next = pass(ascending, excess) - earned;
      for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], reached + excess[i]);
      bound = std::max(bound, reached);
      reached = next;
    }
    bound = std::max(bound, reached);
    for (double& of_label : result) of_label = std::max(of_label, bound);
    return result;
  }
  /// The largest change of a message in the last pass.
  [[nodiscard]] double last_change() const { return change_; }

  /// Decodes labels: each variable in turn takes the best label by exact costs to the variables before it and messages
  /// of the others.
  void decode(std::span<strategy> labels) {
    for (std::size_t x = 0; x < p_->size(); ++x) {
      const std::size_t k = p_->label_count(x);
      load_unary(x, k);
      for (const compact_link& link : p_->links(x)) {
        if (!link.is_first) {
          const compact_edge& edge = p_->edges()[link.edge];
          const auto& classes = p_->table(edge);
          const double_table& t = tables_[edge.table];
          const double* costs = t.costs + classes.row_class(labels[link.other]) * t.stride;
          for (std::size_t l = 0; l < k; ++l) belief_[l] += costs[classes.column_class()[l]];
        } else {
          add_message(link, k);
        }
      }
      add_rows(x, k);
      labels[x] = static_cast<strategy>(
          std::min_element(belief_.begin(), belief_.begin() + static_cast<std::ptrdiff_t>(k)) - belief_.begin());
    }
  }

  /// The label of least belief of each variable, independently.
  void choose(std::span<strategy> labels) {
    for (std::size_t x = 0; x < p_->size(); ++x) {
      const std::size_t k = load_belief(x);
      labels[x] = static_cast<strategy>(
          std::min_element(belief_.begin(), belief_.begin() + static_cast<std::ptrdiff_t>(k)) - belief_.begin());
    }
  }

  /// The message along an edge for a label of the receiver; `set_message` replaces it for the label's whole class.
  [[nodiscard]] double message(std::size_t edge, bool to_second, strategy label) const {
    const auto& t = p_->table(p_->edges()[edge]);
    return messages_[to_second ? to_second_[edge] + t.column_class(label) : to_first_[edge] + t.row_class(label)];
  }
  void set_message(std::size_t edge, bool to_second, strategy label, double value) {
    const auto& t = p_->table(p_->edges()[edge]);
    messages_[to_second ? to_second_[edge] + t.column_class(label) : to_first_[edge] + t.row_class(label)] = value;
  }
  [[nodiscard]] std::span<detail::knapsack_factor> knapsacks() { return rows_; }

  /// Passes in both directions, for `multipliers` and `amounts`: beliefs of labels without room in a row that is a
  /// factor are infinite otherwise, and large here. \returns the bound of the last one
  double settle() {
    if (!rows_.empty()) {
      const double large = 1024 * magnitude();
      for (auto& row : rows_) row.set_without_room(large);
      const auto is_infinite = [](double m) { return !std::isfinite(m); };
      if (std::any_of(messages_.begin(), messages_.end(), is_infinite)) {
        std::replace_if(messages_.begin(), messages_.end(), is_infinite, 0.0);
        // what they proved comes back by and by
        double reached = -infinity;
        for (std::size_t passes = 0; passes < most_to_settle; ++passes) {
          forward();
          const double before = std::exchange(reached, backward());
          if (reached - before <= least_to_settle * std::abs(reached)) break;
        }
      }
    }
    forward();
    const double bound = backward();
    for (auto& row : rows_) row.set_without_room(infinity);
    return bound;
  }
  /// After a backward pass: its messages as multipliers of the local polytope (`dual_values::of_class`); with the
  /// present unary costs, their `dual_bound` is the bound of that pass. If rows are factors, that holds together with
  /// `amounts`, after `settle`.
  [[nodiscard]] std::vector<double> multipliers() {
    std::vector<double> excess(p_->total_labels());
    for (std::size_t x = 0; x < p_->size(); ++x) {
      const auto end = belief_.begin() + static_cast<std::ptrdiff_t>(load_belief(x));
      const double least = *std::min_element(belief_.begin(), end);
      std::transform(belief_.begin(), end, excess.begin() + static_cast<std::ptrdiff_t>(p_->label_start(x)),
                     [&](double belief) { return share_[x] * (belief - least); });
    }
    std::vector<double> result;
    for (std::size_t e = 0; e < p_->edges().size(); ++e) {
      const std::size_t second = p_->edges()[e].second;
      const auto& t = p_->table(p_->edges()[e]);
      for (std::size_t i = 0; i < t.row_classes(); ++i) result.push_back(-messages_[to_first_[e] + i]);
      result.resize(result.size() + t.column_classes(), infinity);
      double* const of_column = result.data() + result.size() - t.column_classes();
      for (strategy l = 0; l < t.columns(); ++l)
        of_column[t.column_class(l)] = std::min(of_column[t.column_class(l)], excess[p_->label_start(second) + l]);
      for (std::size_t j = 0; j < t.column_classes(); ++j) of_column[j] -= messages_[to_second_[e] + j];
    }
    return result;
  }

  /// What variables have put into the rows that are factors.
  [[nodiscard]] std::vector<row_amounts> amounts() const {
    std::vector<row_amounts> all;
    for (const auto& row : rows_) {
      row_amounts& one = all.emplace_back(row_amounts{.row = row.row()});
      for (const auto& m : row.members()) {
        auto& of_labels = one.members.emplace_back(row_amounts::member{.variable = m.variable}).amounts;
        for (const std::uint32_t c : m.class_of) of_labels.push_back(m.cost[c]);
      }
    }
    return all;
  }

  /// Messages and factor costs, for `restore`.
  [[nodiscard]] std::vector<double> messages() const {
    std::vector<double> all;
    save(all);
    return all;
  }
  /// The same into existing memory.
  void save(std::vector<double>& all) const {
    all.assign(messages_.begin(), messages_.end());
    for (const auto& row : rows_) row.save(all);
  }
  void restore(const std::vector<double>& messages) {
    std::copy_n(messages.begin(), messages_.size(), messages_.begin());
    const double* from = messages.data() + messages_.size();
    for (auto& row : rows_) from = row.restore(from);
  }

 private:
  struct row_link {
    std::uint32_t factor, member;
  };
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::size_t most_to_settle =
      60;  ///< pairs of passes of `settle`: what is missing may fall by no more than a third in each
  static constexpr double least_to_settle = 1e-6;  ///< relative rise of the bound by such a pair for another
  /// Whether every label is a class of its own, in order.
  template <class Classes>
  static bool is_identity(const Classes& classes) {
    for (std::size_t l = 0; l < classes.size(); ++l)
      if (classes[l] != l) return false;
    return true;
  }
  [[nodiscard]] bool is_plain(const compact_link& link) const {
    return (is_plain_[link.edge] & (link.is_first ? 1 : 2)) != 0;
  }
  static std::size_t padded(std::size_t n) {
    return (n + cost_table<Cost>::padding - 1) / cost_table<Cost>::padding * cost_table<Cost>::padding;
  }

  /// The largest of all finite costs and messages.
  [[nodiscard]] double magnitude() const {
    double most = 1;
    const auto see = [&most](double value) {
      if (std::isfinite(value)) most = std::max(most, std::abs(value));
    };
    for (const double cost : unary_) see(cost);
    for (const double m : messages_) see(m);
    for (const auto& row : rows_)
      for (const auto& m : row.members())
        for (const double cost : m.cost) see(cost);
    return most;
  }

  /// The share of a variable's belief that it sends in each message of a pass.
  [[nodiscard]] double share_of(std::size_t x) const {
    const auto links = p_->links(x);
    auto later = static_cast<std::size_t>(
        std::count_if(links.begin(), links.end(), [](const compact_link& l) { return l.is_first; }));
    std::size_t earlier = links.size() - later;
    if (!rows_.empty())
      for (const row_link& link : row_links_[x]) {
        if (link.member + 1 < rows_[link.factor].members().size()) ++later;
        if (link.member > 0) ++earlier;
      }
    return 1.0 / static_cast<double>(std::max<std::size_t>({later, earlier, 1}));
  }
  void load_unary(std::size_t x, std::size_t k) {
    std::copy_n(unary_.begin() + static_cast<std::ptrdiff_t>(p_->label_start(x)), k, belief_.begin());
  }
  void add_message(const compact_link& link, std::size_t k) {
    double* message = messages_.data() + (link.is_first ? to_first_ : to_second_)[link.edge];
    if (is_plain(link)) {
      detail::add_costs(belief_.data(), message, k);
      return;
    }
    const auto& t = p_->table(p_->edges()[link.edge]);
    const auto classes = link.is_first ? t.row_class() : t.column_class();
    for (std::size_t l = 0; l < k; ++l) belief_[l] += message[classes[l]];
  }
  std::size_t load_belief(std::size_t x) {
    const std::size_t k = p_->label_count(x);
    load_unary(x, k);
    for (const compact_link& link : p_->links(x)) add_message(link, k);
    add_rows(x, k);
    return k;
  }
  void add_rows(std::size_t x, std::size_t k) {
    if (rows_.empty()) return;
    for (const row_link& link : row_links_[x]) {
      const auto& m = rows_[link.factor].members()[link.member];
      for (std::size_t l = 0; l < k; ++l) belief_[l] += m.received[m.class_of[l]];
    }
  }

  double pass(bool ascending, std::span<double> excess) {
    change_ = 0;
    double bound = in_double(p_->constant()), magnitude = std::abs(bound);
    const auto count = [&](double amount) {
      bound += amount;
      magnitude += std::abs(amount);
    };
    for (auto& row : rows_) row.begin(ascending);
    for (std::size_t step = 0; step < p_->size(); ++step) {
      const std::size_t x = ascending ? step : p_->size() - 1 - step;
      if (!rows_.empty())
        for (const row_link& link : row_links_[x]) rows_[link.factor].receive(link.member);
      const std::size_t k = load_belief(x);
      const double least = detail::least_cost(belief_.data(), k);
      count(least);
      detail::lower_costs(belief_.data(), least, k);
      if (!excess.empty())
        std::copy_n(belief_.begin(), k, excess.begin() + static_cast<std::ptrdiff_t>(p_->label_start(x)));
      for (const compact_link& link : p_->links(x))
        if (link.is_first == ascending) count(send(link, k, share_[x]));
      if (!rows_.empty())
        for (const row_link& link : row_links_[x]) send_to_row(link, k, share_[x], ascending);
    }
    for (auto& row : rows_) {
      count(row.finish(ascending));
      magnitude += row.magnitude();
    }
    // every addition is off by at most half a unit in the last place, and the bound must not be too high
    const auto additions = static_cast<double>(p_->size() + p_->edges().size() + 4096);
    return bound - additions * std::numeric_limits<double>::epsilon() * magnitude;
  }

  void send_to_row(const row_link& link, std::size_t k, double share, bool ascending) {
    auto& row = rows_[link.factor];
    const auto& m = row.members()[link.member];
    std::fill_n(row_least_.begin(), m.weight.size(), std::numeric_limits<double>::infinity());
    for (std::size_t l = 0; l < k; ++l) row_least_[m.class_of[l]] = std::min(row_least_[m.class_of[l]], belief_[l]);
    const bool is_last = link.member == (ascending ? row.members().size() - 1 : 0);
    row.send(link.member, row_least_, is_last ? 0 : share);
  }

  /// Sends a message along a link to a variable that is visited later. \returns the amount by which it was normalized
  double send(const compact_link& link, std::size_t k, double share) {
    const auto& classes = p_->table(p_->edges()[link.edge]);
    const double_table& t = tables_[p_->edges()[link.edge].table];
    const std::size_t own = link.is_first ? t.rows : t.columns;
    const std::size_t others = link.is_first ? t.columns : t.rows;
    double* incoming = messages_.data() + (link.is_first ? to_first_ : to_second_)[link.edge];
    double* outgoing = messages_.data() + (link.is_first ? to_second_ : to_first_)[link.edge];

    // the belief of a label without partner at the other end is infinite, and infinity less infinity is not a number
    if (is_plain(link)) {
      detail::share_costs(least_.data(), belief_.data(), share, incoming, own);
    } else {
      const auto own_class = link.is_first ? classes.row_class() : classes.column_class();
      std::fill_n(least_.begin(), own, infinity);
      for (std::size_t l = 0; l < k; ++l) least_[own_class[l]] = std::min(least_[own_class[l]], belief_[l]);
      detail::share_costs(least_.data(), least_.data(), share, incoming, own);
    }
    if (link.is_first) {
      min_plus_columns(t, least_.data(), out_.data());
    } else {
      std::fill(least_.begin() + static_cast<std::ptrdiff_t>(own),
                least_.begin() + static_cast<std::ptrdiff_t>(t.stride), 0.0);
      min_plus_rows(t, least_.data(), out_.data());
    }
    const double taken = detail::least_cost(out_.data(), others);
    change_ = std::max(change_, detail::replace_costs(outgoing, out_.data(), taken, others));
    return taken;
  }

  const compact_problem<Cost>* p_;
  detail::double_tables<Cost> tables_;
  std::vector<double> unary_;
  std::vector<double> share_;
  std::vector<double> messages_;
  std::vector<std::uint32_t> to_first_, to_second_;  ///< offset of an edge's messages
  std::vector<char> is_plain_;  ///< per edge: whether labels are classes, at the first end (1), at the second (2)
  std::vector<double> belief_, least_, out_;
  std::vector<detail::knapsack_factor> rows_;
  std::vector<std::vector<row_link>> row_links_;  ///< per variable; empty without factors
  std::vector<double> row_least_;
  double change_ = 0;
  using double_table = detail::double_table;
};

#ifdef SHARDWEAVE_COMPILED
extern template class dual_ascent<double>;
extern template class dual_ascent<std::int64_t>;
#endif

}  // namespace shardweave::inline v0
