#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/description.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Small random placement problems, and a second opinion on them that shares no code with the library: it
/// reads dense tables, tries every assignment of the vertices as stated and knows nothing of compilation.

namespace shardweave_test {

namespace sw = shardweave;

/// A table as everyone knows it.
template <class Cost>
struct dense_table {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<Cost> entries;  ///< row-major
  [[nodiscard]] Cost operator()(std::size_t a, std::size_t b) const { return entries[a * columns + b]; }
};

/// A stated problem with its tables written out.
template <class Cost>
struct random_problem {
  sw::placement_description<Cost> description;
  std::vector<dense_table<Cost>> dense;  ///< as `description.tables`
};

/// A stated problem and what is known of it without the library's tables.
template <class Cost>
[[nodiscard]] random_problem<Cost> with_dense_tables(sw::placement_description<Cost> description) {
  random_problem<Cost> result{std::move(description), {}};
  for (const auto& table : result.description.tables) {
    dense_table<Cost> dense{table->rows(), table->columns(), {}};
    for (std::size_t a = 0; a < dense.rows; ++a)
      for (std::size_t b = 0; b < dense.columns; ++b) dense.entries.push_back((*table)(a, b));
    result.dense.push_back(std::move(dense));
  }
  return result;
}

// --- the second opinion ---------------------------------------------------------------------------------------

/// Budgets are kept at every single time that any interval touches, and at one when nothing with an interval lives.
inline bool keeps_budgets(const sw::constraint_set& constraints, std::span<const sw::strategy> choice) {
  for (const sw::budget& b : constraints.budgets) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), end = std::numeric_limits<std::int64_t>::min();
    for (const sw::budget_term& term : b.terms)
      if (term.live) {
        first = std::min(first, term.live->first);
        end = std::max(end, term.live->end);
      }
    const bool timed = first <= end;
    if (!timed) first = end = 0;
    std::vector<double> used(static_cast<std::size_t>(end - first) + 1);  // at times first, ..., end
    for (const sw::budget_term& term : b.terms) {
      const double usage = term.usage[choice[term.vertex]];
      double* at = used.data() + (term.live ? term.live->first - first : 0);
      for (auto times = term.live ? term.live->end - term.live->first : end - first + 1; times > 0; --times)
        *at++ += usage;
    }
    const auto [least, most] = std::minmax_element(used.begin(), used.end());
    if (*most > b.high + 1e-6) return false;
    if (!timed && *least < b.low - 1e-6) return false;
  }
  return true;
}

/// The cost of an assignment by the dense tables; nothing if it is forbidden or breaks a constraint.
template <class Cost>
[[nodiscard]] std::optional<Cost> price_of(const random_problem<Cost>& problem, std::span<const sw::strategy> choice) {
  const auto& d = problem.description;
  if (choice.size() != d.vertices.size()) return std::nullopt;
  constexpr Cost bad = std::numeric_limits<Cost>::has_infinity ? std::numeric_limits<Cost>::infinity()
                                                               : std::numeric_limits<Cost>::max();
  Cost total{};
  for (std::size_t v = 0; v < choice.size(); ++v) {
    if (choice[v] >= d.vertices[v].compute.size() || d.vertices[v].compute[choice[v]] == bad) return std::nullopt;
    total += d.vertices[v].compute[choice[v]];
  }
  for (const auto& e : d.edges)
    for (const std::uint32_t t : {e.communication, e.transition}) {
      if (t == sw::no_table) continue;
      const Cost c = problem.dense[t](choice[e.from], choice[e.to]);
      if (c == bad) return std::nullopt;
      total += c;
    }
  for (const auto& f : d.constraints.fixed)
    if (std::count(f.allowed.begin(), f.allowed.end(), choice[f.vertex]) == 0) return std::nullopt;
  for (const auto& t : d.constraints.ties)
    for (const std::uint32_t v : t.vertices)
      if (choice[v] != choice[t.vertices[0]]) return std::nullopt;
  for (const auto& p : d.constraints.pairs) {
    bool agreed = false;
    for (const auto& [a, b] : p.allowed) agreed = agreed || (a == choice[p.a] && b == choice[p.b]);
    if (!agreed) return std::nullopt;
  }
  if (!keeps_budgets(d.constraints, choice)) return std::nullopt;
  return total;
}

/// The best that can be had.
template <class Cost>
struct brute_optimum {
  std::optional<Cost> objective;  ///< nothing if no assignment is feasible
  sw::assignment choice;          ///< one that has it
  std::size_t feasible = 0;       ///< how many feasible assignments there are
};

namespace detail {

/// Depth first over the vertices as stated. A branch ends at the first vertex, edge, tie, pairing or fixed
/// strategy that it breaks; costs never cut, so that all feasible assignments are counted.
template <class Cost>
struct enumeration {
  const random_problem<Cost>& problem;
  brute_optimum<Cost> best = {};
  sw::assignment choice = {};
  std::vector<std::vector<std::size_t>> edges_at = {}, pairs_at = {};  // by the later of the two ends
  std::vector<std::vector<std::uint32_t>> tied_before = {};
  std::vector<std::vector<bool>> fixed_out = {};

  explicit enumeration(const random_problem<Cost>& p) : problem(p) {
    const auto& d = p.description;
    const std::size_t n = d.vertices.size();
    choice.resize(n);
    edges_at.resize(n);
    pairs_at.resize(n);
    tied_before.resize(n);
    for (const auto& v : d.vertices) fixed_out.emplace_back(v.compute.size(), false);
    for (std::size_t e = 0; e < d.edges.size(); ++e) edges_at[std::max(d.edges[e].from, d.edges[e].to)].push_back(e);
    for (std::size_t i = 0; i < d.constraints.pairs.size(); ++i)
      pairs_at[std::max(d.constraints.pairs[i].a, d.constraints.pairs[i].b)].push_back(i);
    for (const auto& t : d.constraints.ties)
      for (const std::uint32_t a : t.vertices)
        for (const std::uint32_t b : t.vertices)
          if (b < a) tied_before[a].push_back(b);
    for (const auto& f : d.constraints.fixed)
      for (sw::strategy s = 0; s < fixed_out[f.vertex].size(); ++s)
        if (std::count(f.allowed.begin(), f.allowed.end(), s) == 0) fixed_out[f.vertex][s] = true;
  }

  [[nodiscard]] static bool bad(Cost c) {
    if constexpr (std::numeric_limits<Cost>::has_infinity) return c == std::numeric_limits<Cost>::infinity();
    return c == std::numeric_limits<Cost>::max();
  }

  void descend(std::uint32_t v, Cost so_far) {
    const auto& d = problem.description;
    if (v == d.vertices.size()) {
      if (!keeps_budgets(d.constraints, choice)) return;
      ++best.feasible;
      if (!best.objective || so_far < *best.objective) {
        best.objective = so_far;
        best.choice = choice;
      }
      return;
    }
    for (sw::strategy s = 0; s < d.vertices[v].compute.size(); ++s) {
      choice[v] = s;
      if (const auto cost = added_by(v)) descend(v + 1, so_far + *cost);
    }
  }

  [[nodiscard]] std::optional<Cost> added_by(std::uint32_t v) const {
    const auto& d = problem.description;
    Cost added = d.vertices[v].compute[choice[v]];
    if (bad(added) || fixed_out[v][choice[v]]) return std::nullopt;
    for (const std::uint32_t u : tied_before[v])
      if (choice[u] != choice[v]) return std::nullopt;
    for (const std::size_t e : edges_at[v])
      for (const std::uint32_t t : {d.edges[e].communication, d.edges[e].transition}) {
        if (t == sw::no_table) continue;
        const Cost c = problem.dense[t](choice[d.edges[e].from], choice[d.edges[e].to]);
        if (bad(c)) return std::nullopt;
        added += c;
      }
    for (const std::size_t i : pairs_at[v]) {
      const auto& p = d.constraints.pairs[i];
      bool agreed = false;
      for (const auto& [a, b] : p.allowed) agreed = agreed || (a == choice[p.a] && b == choice[p.b]);
      if (!agreed) return std::nullopt;
    }
    return added;
  }
};

}  // namespace detail

/// Tries every assignment of the vertices as stated.
template <class Cost>
[[nodiscard]] brute_optimum<Cost> brute_force(const random_problem<Cost>& problem) {
  detail::enumeration<Cost> all(problem);
  all.descend(0, Cost{});
  return std::move(all.best);
}

template <class Cost>
[[nodiscard]] brute_optimum<Cost> brute_force(const sw::placement_description<Cost>& description) {
  return brute_force(with_dense_tables(description));
}

// --- the generator --------------------------------------------------------------------------------------------

/// What a random problem may contain; each draw decides whether it does, and how much.
struct problem_features {
  bool forbidden = true;  ///< infinite costs of strategies and pairs
  bool parallel = true;   ///< several edges, of both directions, between two vertices; edges of a vertex to itself
  bool ties = true;       ///< several vertices per tie, ties that meet, edges between tied vertices
  bool pairings = true;
  bool fixed = true;
  bool budgets = true;     ///< over all vertices, upper and lower limits, loose, tight and impossible
  bool timed = true;       ///< over live intervals
  bool negative = true;    ///< costs below zero
  bool impossible = true;  ///< now and then a budget that nothing meets, or forbidden pairs around an odd cycle
  std::size_t max_vertices = 8;
  std::size_t max_strategies = 5;
  std::size_t max_assignments = 4096;  ///< of the vertices as stated, tied ones counted once

  /// One of 128 combinations of the first seven switches.
  [[nodiscard]] static problem_features combination(unsigned bits) {
    problem_features f;
    f.forbidden = (bits & 1U) != 0;
    f.parallel = (bits & 2U) != 0;
    f.ties = (bits & 4U) != 0;
    f.pairings = (bits & 8U) != 0;
    f.fixed = (bits & 16U) != 0;
    f.budgets = (bits & 32U) != 0;
    f.timed = (bits & 64U) != 0;
    return f;
  }
};

namespace detail {

template <class Cost>
class generator {
 public:
  generator(std::uint64_t seed, const problem_features& features) : random_(seed * 2 + 1), with_(features) {}

  random_problem<Cost> run() {
    draw_sizes();
    draw_vertices();
    draw_edges();
    draw_choices();
    draw_budgets();
    d().name = "random";
    return std::move(result_);
  }

 private:
  auto& d() { return result_.description; }
  [[nodiscard]] std::size_t between(std::size_t low, std::size_t high) { return low + random_.below(high - low + 1); }
  [[nodiscard]] bool maybe(bool allowed, double p) { return random_.chance(p) && allowed; }

  /// Whole numbers, halves or anything; equal costs are common, so that ties between assignments are too.
  [[nodiscard]] Cost cost() {
    const auto whole = static_cast<Cost>(random_.below(range_));
    const Cost shifted = with_.negative && below_zero_ ? whole - static_cast<Cost>(range_ / 3) : whole;
    if constexpr (std::numeric_limits<Cost>::is_integer) {
      return shifted;
    } else {
      return grain_ == 0 ? shifted : grain_ == 1 ? shifted / 2 : shifted + static_cast<Cost>(random_.unit());
    }
  }
  [[nodiscard]] static Cost bad() {
    return std::numeric_limits<Cost>::has_infinity ? std::numeric_limits<Cost>::infinity()
                                                   : std::numeric_limits<Cost>::max();
  }

  void draw_sizes() {
    grain_ = random_.below(3);
    range_ = random_.chance(0.3) ? 4 : 60;
    below_zero_ = random_.chance(0.3);
    share_forbidden_ = maybe(with_.forbidden, 0.8) ? 0.05 + 0.35 * random_.unit() : 0;
    const std::size_t n = between(1, with_.max_vertices);
    group_.resize(n);
    std::iota(group_.begin(), group_.end(), 0U);
    if (maybe(with_.ties, 0.7) && n > 1)
      for (std::size_t count = between(1, 2); count-- > 0;) {
        sw::tie t{{}, "tie " + std::to_string(count)};
        for (std::size_t members = between(2, std::min<std::size_t>(n, 4)); members-- > 0;)
          t.vertices.push_back(static_cast<std::uint32_t>(random_.below(n)));
        const std::uint32_t leader = group_[t.vertices[0]];
        for (const std::uint32_t v : t.vertices) {
          const std::uint32_t joined = group_[v];
          std::replace(group_.begin(), group_.end(), joined, leader);
        }
        d().constraints.ties.push_back(std::move(t));
      }
    sizes_.assign(n, 0);
    std::vector<std::size_t> of_group(n, 0);
    std::size_t left = with_.max_assignments;
    for (std::size_t v = 0; v < n; ++v) {
      std::size_t& size = of_group[group_[v]];
      if (size == 0) {
        size = random_.chance(0.12) ? 1 : between(2, with_.max_strategies);
        size = std::min(size, std::max<std::size_t>(left, 1));
        left /= size;
      }
      sizes_[v] = size;
    }
  }

  void draw_vertices() {
    for (std::size_t v = 0; v < sizes_.size(); ++v) {
      auto& vertex = d().vertices.emplace_back();
      if (random_.chance(0.5)) vertex.name = "op_" + std::to_string(v);
      for (std::size_t s = 0; s < sizes_[v]; ++s)
        vertex.compute.push_back(random_.chance(share_forbidden_ / 3) ? bad() : cost());
    }
  }

  /// Shared with an earlier edge where one fits, with repeated rows and columns now and then.
  [[nodiscard]] std::uint32_t draw_table(std::size_t rows, std::size_t columns) {
    if (random_.chance(0.4))
      for (std::uint32_t t = 0; t < result_.dense.size(); ++t)
        if (result_.dense[t].rows == rows && result_.dense[t].columns == columns) return t;
    const bool repeats = random_.chance(0.5);
    const auto classes = [&](std::size_t n) {
      std::vector<std::size_t> c(n);
      const std::size_t kinds = repeats ? between(1, n) : n;
      for (std::size_t i = 0; i < n; ++i) c[i] = repeats ? random_.below(kinds) : i;
      return c;
    };
    const auto row = classes(rows), column = classes(columns);
    std::vector<Cost> kinds(rows * columns);
    for (Cost& c : kinds) c = random_.chance(share_forbidden_) ? bad() : cost();
    dense_table<Cost> dense{rows, columns, {}};
    for (std::size_t a = 0; a < rows; ++a)
      for (std::size_t b = 0; b < columns; ++b) dense.entries.push_back(kinds[row[a] * columns + column[b]]);
    return add_table(std::move(dense));
  }

  std::uint32_t add_table(dense_table<Cost> dense) {
    d().tables.push_back(std::make_shared<const sw::cost_table<Cost>>(
        sw::cost_table<Cost>::from_entries(dense.rows, dense.columns, dense.entries)));
    result_.dense.push_back(std::move(dense));
    return static_cast<std::uint32_t>(result_.dense.size() - 1);
  }

  void add_edge(std::size_t from, std::size_t to) {
    sw::described_edge e{static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), 0, sw::no_table,
                         sw::no_table};
    const std::size_t kind = random_.below(8);  // 0: neither table, 1: transition alone, 2: both
    if (kind >= 2) e.communication = draw_table(sizes_[from], sizes_[to]);
    if (kind == 1 || kind == 2) e.transition = draw_table(sizes_[from], sizes_[to]);
    d().edges.push_back(e);
  }

  /// Three vertices no two of which may agree in parity: every strategy has partners, but nothing is feasible.
  void add_odd_cycle() {
    std::vector<std::size_t> members;
    for (std::size_t v = 0; v < sizes_.size() && members.size() < 3; ++v)
      if (sizes_[v] > 1 &&
          std::none_of(members.begin(), members.end(), [&](std::size_t u) { return group_[u] == group_[v]; }))
        members.push_back(v);
    if (members.size() < 3) return;
    for (const auto& [i, j] : {std::pair(0, 1), std::pair(1, 2), std::pair(0, 2)}) {
      const std::size_t a = members[static_cast<std::size_t>(i)], b = members[static_cast<std::size_t>(j)];
      dense_table<Cost> dense{sizes_[a], sizes_[b], {}};
      for (std::size_t k = 0; k < sizes_[a]; ++k)
        for (std::size_t l = 0; l < sizes_[b]; ++l) dense.entries.push_back(k % 2 == l % 2 ? bad() : cost());
      d().edges.push_back(
          {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), 0, add_table(std::move(dense)), sw::no_table});
    }
  }

  void draw_edges() {
    const std::size_t n = sizes_.size();
    const std::size_t shape = random_.below(4);  // tree, cycle, sparse, dense
    const auto either_way = [&](std::size_t a, std::size_t b) {
      random_.chance(0.3) ? add_edge(b, a) : add_edge(a, b);
    };
    if (shape == 0) {
      for (std::size_t v = 1; v < n; ++v)
        if (!random_.chance(0.1)) either_way(random_.below(v), v);
    } else if (shape == 1) {
      for (std::size_t v = 1; v < n; ++v) either_way(v - 1, v);
      if (n > 2) either_way(0, n - 1);
    } else {
      const double density = shape == 2 ? 0.3 : 0.8;
      for (std::size_t v = 1; v < n; ++v)
        for (std::size_t u = 0; u < v; ++u)
          if (random_.chance(density)) either_way(u, v);
    }
    if (maybe(with_.impossible && with_.forbidden, 0.08)) add_odd_cycle();
    if (!maybe(with_.parallel, 0.6)) return;
    const std::size_t before = d().edges.size();
    for (std::size_t count = between(1, 3); count-- > 0 && before > 0;) {
      const sw::described_edge e = d().edges[random_.below(before)];
      random_.chance(0.4) ? add_edge(e.to, e.from) : add_edge(e.from, e.to);
      if (random_.chance(0.3)) d().edges.push_back(e);  // the very same tables
    }
    if (random_.chance(0.2)) {
      const std::size_t v = random_.below(n);
      add_edge(v, v);
    }
  }

  void draw_choices() {
    const std::size_t n = sizes_.size();
    auto& constraints = d().constraints;
    if (maybe(with_.fixed, 0.5))
      for (std::size_t count = between(1, 2); count-- > 0;) {
        sw::fixed_strategies f{static_cast<std::uint32_t>(random_.below(n)), {}, "fixed " + std::to_string(count)};
        for (sw::strategy s = 0; s < sizes_[f.vertex]; ++s)
          if (random_.chance(0.7)) f.allowed.push_back(s);
        if (f.allowed.empty()) f.allowed.push_back(static_cast<sw::strategy>(random_.below(sizes_[f.vertex])));
        constraints.fixed.push_back(std::move(f));
      }
    if (maybe(with_.pairings, 0.6))
      for (std::size_t count = between(1, 2); count-- > 0;) {
        sw::pairing p{static_cast<std::uint32_t>(random_.below(n)),
                      static_cast<std::uint32_t>(random_.below(n)),
                      {},
                      "pairing " + std::to_string(count)};
        const bool functional = random_.chance(0.4);  // one partner per strategy
        for (sw::strategy a = 0; a < sizes_[p.a]; ++a) {
          if (functional) p.allowed.emplace_back(a, static_cast<sw::strategy>(random_.below(sizes_[p.b])));
          for (sw::strategy b = 0; b < sizes_[p.b] && !functional; ++b)
            if (random_.chance(0.7)) p.allowed.emplace_back(a, b);
        }
        constraints.pairs.push_back(std::move(p));
      }
  }

  /// Limits are drawn around what some assignment uses, so that most problems stay feasible.
  void draw_budgets() {
    const std::size_t n = sizes_.size();
    std::vector<sw::strategy> of_group(n), witness(n);
    for (std::size_t v = 0; v < n; ++v) of_group[v] = static_cast<sw::strategy>(random_.below(sizes_[v]));
    for (std::size_t v = 0; v < n; ++v) witness[v] = of_group[group_[v]];
    const auto draw = [&](bool timed) {
      sw::budget b{(timed ? "memory " : "parameters ") + std::to_string(d().constraints.budgets.size())};
      const double unit = random_.chance(0.3) ? 0.1 : 1;
      for (std::uint32_t v = 0; v < n; ++v)
        for (std::size_t terms = random_.chance(0.8) ? between(1, timed ? 2 : 1) : 0; terms-- > 0;) {
          sw::budget_term term{v, {}, std::nullopt};
          for (std::size_t s = 0; s < sizes_[v]; ++s)
            term.usage.push_back(unit * static_cast<double>(random_.below(20)));
          if (timed && !random_.chance(0.1)) {
            const auto first = static_cast<std::int64_t>(random_.below(12));
            term.live = sw::live_interval{first, first + static_cast<std::int64_t>(random_.below(8))};
          }
          b.terms.push_back(std::move(term));
        }
      double peak = 0;
      for (std::int64_t t = 0; t < 20; ++t) {
        double used = 0;
        for (const sw::budget_term& term : b.terms)
          if (!term.live || (term.live->first <= t && t < term.live->end)) used += term.usage[witness[term.vertex]];
        peak = std::max(peak, used);
      }
      const double slack = unit * static_cast<double>(random_.below(random_.chance(0.5) ? 3 : 15));
      b.high = peak + slack;
      if (!timed && random_.chance(0.4)) b.low = std::max(0.0, peak - unit * static_cast<double>(random_.below(10)));
      if (!timed && random_.chance(0.2)) b.high = b.low = peak;
      if (!timed && random_.chance(0.1)) b.high = std::numeric_limits<double>::infinity();
      if (maybe(with_.impossible, 0.03)) {
        b.low = -std::numeric_limits<double>::infinity();
        b.high = peak / 3;
      }
      if (maybe(with_.impossible && !timed, 0.12)) b.low = b.high = peak + unit / 2;  // between all sums there are
      d().constraints.budgets.push_back(std::move(b));
    };
    if (maybe(with_.budgets, 0.7))
      for (std::size_t count = between(1, 2); count-- > 0;) draw(false);
    if (maybe(with_.timed, 0.7)) draw(true);
  }

  sw::random_source random_;
  problem_features with_;
  random_problem<Cost> result_;
  std::vector<std::uint32_t> group_;  // first drawn member of each vertex's ties
  std::vector<std::size_t> sizes_;
  std::size_t grain_ = 0;
  std::size_t range_ = 0;
  bool below_zero_ = false;
  double share_forbidden_ = 0;
};

}  // namespace detail

/// Equal seeds and features give equal problems.
template <class Cost = double>
[[nodiscard]] random_problem<Cost> draw_problem(std::uint64_t seed, const problem_features& features = {}) {
  return detail::generator<Cost>(seed, features).run();
}

}  // namespace shardweave_test
