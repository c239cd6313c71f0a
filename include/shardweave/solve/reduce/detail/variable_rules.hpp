#pragma once

#include <shardweave/solve/reduce/detail/mutable_problem.hpp>
#include <shardweave/solve/reduce/detail/usage_tidy.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

/// \file
/// Rules of a reduction that remove variables and edges. Each takes a remaining variable, updates the counters, and
/// preserves the optimum and the lifting.

namespace shardweave::inline v0::detail {

/// Condition: the variable has one label.
/// Its edges become unary costs of the neighbours; what it uses is taken off the limits.
template <cost_value Cost>
struct absorb_single {
  mutable_problem<Cost>& p;
  usage_tidy<Cost>& usage;
  std::size_t settled = 0;

  void operator()(std::uint32_t x) {
    auto& v = p.variables[x];
    if (v.unary.size() != 1) return;
    const auto edges = v.edges;
    for (const auto& [y, t] : edges) {
      auto& unary = p.variables[y].unary;
      for (strategy b = 0; b < t->columns(); ++b) unary[b] = plus(unary[b], (*t)(0, b));
      p.drop_edge(x, y);
    }
    for (const usage_segment& s : v.segments) usage.take_from_rows(s, s.usage[0]);
    v.segments.clear();
    p.settle(x, 0);
    ++settled;
  }
};

/// Condition: every label of one end of an edge leaves exactly one label of the other.
/// The other end becomes a function of the first: its costs, its edges and its usage move there. Of the
/// neighbours that determine the variable the one of most edges is taken; neighbours of fewer edges that the
/// variable determines move to it first, since edges move with the one that goes.
template <cost_value Cost>
struct follow_neighbour {
  mutable_problem<Cost>& p;
  std::size_t merged = 0;
  by_table<Cost, bool> determined = {};

  void operator()(std::uint32_t x) {
    std::vector<std::uint32_t> followers;
    for (const auto& [y, t] : p.variables[x].edges)
      if (p.degree(y) < p.degree(x) && determines_row(p.variables[y].edges.at(x))) followers.push_back(y);
    for (const std::uint32_t y : followers) merge_into(y, x);
    std::uint32_t best = x;
    for (const auto& [y, t] : p.variables[x].edges)
      if ((best == x || p.degree(y) > p.degree(best)) && determines_row(t)) best = y;
    if (best != x) merge_into(x, best);
  }

  /// Every column allows exactly one row.
  [[nodiscard]] static bool allows_one_row(const cost_table<Cost>& t) {
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

 private:
  bool determines_row(const typename mutable_problem<Cost>::table_pointer& t) {
    const auto [known, fresh] = determined.try_emplace(t, false);
    if (fresh) known->second = allows_one_row(*t);
    return known->second;
  }
  void merge_into(std::uint32_t v, std::uint32_t u) {
    const auto t = p.variables[u].edges.at(v);
    std::vector<strategy> image(p.label_count(u));
    for (strategy a = 0; a < image.size(); ++a)
      for (strategy b = 0; b < t->columns(); ++b)
        if (!is_forbidden((*t)(a, b))) image[a] = b;
    p.merge(v, u, image);
    ++merged;
  }
};

/// Condition: the variable has one neighbour or none, and for each label of the neighbour (or at all) the
/// cheapest of its labels also uses least of every row among those that are allowed.
/// It follows the neighbour, or is settled.
template <cost_value Cost>
struct remove_leaf {
  mutable_problem<Cost>& p;
  usage_tidy<Cost>& usage;
  std::size_t merged = 0, settled = 0;

  void operator()(std::uint32_t x) {
    auto& v = p.variables[x];
    if (v.edges.size() > 1) return;
    if (v.edges.empty()) {
      const auto best = best_of(v, [&](strategy b) { return v.unary[b]; });
      if (!best) return;
      for (const usage_segment& s : v.segments) usage.take_from_rows(s, s.usage[*best]);
      v.segments.clear();
      p.settle(x, *best);
      ++settled;
      return;
    }
    const auto [u, t] = *v.edges.begin();
    std::vector<strategy> by_class(t->column_classes());
    for (std::size_t j = 0; j < by_class.size(); ++j) {
      const auto best = best_of(
          v, [&, &table = *t](strategy b) { return plus(v.unary[b], table.class_cost(table.row_class(b), j)); });
      if (!best) return;
      by_class[j] = *best;
    }
    std::vector<strategy> image(t->columns());
    for (strategy a = 0; a < image.size(); ++a) image[a] = by_class[t->column_class(a)];
    p.merge(x, u, image);
    ++merged;
  }

 private:
  template <class CostOf>
  std::optional<strategy> best_of(const typename mutable_problem<Cost>::variable& v, CostOf cost) const {
    const auto better = [&](Cost ca, strategy a, Cost cb, strategy b) {
      return ca < cb || (ca == cb && !v.segments.empty() && usage.uses_no_more(v.segments, a, b));
    };
    strategy best = 0;
    for (strategy b = 1; b < v.unary.size(); ++b)
      if (better(cost(b), b, cost(best), best)) best = b;
    for (strategy b = 0; b < v.unary.size(); ++b)
      if (!is_forbidden(cost(b)) && !usage.uses_no_more(v.segments, best, b)) return std::nullopt;
    return best;
  }
};

/// Condition: the variable has two neighbours and no usage, and its labels, times the classes of theirs that it tells
/// apart, are within a limit.
/// The best of its labels for every pair of theirs becomes a table between them.
template <cost_value Cost>
struct remove_between {
  mutable_problem<Cost>& p;
  std::size_t most_work;
  std::size_t eliminated = 0;

  void operator()(std::uint32_t x) {
    const auto& v = p.variables[x];
    if (v.edges.size() != 2 || !v.segments.empty()) return;
    const auto& [u, left] = *v.edges.begin();
    const auto& [w, right] = *std::next(v.edges.begin());
    if (v.unary.size() * left->column_classes() * right->column_classes() > most_work) return;
    p.eliminate(x, u, w);
    ++eliminated;
  }
};

}  // namespace shardweave::inline v0::detail
