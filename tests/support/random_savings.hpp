#pragma once

#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/description.hpp>

#include <support/random_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

/// \file
/// Random problems with savings, and a second opinion on those: sets of vertices in place of windows, and a maximum
/// flow in place of a sweep.

namespace shardweave_test {

/// Communication of an edge, and which vertices may hide it.
struct position_set {
  std::size_t edge = 0;
  std::vector<bool> allowed;
  std::int64_t channel = 0;
};

/// Where each vertex stands: as listed, or, if that is against an edge and another order is possible and no windows
/// forbid it, again and again the first of those whose producers all stand already.
template <class Cost>
[[nodiscard]] std::vector<std::size_t> positions_of(const sw::placement_description<Cost>& d) {
  const std::size_t n = d.vertices.size();
  std::vector<std::size_t> listed(n), position(n, n);
  for (std::size_t v = 0; v < n; ++v) listed[v] = v;
  for (const auto& h : d.overlap)
    if (h.direction == sw::hiding::none) return listed;
  for (std::size_t next = 0; next < n; ++next) {
    std::size_t v = 0;
    const auto must_wait = [&] {
      return position[v] < n || std::any_of(d.edges.begin(), d.edges.end(),
                                            [&](const auto& e) { return e.to == v && position[e.from] == n; });
    };
    while (v < n && must_wait()) ++v;
    if (v == n) return listed;  // a cycle
    position[v] = next;
  }
  return position;
}

/// What each form means, vertex by vertex.
template <class Cost>
[[nodiscard]] std::vector<position_set> position_sets(const sw::placement_description<Cost>& d) {
  const std::size_t n = d.vertices.size();
  std::vector<position_set> result;
  if (d.counted == sw::savings_form::off) return result;
  const std::vector<std::size_t> at = positions_of(d);
  std::vector<bool> earlier(d.edges.size()), later(d.edges.size()), early(n), late(n), is_given(d.edges.size());
  std::vector<std::int64_t> channel(d.edges.size());
  for (const auto& h : d.overlap) {
    const bool is_early = h.direction == sw::hiding::earlier || h.direction == sw::hiding::both;
    const bool is_late = h.direction == sw::hiding::later || h.direction == sw::hiding::both;
    if (is_early) earlier[h.edge] = early[d.edges[h.edge].from] = true;
    if (is_late) later[h.edge] = late[d.edges[h.edge].to] = true;
    if (is_early || is_late) channel[h.edge] = h.channel;
    if (!is_early && !is_late) {
      position_set given{h.edge, std::vector<bool>(n), h.channel};
      for (std::size_t q = h.first; q <= h.last && q < n; ++q) given.allowed[q] = true;
      result.push_back(given);
      is_given[h.edge] = true;
    }
  }
  const auto add = [&](std::size_t e, const std::function<bool(std::size_t)>& allows) {
    position_set s{e, std::vector<bool>(n), channel[e]};
    for (std::size_t q = 0; q < n; ++q) s.allowed[q] = allows(q);
    result.push_back(std::move(s));
  };
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n));
  std::vector<std::size_t> inputs(n);
  std::vector<bool> moves(early), works(n);
  if (d.counted == sw::savings_form::windows) {
    for (std::size_t v = 0; v < n; ++v) reaches[v][v] = true;
    for (const auto& e : d.edges) {
      reaches[e.from][e.to] = true;
      ++inputs[e.to];
    }
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) reaches[i][j] = reaches[i][j] || (reaches[i][k] && reaches[k][j]);
    for (std::size_t v = n; v-- > 0;) {
      bool tail = true;
      for (std::size_t w = 0; w < n; ++w) {
        const bool collects =
            std::none_of(d.edges.begin(), d.edges.end(), [&](const auto& e) { return e.from == w; }) &&
            std::none_of(d.vertices[w].compute.begin(), d.vertices[w].compute.end(),
                         [](Cost c) { return c > Cost{} && !sw::is_forbidden(c); });
        tail = tail && (!reaches[v][w] || (late[w] && (inputs[w] <= 1 || collects)));
      }
      moves[v] = early[v] || tail;
    }
    for (std::size_t v = 0; v < n; ++v)
      for (const Cost c : d.vertices[v].compute)
        works[v] = works[v] || (c > Cost{} && !sw::is_forbidden(c) && !moves[v]);
  }
  for (auto& given : result)  // what moves hides nothing
    for (std::size_t q = 0; q < n && d.counted == sw::savings_form::windows; ++q)
      given.allowed[q] = given.allowed[q] && !moves[q];
  for (std::size_t e = 0; e < d.edges.size(); ++e) {
    const std::size_t u = d.edges[e].from, p = d.edges[e].to;
    const bool every = d.counted == sw::savings_form::windows && d.windows.every_edge && !is_given[e];
    if (!earlier[e] && !later[e] && !every) continue;
    switch (d.counted) {
      case sw::savings_form::off:
        break;
      case sw::savings_form::windows:
        add(e, [&](std::size_t q) {
          if (moves[q]) return false;
          for (std::size_t w = 0; w < n; ++w)
            if (works[w] && ((reaches[w][u] && at[w] >= at[q]) || (reaches[p][w] && at[w] <= at[q]))) return false;
          std::size_t early_by = 0;  // computation from here to the consumer
          for (std::size_t w = 0; w < n; ++w) early_by += works[w] && at[w] >= at[q] && at[w] < at[p] ? 1U : 0U;
          return later[e] || early_by <= d.windows.prefetch;
        });
        break;
      case sw::savings_form::strict:
        add(e, [&](std::size_t q) { return (earlier[e] && at[q] < at[p]) || (later[e] && at[q] > at[p]); });
        break;
      case sw::savings_form::inclusive:
        add(e, [&](std::size_t q) { return (earlier[e] && at[q] <= at[p]) || (later[e] && at[q] >= at[p]); });
        break;
      case sw::savings_form::inclusive_twice:
        if (earlier[e]) add(e, [&](std::size_t q) { return at[q] <= at[p]; });
        if (later[e]) add(e, [&](std::size_t q) { return at[q] >= at[p]; });
        break;
    }
  }
  return result;
}

/// The most that flows from communication to computation, by augmenting paths, channel by channel.
template <class Cost>
[[nodiscard]] Cost most_hidden(const std::vector<Cost>& computation, const std::vector<position_set>& sets,
                               const std::vector<Cost>& amounts) {
  Cost total{};
  std::set<std::int64_t> channels;
  for (const auto& s : sets) channels.insert(s.channel);
  for (const std::int64_t channel : channels) {
    std::vector<Cost> room(computation), want(sets.size());
    std::vector<std::vector<Cost>> flow(sets.size(), std::vector<Cost>(computation.size()));
    for (std::size_t i = 0; i < sets.size(); ++i)
      if (sets[i].channel == channel) want[i] = amounts[i];
    std::vector<bool> seen;
    const std::function<Cost(std::size_t, Cost)> push = [&](std::size_t i, Cost most) -> Cost {
      seen[i] = true;
      for (std::size_t q = 0; q < room.size(); ++q)
        if (sets[i].allowed[q] && room[q] > Cost{}) {
          const Cost now = std::min(most, room[q]);
          room[q] -= now;
          flow[i][q] += now;
          return now;
        }
      for (std::size_t q = 0; q < room.size(); ++q) {
        if (!sets[i].allowed[q]) continue;
        for (std::size_t j = 0; j < sets.size(); ++j)
          if (!seen[j] && flow[j][q] > Cost{}) {
            const Cost now = push(j, std::min(most, flow[j][q]));
            if (!(now > Cost{})) continue;
            flow[j][q] -= now;
            flow[i][q] += now;
            return now;
          }
      }
      return Cost{};
    };
    for (std::size_t i = 0; i < sets.size(); ++i)
      while (want[i] > Cost{}) {
        seen.assign(sets.size(), false);
        const Cost now = push(i, want[i]);
        if (!(now > Cost{})) break;
        want[i] -= now;
        total += now;
      }
  }
  return total;
}

/// The savings of a feasible assignment.
template <class Cost>
[[nodiscard]] Cost savings_by_flow(const random_problem<Cost>& problem, const std::vector<position_set>& sets,
                                   std::span<const sw::strategy> choice) {
  const auto& d = problem.description;
  std::vector<Cost> computation, amounts;
  for (std::size_t v = 0; v < choice.size(); ++v)
    computation.push_back(std::max(Cost{}, d.vertices[v].compute[choice[v]]));
  for (const auto& s : sets) {
    const auto& e = d.edges[s.edge];
    amounts.push_back(e.communication == sw::no_table
                          ? Cost{}
                          : std::max(Cost{}, problem.dense[e.communication](choice[e.from], choice[e.to])));
  }
  return most_hidden(computation, sets, amounts);
}

template <class Cost>
[[nodiscard]] Cost savings_by_flow(const random_problem<Cost>& problem, std::span<const sw::strategy> choice) {
  return savings_by_flow(problem, position_sets(problem.description), choice);
}

/// Calls f for every feasible assignment of the vertices as stated.
template <class Cost, class F>
void for_all_feasible(const random_problem<Cost>& problem, F f) {
  detail::enumeration<Cost> all(problem);
  const auto visit = [&](const auto& self, std::uint32_t v) -> void {
    if (v == problem.description.vertices.size()) {
      if (keeps_budgets(problem.description.constraints, all.choice)) f(std::as_const(all.choice));
      return;
    }
    for (sw::strategy s = 0; s < problem.description.vertices[v].compute.size(); ++s) {
      all.choice[v] = s;
      if (all.added_by(v)) self(self, v + 1);
    }
  };
  visit(visit, 0);
}

/// The best that can be had, savings counted.
template <class Cost>
[[nodiscard]] brute_optimum<Cost> brute_force_with_savings(const random_problem<Cost>& problem) {
  brute_optimum<Cost> best;
  const auto sets = position_sets(problem.description);
  for_all_feasible(problem, [&](const sw::assignment& choice) {
    const Cost objective = *price_of(problem, choice) - savings_by_flow(problem, sets, choice);
    ++best.feasible;
    if (!best.objective || objective < *best.objective) {
      best.objective = objective;
      best.choice = choice;
    }
  });
  return best;
}

/// The same problem with its vertices listed in another, random order.
template <class Cost>
[[nodiscard]] random_problem<Cost> relisted(random_problem<Cost> problem, std::uint64_t seed) {
  auto& d = problem.description;
  const auto n = static_cast<std::uint32_t>(d.vertices.size());
  sw::random_source random(seed);
  std::vector<std::uint32_t> number(n);
  for (std::uint32_t v = 0; v < n; ++v) number[v] = v;
  for (std::uint32_t v = n; v > 1; --v) std::swap(number[v - 1], number[random.below(v)]);
  auto vertices = d.vertices;
  for (std::uint32_t v = 0; v < n; ++v) d.vertices[number[v]] = std::move(vertices[v]);
  const auto move = [&](std::uint32_t& v) { v = number[v]; };
  for (auto& e : d.edges) move(e.from), move(e.to);
  for (auto& f : d.constraints.fixed) move(f.vertex);
  for (auto& t : d.constraints.ties)
    for (auto& v : t.vertices) move(v);
  for (auto& p : d.constraints.pairs) move(p.a), move(p.b);
  for (auto& b : d.constraints.budgets)
    for (auto& t : b.terms) move(t.vertex);
  return problem;
}

/// A random problem of any features, most of whose edges may hide somewhere: by direction in any form, by windows, on
/// one channel or several.
template <class Cost>
[[nodiscard]] random_problem<Cost> draw_savings_problem(std::uint64_t seed, std::size_t max_vertices = 6) {
  problem_features features = problem_features::combination(static_cast<unsigned>((seed * 37) % 128));
  features.max_vertices = max_vertices;
  features.max_strategies = 4;
  features.max_assignments = 300;
  random_problem<Cost> result = draw_problem<Cost>(seed, features);
  sw::random_source random(seed * 2 + 1000003);
  auto& d = result.description;
  const std::size_t n = d.vertices.size();
  bool ordered = true;
  for (const auto& e : d.edges) ordered = ordered && e.from < e.to;
  const sw::savings_form forms[] = {sw::savings_form::strict, sw::savings_form::inclusive,
                                    sw::savings_form::inclusive_twice, sw::savings_form::windows};
  d.counted = forms[random.below(ordered ? 4 : 3)];
  const bool windows = random.chance(0.4), channels = random.chance(0.3);
  std::vector<std::int64_t> channel(d.edges.size());
  for (auto& c : channel) c = channels ? static_cast<std::int64_t>(random.below(3)) - 1 : 0;
  for (std::uint32_t e = 0; e < d.edges.size(); ++e) {
    if (windows && random.chance(0.5)) {
      const auto first = static_cast<std::uint32_t>(random.below(n));
      d.overlap.push_back({.edge = e,
                           .first = first,
                           .last = first + static_cast<std::uint32_t>(random.below(n)),
                           .channel = channel[e]});
      continue;
    }
    if (random.chance(0.6)) d.overlap.push_back({.edge = e, .direction = sw::hiding::earlier, .channel = channel[e]});
    if (random.chance(0.6)) d.overlap.push_back({.edge = e, .direction = sw::hiding::later, .channel = channel[e]});
  }
  return result;
}

}  // namespace shardweave_test
