#pragma once

#include "choices.hpp"
#include <shardweave/placement/description.hpp>

#include <support/random_problem.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// Placement problems small enough to try every assignment of, as a fuzzer chooses them: a few vertices of a few
/// strategies, costs from a short list of which the later ones are awkward, and anything that a description may state.

namespace fuzz {

namespace sw = shardweave;

/// Which numbers a problem may have. Each kind has those of the kinds before it.
enum class cost_kind : std::size_t { whole, negative, forbidden, fractions, huge };

template <class Cost>
class problem_chooser {
 public:
  explicit problem_chooser(choices& from) : from_(&from) {}

  [[nodiscard]] shardweave_test::random_problem<Cost> run() {
    kind_ = static_cast<cost_kind>(from_->below(5));
    const std::size_t features = from_->below(64);
    const auto has = [&](unsigned bit) { return (features >> bit & 1U) != 0; };
    choose_vertices(has(0));
    choose_edges();
    if (has(1)) choose_fixed();
    if (has(2)) choose_pairing();
    if (has(3)) choose_budget(false);
    if (has(4)) choose_budget(true);
    if (has(5)) choose_savings();
    return std::move(result_);
  }
  [[nodiscard]] cost_kind kind() const { return kind_; }

 private:
  auto& d() { return result_.description; }

  Cost cost() {
    constexpr double never = std::numeric_limits<double>::infinity();
    constexpr std::array all{0.0, 1.0,   2.0, 3.0, 5.0,       8.0,  13.0, -1.0, -4.0,
                             7.0, never, 6.0, 0.5, 1.0 / 3.0, 0.07, 2e6,  1e12, -1e12};
    constexpr std::array<std::size_t, 5> known{7, 10, 12, 15, all.size()};
    const double chosen = all[from_->below(known[static_cast<std::size_t>(kind_)])];
    if constexpr (std::is_floating_point_v<Cost>) {
      return static_cast<Cost>(chosen);
    } else {
      return chosen == never ? sw::forbidden<Cost> : static_cast<Cost>(chosen);
    }
  }
  std::uint32_t vertex() { return static_cast<std::uint32_t>(from_->below(d().vertices.size())); }
  std::size_t strategies(std::uint32_t v) { return d().vertices[v].compute.size(); }

  /// With ties a vertex may have to agree with an earlier one; both then have as many strategies.
  void choose_vertices(bool tied) {
    std::size_t assignments = 1;
    for (std::size_t n = 1 + from_->below(6); n > 0; --n) {
      const std::size_t at = d().vertices.size();
      std::size_t count = 1 + from_->below(4);
      if (const std::size_t before = tied && at > 0 ? from_->below(at + 1) : 0; before > 0) {
        const auto to = static_cast<std::uint32_t>(before - 1);
        d().constraints.ties.push_back({{to, static_cast<std::uint32_t>(at)}, "tie"});
        count = strategies(to);
      } else {
        count = std::min(count, most_assignments / assignments);
        assignments *= count;
      }
      auto& v = d().vertices.emplace_back();
      for (std::size_t s = 0; s < count; ++s) v.compute.push_back(cost());
    }
  }
  /// New, or one that an earlier edge has.
  std::uint32_t table(std::size_t rows, std::size_t columns) {
    auto& known = result_.dense;
    const std::size_t one = from_->below(known.size() + 1);
    if (one > 0 && known[one - 1].rows == rows && known[one - 1].columns == columns)
      return static_cast<std::uint32_t>(one - 1);
    shardweave_test::dense_table<Cost> made{rows, columns, {}};
    for (std::size_t i = 0; i < rows * columns; ++i) made.entries.push_back(cost());
    d().tables.push_back(
        std::make_shared<const sw::cost_table<Cost>>(sw::cost_table<Cost>::from_entries(rows, columns, made.entries)));
    known.push_back(std::move(made));
    return static_cast<std::uint32_t>(known.size() - 1);
  }
  void choose_edges() {
    for (std::size_t n = from_->below(9); n > 0; --n) {
      sw::described_edge e;
      e.from = vertex();
      e.to = vertex();
      const std::size_t has = 1 + from_->below(3);  // communication, transition, both
      if (has != 2) e.communication = table(strategies(e.from), strategies(e.to));
      if (has >= 2) e.transition = table(strategies(e.from), strategies(e.to));
      d().edges.push_back(e);
    }
  }
  void choose_fixed() {
    sw::fixed_strategies fixed{vertex(), {}, "fixed"};
    const std::size_t which = from_->below(16);
    for (sw::strategy s = 0; s < strategies(fixed.vertex); ++s)
      if ((which >> s & 1U) != 0) fixed.allowed.push_back(s);
    d().constraints.fixed.push_back(std::move(fixed));
  }
  void choose_pairing() {
    sw::pairing p{vertex(), vertex(), {}, "pairing"};
    for (sw::strategy a = 0; a < strategies(p.a); ++a) {
      const std::size_t which = from_->below(16);
      for (sw::strategy b = 0; b < strategies(p.b); ++b)
        if ((which >> b & 1U) != 0) p.allowed.emplace_back(a, b);
    }
    d().constraints.pairs.push_back(std::move(p));
  }
  void choose_budget(bool timed) {
    constexpr double any = std::numeric_limits<double>::infinity();
    constexpr std::array usages{0.0, 1.0, 2.0, 3.0, 5.0, 0.1, 0.5, 1e9};
    constexpr std::array limits{any, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 0.3, 0.7, 1e9};
    sw::budget b{timed ? "memory" : "parameters"};
    for (std::size_t n = from_->below(8); n > 0; --n) {
      sw::budget_term term{vertex(), {}, std::nullopt};
      for (std::size_t s = 0; s < strategies(term.vertex); ++s) term.usage.push_back(from_->one_of(usages));
      if (timed && !from_->maybe()) {
        const auto first = static_cast<std::int64_t>(from_->below(5));
        term.live = sw::live_interval{first, first + static_cast<std::int64_t>(from_->below(5))};
      }
      b.terms.push_back(std::move(term));
    }
    b.high = from_->one_of(limits);
    if (const double low = timed ? any : from_->one_of(limits); low <= b.high && low < any) b.low = low;
    d().constraints.budgets.push_back(std::move(b));
  }
  void choose_savings() {
    constexpr std::array forms{sw::savings_form::strict, sw::savings_form::inclusive, sw::savings_form::inclusive_twice,
                               sw::savings_form::windows};
    d().counted = from_->one_of(forms);
    const auto goes_back = [](const sw::described_edge& e) { return e.from >= e.to; };
    if (d().counted == sw::savings_form::windows && std::ranges::any_of(d().edges, goes_back))
      d().counted = sw::savings_form::strict;
    d().windows.every_edge = from_->maybe();
    if (from_->maybe()) d().windows.prefetch = from_->below(4);
    for (std::uint32_t e = 0; e < d().edges.size(); ++e) {
      const std::size_t how = from_->below(5);
      const auto channel = static_cast<std::int64_t>(how > 0 ? from_->below(3) : 0) - 1;
      if (how == 4) {
        const std::uint32_t first = vertex();
        d().overlap.push_back({.edge = e,
                               .first = first,
                               .last = first + static_cast<std::uint32_t>(from_->below(3)),
                               .channel = channel});
      }
      if (how == 1 || how == 3)
        d().overlap.push_back({.edge = e, .direction = sw::hiding::earlier, .channel = channel});
      if (how == 2 || how == 3) d().overlap.push_back({.edge = e, .direction = sw::hiding::later, .channel = channel});
    }
  }

  static constexpr std::size_t most_assignments = 256;
  choices* from_;
  cost_kind kind_ = cost_kind::whole;
  shardweave_test::random_problem<Cost> result_;
};

}  // namespace fuzz
