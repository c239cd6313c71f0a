#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/detail/collect_savings.hpp>
#include <shardweave/placement/detail/domains.hpp>
#include <shardweave/placement/detail/joint_tables.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/validate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// Definition of `compile`.

namespace shardweave::inline v0 {
namespace detail {

/// State of one compilation.
template <cost_value Cost>
class compiler {
 public:
  compiler(std::shared_ptr<const placement_description<Cost>> description, const solve_control& control)
      : stated_(std::move(description)), limit_(control) {}

  placement_problem<Cost> run() {
    validate(*stated_);
    join_ties();
    joint_.emplace(*stated_, variable_of_);
    joint_->join(
        [this](std::uint32_t x, const cost_table<Cost>& own) {
          for (strategy s = 0; s < unary_[x].size(); ++s) unary_[x][s] = plus(unary_[x][s], own(s, s));
        },
        [this] { poll(); });
    const budget_rows rows = rows_of(stated_->constraints.budgets);
    bool is_feasible = true;
    try_to(
        // sums of tables are large, so they are made for the remaining strategies if it is certain that some remain
        [&] {
          domains less = left_by_parts();
          joint_->add_up(&less, [this] { stop_if_asked(); });
          shrink_domains(rows, std::move(less));
        },
        [&](const error& e) {
          is_feasible = e.category() != error_category::constraint;
          return !is_feasible;
        });
    if (!is_feasible) {
      joint_->add_up(nullptr, [this] { stop_if_asked(); });  // the reason for infeasibility is reported for the whole
      domains all = all_strategies();
      remove_single(all);
      shrink_domains(rows, std::move(all));
    }
    return assemble(rows);
  }

 private:
  void join_ties() {
    const std::size_t n = stated_->vertices.size();
    const std::vector<std::uint32_t> leader = tie_leaders(n, stated_->constraints.ties);
    variable_of_.resize(n);
    for (std::uint32_t v = 0; v < n; ++v) {
      poll();
      if (leader[v] == v) {
        variable_of_[v] = static_cast<std::uint32_t>(first_member_.size());
        first_member_.push_back(v);
        unary_.emplace_back(stated_->vertices[v].compute.size());
      } else {
        variable_of_[v] = variable_of_[leader[v]];
      }
      auto& sum = unary_[variable_of_[v]];
      if (sum.size() != stated_->vertices[v].compute.size())
        refuse_input("ties join " + stated_->name_of(first_member_[variable_of_[v]]) + " with " +
                     std::to_string(sum.size()) + " strategies to " + stated_->name_of(v) + " with " +
                     std::to_string(stated_->vertices[v].compute.size()));
      for (std::size_t s = 0; s < sum.size(); ++s) sum[s] = plus(sum[s], stated_->vertices[v].compute[s]);
    }
  }

  /// The strategies that have a partner in every single table, as any strategy without one has none in the sum.
  /// \throws error (constraint) if none are left somewhere
  [[nodiscard]] domains left_by_parts() const {
    domains less = all_strategies();
    remove_single(less);
    make_arc_consistent<Cost>(
        less, joint_->parts(), [](const joint_edge<Cost>&) { return std::string(); }, [this] { stop_if_asked(); });
    return less;
  }

  [[nodiscard]] domains all_strategies() const {
    std::vector<std::size_t> sizes;
    for (const auto& u : unary_) sizes.push_back(u.size());
    return domains(sizes, [this](std::uint32_t x) { return stated_->name_of(first_member_[x]); });
  }

  /// Removes strategies that are excluded by themselves.
  void remove_single(domains& left) const {
    for (std::uint32_t x = 0; x < unary_.size(); ++x) {
      poll();
      for (strategy s = 0; s < unary_[x].size(); ++s)
        if (is_forbidden(unary_[x][s]))
          left.remove(x, s, [] { return std::string("its own cost, which is infinite"); });
    }
    for (const fixed_strategies& f : stated_->constraints.fixed)
      for (strategy s = 0; s < stated_->vertices[f.vertex].compute.size(); ++s)
        if (std::find(f.allowed.begin(), f.allowed.end(), s) == f.allowed.end())
          left.remove(variable_of_[f.vertex], s, [&] { return "constraint '" + f.why + "'"; });
  }

  /// \param known  remaining strategies as far as known
  void shrink_domains(const budget_rows& rows, domains known) {
    left_ = std::make_unique<domains>(std::move(known));
    segments_.clear();

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
      make_arc_consistent<Cost>(*left_, joint_->edges(), name_edge, [this] { stop_if_asked(); });
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
    for (std::size_t e = 0; e < joint_->edges().size(); ++e) {
      poll();
      builder.add_edge(joint_->edges()[e].first, joint_->edges()[e].second, joint_->take(e, kept, domain));
    }
    joint_.reset();
    add_rows(builder, rows.rows, kept);
    std::vector<std::vector<strategy>> domains_kept;
    for (std::uint32_t d = 0; d < domain_numbers.size(); ++d) domains_kept.push_back(domain_numbers[d]);
    return placement_problem<Cost>(builder.build(), stated_, std::move(variable_of_),
                                   {std::move(domain), std::move(domains_kept)});
  }

  /// Adds the rows that some assignment can violate.
  void add_rows(compact_builder<Cost>& builder, const std::vector<usage_row>& rows,
                const std::vector<std::vector<strategy>>& kept) {
    const std::vector<double> least = extreme_usage(*left_, rows.size(), segments_, 1.0);
    const std::vector<double> most = extreme_usage(*left_, rows.size(), segments_, -1.0);
    std::vector<std::uint32_t> before(rows.size() + 1);  // number of kept rows before each
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const bool binds = most[r] > rows[r].high || least[r] < rows[r].low;
      before[r + 1] = before[r] + (binds ? 1 : 0);
      if (binds) builder.add_row(rows[r]);
    }
    for (const joint_segment& s : segments_) {
      poll();
      if (before[s.begin] == before[s.end]) continue;
      usage_segment segment{before[s.begin], before[s.end], {}};
      segment.usage.reserve(kept[s.variable].size());
      for (const strategy k : kept[s.variable]) segment.usage.push_back(s.usage[k]);
      builder.add_segment(s.variable, std::move(segment));
    }
  }

  void stop_if_asked() const {
    if (limit_.expired()) refuse(error_category::stopped, "the problem was not built before the stop");
  }
  /// For steps of microseconds: a look at the clock would take longer.
  void poll() const {
    if (++polls_ % 64 == 0) stop_if_asked();
  }

  std::shared_ptr<const placement_description<Cost>> stated_;
  deadline limit_;
  mutable std::uint32_t polls_ = 0;
  std::vector<std::uint32_t> variable_of_;
  std::vector<std::uint32_t> first_member_;
  std::vector<std::vector<Cost>> unary_;
  std::optional<joint_tables<Cost>> joint_;
  std::unique_ptr<domains> left_;
  std::vector<joint_segment> segments_;
};

template <cost_value Cost>
placement_problem<Cost> compile_costs(std::shared_ptr<const placement_description<Cost>> description,
                                      const solve_control& control) {
  return compiler<Cost>(std::move(description), control).run();
}

}  // namespace detail

template <cost_value Cost>
placement_problem<Cost> compile(std::shared_ptr<const placement_description<Cost>> description,
                                const solve_control& control) {
  placement_problem<Cost> problem = detail::compile_costs<Cost>(std::move(description), control);
  if (problem.description()->counted == savings_form::off) return problem;
  return problem.with_savings(detail::savings_collector<Cost>(problem).run());
}

}  // namespace shardweave::inline v0
