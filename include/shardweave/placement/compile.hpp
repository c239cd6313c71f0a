#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/placement/detail/collect_savings.hpp>
#include <shardweave/placement/detail/domains.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/validate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// From a problem as stated to the problem that solvers share. Every step is exact: the two have the same
/// feasible assignments with the same objective.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// One compilation: the state that its steps share.
template <cost_value Cost>
class compiler {
 public:
  using table_pointer = std::shared_ptr<const cost_table<Cost>>;

  compiler(std::shared_ptr<const placement_description<Cost>> description, const solve_control& control)
      : stated_(std::move(description)), limit_(control) {}

  placement_problem<Cost> run() {
    validate(*stated_);
    join_ties();
    join_edges();
    const budget_rows rows = rows_of(stated_->constraints.budgets);
    shrink_domains(rows);
    return assemble(rows);
  }

 private:
  /// The part of an edge's cost that one table gives, seen from the lower variable.
  struct contribution {
    std::uint32_t first, second;
    std::uint32_t table;  ///< of the description; those of pairings follow
    bool flipped;
    std::uint32_t source;  ///< edge; pairings follow

    auto key() const { return std::tuple(first, second, table, flipped); }
  };

  void join_ties() {
    const std::size_t n = stated_->vertices.size();
    std::vector<std::uint32_t> leader(n);
    std::iota(leader.begin(), leader.end(), 0U);
    const auto find = [&](std::uint32_t v) {
      while (leader[v] != v) v = leader[v] = leader[leader[v]];
      return v;
    };
    for (const tie& t : stated_->constraints.ties)
      for (const std::uint32_t v : t.vertices) {
        const auto [low, high] = std::minmax({find(t.vertices.front()), find(v)});  // by value
        leader[high] = low;
      }
    variable_of_.resize(n);
    for (std::uint32_t v = 0; v < n; ++v) {
      poll();
      if (find(v) == v) {
        variable_of_[v] = static_cast<std::uint32_t>(first_member_.size());
        first_member_.push_back(v);
        unary_.emplace_back(stated_->vertices[v].compute.size());
      } else {
        variable_of_[v] = variable_of_[find(v)];
      }
      auto& sum = unary_[variable_of_[v]];
      if (sum.size() != stated_->vertices[v].compute.size())
        refuse_input("ties join " + stated_->name_of(first_member_[variable_of_[v]]) + " with " +
                     std::to_string(sum.size()) + " strategies to " + stated_->name_of(v) + " with " +
                     std::to_string(stated_->vertices[v].compute.size()));
      for (std::size_t s = 0; s < sum.size(); ++s) sum[s] = plus(sum[s], stated_->vertices[v].compute[s]);
    }
  }

  /// Adds up parallel edges, the edges of tied vertices and pairings; equal sums are made once.
  void join_edges() {
    std::vector<table_pointer> tables = stated_->tables;
    std::vector<contribution> parts;
    const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t table, std::uint32_t source) {
      const std::uint32_t a = variable_of_[from], b = variable_of_[to];
      if (a == b) {  // both ends decide as one: the diagonal
        for (strategy s = 0; s < unary_[a].size(); ++s) unary_[a][s] = plus(unary_[a][s], (*tables[table])(s, s));
      } else {
        parts.push_back({std::min(a, b), std::max(a, b), table, a > b, source});
      }
    };
    for (std::uint32_t e = 0; e < stated_->edges.size(); ++e) {
      poll();
      const described_edge& edge = stated_->edges[e];
      if (edge.communication != no_table) add(edge.from, edge.to, edge.communication, e);
      if (edge.transition != no_table) add(edge.from, edge.to, edge.transition, e);
    }
    std::map<std::tuple<std::size_t, std::size_t, std::vector<std::pair<strategy, strategy>>>, std::uint32_t> relations;
    for (std::uint32_t p = 0; p < stated_->constraints.pairs.size(); ++p) {
      const pairing& pair = stated_->constraints.pairs[p];
      const std::size_t rows = stated_->vertices[pair.a].compute.size();
      const std::size_t columns = stated_->vertices[pair.b].compute.size();
      const auto [at, fresh] =
          relations.try_emplace({rows, columns, pair.allowed}, static_cast<std::uint32_t>(tables.size()));
      if (fresh) {
        std::vector<Cost> entries(rows * columns, forbidden<Cost>);
        for (const auto& [a, b] : pair.allowed) entries[a * columns + b] = Cost{};
        tables.push_back(
            std::make_shared<const cost_table<Cost>>(cost_table<Cost>::from_entries(rows, columns, entries)));
      }
      add(pair.a, pair.b, at->second, static_cast<std::uint32_t>(stated_->edges.size()) + p);
    }

    std::stable_sort(parts.begin(), parts.end(),
                     [](const contribution& a, const contribution& b) { return a.key() < b.key(); });
    std::map<std::vector<std::uint64_t>, table_pointer> sums;  // by (table, flipped, how often)
    for (std::size_t at = 0; at < parts.size();) {
      std::size_t end = at;
      std::vector<std::uint64_t> recipe;
      while (end < parts.size() && parts[end].first == parts[at].first && parts[end].second == parts[at].second) {
        std::size_t same = end;
        while (same < parts.size() && parts[same].key() == parts[end].key()) ++same;
        recipe.push_back(std::uint64_t{parts[end].table} * 2 + (parts[end].flipped ? 1 : 0));
        recipe.push_back(same - end);
        end = same;
      }
      const auto [known, fresh] = sums.try_emplace(recipe);
      if (fresh) known->second = sum_of(recipe, tables);
      joint_.push_back({parts[at].first, parts[at].second, known->second, parts[at].source});
      at = end;
      if (fresh) stop_if_asked();
      poll();
    }
  }

  static table_pointer sum_of(const std::vector<std::uint64_t>& recipe, const std::vector<table_pointer>& tables) {
    if (recipe.size() == 2 && recipe[0] % 2 == 0 && recipe[1] == 1) return tables[recipe[0] / 2];
    cost_table<Cost> sum;
    for (std::size_t i = 0; i < recipe.size(); i += 2) {
      const cost_table<Cost>& table = *tables[recipe[i] / 2];
      cost_table<Cost> part = recipe[i] % 2 == 0 ? table : table.transposed();
      if (recipe[i + 1] > 1) part = part.scaled(recipe[i + 1]);
      sum = i == 0 ? std::move(part) : sum + part;
    }
    return std::make_shared<const cost_table<Cost>>(std::move(sum));
  }

  void shrink_domains(const budget_rows& rows) {
    std::vector<std::size_t> sizes;
    for (const auto& u : unary_) sizes.push_back(u.size());
    left_ = std::make_unique<domains>(sizes, [this](std::uint32_t x) { return stated_->name_of(first_member_[x]); });
    for (std::uint32_t x = 0; x < unary_.size(); ++x) {
      poll();
      for (strategy s = 0; s < unary_[x].size(); ++s)
        if (is_forbidden(unary_[x][s])) left_->remove(x, s, [] { return std::string("its own cost, which is infinite"); });
    }
    for (const fixed_strategies& f : stated_->constraints.fixed)
      for (strategy s = 0; s < stated_->vertices[f.vertex].compute.size(); ++s)
        if (std::find(f.allowed.begin(), f.allowed.end(), s) == f.allowed.end())
          left_->remove(variable_of_[f.vertex], s, [&] { return "constraint '" + f.why + "'"; });

    for (std::uint32_t b = 0; b < stated_->constraints.budgets.size(); ++b)
      for (const row_range& range : rows.ranges[b]) {
        const budget_term& term = stated_->constraints.budgets[b].terms[range.term];
        segments_.push_back({variable_of_[term.vertex], range.begin, range.end, term.usage});
      }
    const auto name_edge = [&](const joint_edge<Cost>& e) {
      if (e.source < stated_->edges.size())
        return stated_->name_of_edge(e.source) + ", over which it has no partner of finite cost";
      const pairing& p = stated_->constraints.pairs[e.source - stated_->edges.size()];
      return "pairing '" + p.why + "' of " + stated_->name_of(p.a) + " with " + stated_->name_of(p.b);
    };
    const auto name_row = [&](const usage_row& row) {
      const budget& b = stated_->constraints.budgets[row.budget];
      const bool timed = std::any_of(b.terms.begin(), b.terms.end(), [](const auto& t) { return t.live.has_value(); });
      return "budget '" + b.name + "'" + (timed ? " at time " + std::to_string(row.time) : "");
    };
    do {
      stop_if_asked();
      make_arc_consistent<Cost>(*left_, joint_, name_edge, [this] { stop_if_asked(); });
    } while (fit_rows(*left_, rows.rows, segments_, name_row, [this] { poll(); }));
  }

  placement_problem<Cost> assemble(const budget_rows& rows) {
    compact_builder<Cost> builder;
    interner<std::vector<strategy>, sequence_hash> domain_numbers;
    std::vector<std::uint32_t> domain;
    std::vector<std::vector<strategy>> kept;
    for (std::uint32_t x = 0; x < unary_.size(); ++x) {
      poll();
      kept.push_back(left_->listed(x));
      domain.push_back(domain_numbers(kept.back()));
      std::vector<Cost> unary;
      for (const strategy s : kept.back()) unary.push_back(unary_[x][s]);
      builder.add_variable(unary);
    }
    std::map<std::tuple<const cost_table<Cost>*, std::uint32_t, std::uint32_t>, table_pointer> selected;
    for (const auto& e : joint_) {
      poll();
      table_pointer table = e.table;
      if (kept[e.first].size() < table->rows() || kept[e.second].size() < table->columns()) {
        auto& known = selected[{e.table.get(), domain[e.first], domain[e.second]}];
        if (!known)
          known = std::make_shared<const cost_table<Cost>>(table->selected(kept[e.first], kept[e.second]));
        table = known;
      }
      builder.add_edge(e.first, e.second, std::move(table));
    }
    add_rows(builder, rows.rows, kept);
    savings_terms<Cost> terms = savings_collector<Cost>(*stated_, variable_of_, kept).run();
    return placement_problem<Cost>(builder.build(), stated_, std::move(variable_of_), std::move(kept),
                                   std::move(terms));
  }

  /// Rows that no assignment can break are left out.
  void add_rows(compact_builder<Cost>& builder, const std::vector<usage_row>& rows,
                const std::vector<std::vector<strategy>>& kept) {
    const std::vector<double> least = extreme_usage(*left_, rows.size(), segments_, 1.0);
    const std::vector<double> most = extreme_usage(*left_, rows.size(), segments_, -1.0);
    std::vector<std::uint32_t> before(rows.size() + 1);  // kept rows before row r
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const bool binds = most[r] > rows[r].high || least[r] < rows[r].low;
      before[r + 1] = before[r] + (binds ? 1 : 0);
      if (binds) builder.add_row(rows[r]);
    }
    for (const joint_segment& s : segments_) {
      poll();
      if (before[s.begin] == before[s.end]) continue;
      usage_segment segment{before[s.begin], before[s.end], {}};
      for (const strategy k : kept[s.variable]) segment.usage.push_back(s.usage[k]);
      builder.add_segment(s.variable, std::move(segment));
    }
  }

  void stop_if_asked() const {
    if (limit_.expired()) refuse(error_category::stopped, "the problem was not built before the stop");
  }
  /// For steps of microseconds: looking at the clock would take longer than they do.
  void poll() const {
    if (++polls_ % 64 == 0) stop_if_asked();
  }

  std::shared_ptr<const placement_description<Cost>> stated_;
  deadline limit_;
  mutable std::uint32_t polls_ = 0;
  std::vector<std::uint32_t> variable_of_;
  std::vector<std::uint32_t> first_member_;
  std::vector<std::vector<Cost>> unary_;
  std::vector<joint_edge<Cost>> joint_;
  std::unique_ptr<domains> left_;
  std::vector<joint_segment> segments_;
};

}  // namespace detail

/// Compiles a stated problem: ties are merged and parallel edges added up, pairings become forbidden pairs,
/// strategies that no feasible assignment can have are removed (arc consistency, room in the budgets),
/// constant parts are pulled out, budgets keep the times at which they can bind, and equal tables stay one.
///
/// \throws error (input) for a description that makes no sense, naming the culprit
/// \throws error (constraint) if no assignment can be feasible, naming the vertex left without a strategy and
///         what removed the last one, or the budget that even the least usage breaks
/// \throws error (stopped) if `control` ends the work first
/// Complexity: linear in vertices, edges and distinct tables, times the class counts; memory likewise
template <cost_value Cost>
[[nodiscard]] placement_problem<Cost> compile(std::shared_ptr<const placement_description<Cost>> description,
                                              const solve_control& control = {}) {
  return detail::compiler<Cost>(std::move(description), control).run();
}

template <cost_value Cost>
[[nodiscard]] placement_problem<Cost> compile(placement_description<Cost> description,
                                              const solve_control& control = {}) {
  return compile(std::make_shared<const placement_description<Cost>>(std::move(description)), control);
}

}  // namespace v0
}  // namespace shardweave
