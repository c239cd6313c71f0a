#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/placement/compile_costs.hpp>
#include <shardweave/placement/detail/domains.hpp>
#include <shardweave/placement/detail/joint_tables.hpp>
#include <shardweave/placement/validate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Definition of `compile_costs`.

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
    rows_ = rows_of(stated_->constraints.budgets);
    for (const row_range& range : rows_.ranges) {
      const budget_term& term = stated_->constraints.budgets[range.budget].terms[range.term];
      segments_.push_back({variable_of_[term.vertex], range.begin, range.end, term.usage});
    }
    joint_tables<Cost> joint(*stated_, variable_of_, limit_);
    joint.add_own_costs(unary_);
    const domains all = left_by_themselves();
    std::optional<domains> left;
    try_to(
        // sums of tables are large, so they are made for the remaining strategies if it is certain that some remain
        [&] {
          domains less = all;
          make_arc_consistent<Cost>(less, joint.parts(), limit_);  // who has no partner here has none in the sum
          joint.add_up(&less);
          shrink(less, joint);
          left = std::move(less);
        },
        [&](const error& e) { return e.category() == error_category::constraint; });
    if (!left) {
      joint.add_up(nullptr);  // the reason for infeasibility is reported for the whole
      left = all;
      shrink(*left, joint);
    }
    return assemble(joint, *left);
  }

 private:
  void join_ties() {
    const std::size_t n = stated_->vertices.size();
    const std::vector<std::uint32_t> leader = tie_leaders(n, stated_->constraints.ties);
    variable_of_.resize(n);
    for (std::uint32_t v = 0; v < n; ++v) {
      limit_.poll();
      const std::vector<Cost>& compute = stated_->vertices[v].compute;
      if (leader[v] == v) {
        variable_of_[v] = static_cast<std::uint32_t>(first_member_.size());
        first_member_.push_back(v);
        unary_.push_back(compute);
        continue;
      }
      variable_of_[v] = variable_of_[leader[v]];
      std::vector<Cost>& sum = unary_[variable_of_[v]];
      if (sum.size() != compute.size())
        refuse_input("ties join " + stated_->name_of(leader[v]) + " with " + std::to_string(sum.size()) +
                     " strategies to " + stated_->name_of(v) + " with " + std::to_string(compute.size()));
      for (std::size_t s = 0; s < sum.size(); ++s) sum[s] = plus(sum[s], compute[s]);
    }
  }

  /// The strategies that are not excluded by themselves.
  /// \throws error (constraint) if none are left somewhere
  [[nodiscard]] domains left_by_themselves() const {
    std::vector<std::size_t> sizes;
    for (const auto& u : unary_) sizes.push_back(u.size());
    domains left(sizes, [this](named_thing thing) { return name_of(thing); });
    for (std::uint32_t x = 0; x < unary_.size(); ++x) {
      limit_.poll();
      for (strategy s = 0; s < unary_[x].size(); ++s)
        if (is_forbidden(unary_[x][s])) left.remove(x, s, {named_thing::kind::own_cost});
    }
    const std::vector<fixed_strategies>& fixed = stated_->constraints.fixed;
    for (std::uint32_t i = 0; i < fixed.size(); ++i)
      for (strategy s = 0; s < stated_->vertices[fixed[i].vertex].compute.size(); ++s)
        if (std::find(fixed[i].allowed.begin(), fixed[i].allowed.end(), s) == fixed[i].allowed.end())
          left.remove(variable_of_[fixed[i].vertex], s, {named_thing::kind::constraint, i});
    return left;
  }

  void shrink(domains& left, const joint_tables<Cost>& joint) const {
    do {
      limit_.check();
      make_arc_consistent<Cost>(left, joint.edges(), limit_);
    } while (fit_rows(left, rows_.rows, segments_, limit_));
  }

  placement_problem<Cost> assemble(joint_tables<Cost>& joint, const domains& left) {
    compact_builder<Cost> builder;
    const strategy_lists kept(left);
    typename placement_problem<Cost>::label_names names;
    std::vector<Cost> unary;
    for (std::uint32_t x = 0; x < unary_.size(); ++x) {
      limit_.poll();
      unary.clear();
      for (const strategy s : kept[x]) unary.push_back(unary_[x][s]);
      builder.add_variable(unary);
      names.list_of.push_back(kept.number_of(x));
    }
    for (std::size_t e = 0; e < joint.edges().size(); ++e) {
      limit_.poll();
      const joint_edge<Cost>& edge = joint.edges()[e];
      builder.add_edge(edge.first, edge.second, joint.take(e, kept));
    }
    add_rows(builder, left, kept);
    for (std::uint32_t d = 0; d < kept.count(); ++d) names.lists.push_back(kept.list(d));
    return placement_problem<Cost>(builder.build(), stated_, std::move(variable_of_), std::move(names));
  }

  /// Adds the rows that some assignment can violate.
  void add_rows(compact_builder<Cost>& builder, const domains& left, const strategy_lists& kept) const {
    const std::vector<usage_row>& rows = rows_.rows;
    const std::vector<double> least = extreme_usage(left, rows.size(), segments_, 1.0);
    const std::vector<double> most = extreme_usage(left, rows.size(), segments_, -1.0);
    std::vector<std::uint32_t> before(rows.size() + 1);  // number of kept rows before each
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const bool binds = most[r] > rows[r].high || least[r] < rows[r].low;
      before[r + 1] = before[r] + (binds ? 1 : 0);
      if (binds) builder.add_row(rows[r]);
    }
    for (const joint_segment& s : segments_) {
      limit_.poll();
      if (before[s.begin] == before[s.end]) continue;
      usage_segment segment{before[s.begin], before[s.end], {}};
      segment.usage.reserve(kept[s.variable].size());
      for (const strategy k : kept[s.variable]) segment.usage.push_back(s.usage[k]);
      builder.add_segment(s.variable, std::move(segment));
    }
  }

  /// All words about what leaves no assignment.
  [[nodiscard]] std::string name_of(named_thing thing) const {
    const constraint_set& asked = stated_->constraints;
    switch (thing.is) {
      case named_thing::kind::variable:
        return stated_->name_of(first_member_[thing.index]);
      case named_thing::kind::own_cost:
        return "its own cost, which is infinite";
      case named_thing::kind::constraint:
        return "constraint '" + asked.fixed[thing.index].why + "'";
      case named_thing::kind::edge: {
        if (thing.index < stated_->edges.size())
          return stated_->name_of_edge(thing.index) + ", over which it has no partner of finite cost";
        const pairing& p = asked.pairs[thing.index - stated_->edges.size()];
        return "pairing '" + p.why + "' of " + stated_->name_of(p.a) + " with " + stated_->name_of(p.b);
      }
      case named_thing::kind::row:
        break;
    }
    const usage_row& row = rows_.rows[thing.index];
    const budget& b = asked.budgets[row.budget];
    const bool timed = std::any_of(b.terms.begin(), b.terms.end(), [](const auto& t) { return t.live.has_value(); });
    return "budget '" + b.name + "'" + (timed ? " at time " + std::to_string(row.time) : "");
  }

  std::shared_ptr<const placement_description<Cost>> stated_;
  compile_limit limit_;
  std::vector<std::uint32_t> variable_of_;
  std::vector<std::uint32_t> first_member_;
  std::vector<std::vector<Cost>> unary_;
  budget_rows rows_;
  std::vector<joint_segment> segments_;
};

}  // namespace detail

template <cost_value Cost>
placement_problem<Cost> compile_costs(std::shared_ptr<const placement_description<Cost>> description,
                                      const solve_control& control) {
  return detail::compiler<Cost>(std::move(description), control).run();
}

}  // namespace shardweave::inline v0
