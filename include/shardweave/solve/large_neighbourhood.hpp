#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/search/detail/savings_state.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Improves an assignment by re-solving parts of the problem with the rest fixed.

namespace shardweave::inline v0 {

/// The default solver of windows in a `large_neighbourhood`: brief, so that many can be tried.
struct window_search : branch_and_bound {
  static constexpr std::string_view name = "window_search";
  window_search() {
    nodes = 20;
    root_steps = 150;
    node_steps = 40;
    decode_every = 10;
    polish_moves = 0;
  }
};

/// Frees a window of some dozens of variables, solves for their best labels with all others fixed by `S`, accepts the
/// answer if it costs no more, and repeats with another window. A window is a ball of neighbours, a few balls, or many
/// small balls around variables that use one row, so that usage can be exchanged between distant variables.
///
/// Without an assignment to start from, `first` finds one, in three tenths of the time if that is limited. Budgets are
/// kept exactly. Tries `windows` windows; with a time limit it continues until then, or until as many windows in a row
/// gained nothing.
///
/// With savings, `S` solves the window under prices of the computation that hides: first the best prices for the
/// present labels, then means of these and of those for answers that were no better. An answer is accepted if costs
/// less savings, computed exactly, do not increase. A solver that counts savings itself gets the window unchanged.
/// Source: P. Shaw, Using constraint programming and local search methods to solve vehicle routing problems, CP 1998.
/// Complexity: per window a restriction of the problem, which is linear in its size, and a call of `S`; with savings
/// up to three calls
template <class S = window_search>
class large_neighbourhood {
 public:
  static constexpr std::string_view name = "large_neighbourhood";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  S inner;
  std::size_t windows = 200;
  std::size_t largest = 90;  ///< variables in a window, at most; more where `S` solves so many fast
  local_search first = {};

  large_neighbourhood() = default;
  explicit large_neighbourhood(S inner_solver) : inner(std::move(inner_solver)) {}

  /// One window. `labels` keep all rows before and after and never cost more.
  /// \returns whether they are cheaper now
  template <cost_value Cost>
  bool once(const compact_problem<Cost>& p, std::vector<strategy>& labels, Cost& cost, const deadline& limit,
            random_source& random) const {
    const auto rest = opened(restriction<Cost>(p), p, labels, random);
    if (!rest || rest->open.empty()) return false;
    const solution<Cost> found = detail::solved_by(inner, rest->problem, brief(limit, random));
    if (!found.has_assignment() || found.objective > cost) return false;
    std::vector<strategy> better = rest->lift(*rest->problem.labels_of(found.choice));
    const Cost price = p.cost(better);
    if (price > cost || !p.keeps_rows(better)) return false;  // rounding
    const bool gained = price < cost;
    labels = std::move(better);
    cost = price;
    return gained;
  }

  /// The same with savings. `objective` is costs less savings.
  template <cost_value Cost>
  bool once(const placement_problem<Cost>& problem, std::vector<strategy>& labels, Cost& objective,
            const deadline& limit, random_source& random) const {
    const compact_problem<Cost>& p = problem.compact();
    if (problem.savings() == nullptr) return once(p, labels, objective, limit, random);
    restriction<Cost> part(p);
    part.with_savings(problem);
    const auto rest = opened(std::move(part), p, labels, random);
    if (!rest || rest->open.empty()) return false;
    std::vector<strategy> better = answer(*rest, labels, limit, random);
    if (better.empty()) return false;
    better = rest->lift(better);
    const Cost value = problem.objective(better);
    if (is_forbidden(value) || value > objective || !p.keeps_rows(better)) return false;
    const bool gained = value < objective;
    labels = std::move(better);
    objective = value;
    return gained;
  }

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    if (!control.start.empty()) return search(problem, std::span<const strategy>(control.start), control);
    const deadline limit(control);
    solve_control brief = limit.rest();
    brief.seconds *= 0.3;
    const solution<Cost> start = first.solve(problem, brief);
    if (!start.has_assignment()) return start;
    return search(problem, std::span<const strategy>(start.choice), limit.rest());
  }

 private:
  static constexpr std::size_t savings_attempts = 3;  ///< price vectors tried per window
  static constexpr std::size_t usual_least = 20;      ///< variables in a window, at least: half and twice are as good

  /// Large neighbourhood search from an assignment, which is repaired first if it violates constraints.
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> search(const placement_problem<Cost>& problem, std::span<const strategy> choice,
                                      const solve_control& control) const {
    constexpr double no_bound = -std::numeric_limits<double>::infinity();
    const compact_problem<Cost>& p = problem.compact();
    const deadline limit(control);
    solve_statistics statistics{.solver = std::string(name)};
    std::optional<std::vector<strategy>> labels = problem.labels_of(choice);
    Cost cost = labels ? problem.objective(*labels) : forbidden<Cost>;
    if (is_forbidden(cost) || !p.keeps_rows(*labels)) {
      solve_control from = limit.rest();
      from.start.assign(choice.begin(), choice.end());
      const solution<Cost> repaired = first.solve(problem, from);
      if (!repaired.has_assignment()) return repaired;
      labels = problem.labels_of(repaired.choice);
      cost = problem.objective(*labels);
    }
    random_source random(control.seed);
    const bool is_timed = std::isfinite(control.seconds);
    std::size_t idle = 0, gains = 0;
    const auto is_cut = [&] { return limit.expired() || statistics.iterations >= control.iterations; };
    while (p.size() > 0 && !is_cut() && (is_timed ? idle : statistics.iterations) < windows) {
      ++statistics.iterations;
      ++idle;
      if (!once(problem, *labels, cost, limit, random)) continue;
      idle = 0;
      ++gains;
      statistics.seconds_to_best = limit.elapsed();
      if (control.progress)
        control.progress({.stage = name, .seconds = limit.elapsed(), .objective = static_cast<double>(cost)});
    }
    const bool stopped = is_cut();
    if (stopped) statistics.add_note("stopped after " + std::to_string(statistics.iterations) + " windows.");
    statistics.count({{"windows that gained", static_cast<double>(gains)}});
    statistics.seconds = limit.elapsed();
    return conclude(problem, std::span<const strategy>(*labels), no_bound, stopped, std::move(statistics), control);
  }

  [[nodiscard]] static solve_control brief(const deadline& limit, random_source& random) {
    solve_control control = limit.rest_for_part();
    control.seed = random();
    return control;
  }

  /// The problem of a window, with all else fixed.
  template <cost_value Cost>
  [[nodiscard]] std::optional<restricted_problem<Cost>> opened(restriction<Cost> part, const compact_problem<Cost>& p,
                                                               const std::vector<strategy>& labels,
                                                               random_source& random) const {
    std::vector<bool> is_open(p.size());
    for (const std::uint32_t x : window(p, labels, random)) is_open[x] = true;
    for (std::size_t x = 0; x < p.size(); ++x)
      if (!is_open[x]) part.fix(x, labels[x]);
    return part.build();
  }

  /// Labels of a window whose costs less savings are no worse; empty if none are found.
  template <cost_value Cost>
  [[nodiscard]] std::vector<strategy> answer(const restricted_problem<Cost>& rest, const std::vector<strategy>& labels,
                                             const deadline& limit, random_source& random) const {
    const compact_problem<Cost>& p = rest.problem.compact();
    const savings_terms<Cost>* terms = rest.problem.savings();
    if (terms == nullptr || detail::abilities_of<S>.savings) {
      const solution<Cost> found = detail::solved_by(inner, rest.problem, brief(limit, random));
      return found.has_assignment() ? *rest.problem.labels_of(found.choice) : std::vector<strategy>{};
    }
    std::vector<strategy> now(rest.open.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto& kept = rest.kept[rest.open[i]];
      now[i] = static_cast<strategy>(std::find(kept.begin(), kept.end(), labels[rest.open[i]]) - kept.begin());
    }
    const Cost worst = rest.problem.objective(now);
    priced_problem<Cost> priced(p, *terms);
    chain_prices<Cost> chain(*terms);
    std::vector<Cost> offered, wanted;
    terms->measure(now, offered, wanted);
    chain.values() = random.chance(0.5) ? detail::cut_prices(*terms, offered, wanted)
                                        : detail::mixed_prices(*terms, offered, wanted, random);
    for (std::size_t attempt = 1; attempt <= savings_attempts && !limit.expired(); ++attempt) {
      chain.update();
      const placement_problem<double> plain(priced.with_prices(chain));
      const solution<double> found = detail::solved_by(inner, plain, brief(limit, random));
      if (!found.has_assignment()) return {};
      std::vector<strategy> better(found.choice.begin(), found.choice.end());
      if (better == now) return {};
      if (!(rest.problem.objective(better) > worst)) return better;
      terms->measure(better, offered, wanted);
      const std::vector<double> other = detail::cut_prices(*terms, offered, wanted);
      for (std::size_t i = 0; i < other.size(); ++i)
        chain.values()[i] += (other[i] - chain.values()[i]) / static_cast<double>(attempt + 1);
    }
    return {};
  }

  template <cost_value Cost>
  [[nodiscard]] std::vector<std::uint32_t> window(const compact_problem<Cost>& p, std::span<const strategy> labels,
                                                  random_source& random) const {
    const std::size_t least = std::min(usual_least, largest);
    const std::size_t most = std::min(p.size(), least + random.below(largest - least + 1));
    std::vector<std::uint32_t> roots;
    const std::size_t kind = random.below(3);
    if (kind == 2 && !p.rows().empty()) {
      users_of_a_row(p, labels, 6 + random.below(12), random, roots);
    } else if (kind == 1) {
      for (std::size_t i = 2 + random.below(4); i-- > 0;) roots.push_back(any_of(p, random));
    }
    if (roots.empty()) roots.push_back(any_of(p, random));

    std::vector<bool> seen(p.size());
    std::vector<std::uint32_t> members;
    std::size_t target = 0;
    for (std::size_t i = 0; i < roots.size(); ++i) {  // each ball gets its share
      target = most * (i + 1) / roots.size();
      std::vector<std::uint32_t> frontier{roots[i]};
      while (!frontier.empty() && members.size() < target) {
        std::swap(frontier[random.below(frontier.size())], frontier.back());
        const std::uint32_t x = frontier.back();
        frontier.pop_back();
        if (seen[x]) continue;
        seen[x] = true;
        members.push_back(x);
        for (const compact_link& link : p.links(x))
          if (!seen[link.other]) frontier.push_back(link.other);
      }
    }
    return members;
  }

  template <cost_value Cost>
  [[nodiscard]] static std::uint32_t any_of(const compact_problem<Cost>& p, random_source& random) {
    return static_cast<std::uint32_t>(random.below(p.size()));
  }

  /// Draws variables that use a row: the one with the least room of three random rows.
  template <cost_value Cost>
  static void users_of_a_row(const compact_problem<Cost>& p, std::span<const strategy> labels, std::size_t most,
                             random_source& random, std::vector<std::uint32_t>& users) {
    const std::vector<double> used = p.usage(labels);
    std::size_t row = random.below(used.size());
    const auto room = [&](std::size_t r) {
      return (p.rows()[r].high - used[r]) / std::max(1.0, std::abs(p.rows()[r].high));
    };
    for (int i = 0; i < 2; ++i)
      if (const std::size_t other = random.below(used.size()); room(other) < room(row)) row = other;
    for (std::size_t draw = 0; draw < 30 * most && users.size() < most; ++draw) {
      const std::uint32_t x = any_of(p, random);
      const auto segments = p.segments(x);
      if (std::any_of(segments.begin(), segments.end(),
                      [&](const usage_segment& s) { return s.begin <= row && row < s.end; }))
        users.push_back(x);
    }
  }
};

template <class S>
large_neighbourhood(S) -> large_neighbourhood<S>;

}  // namespace shardweave::inline v0
