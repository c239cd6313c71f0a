#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/solve/reduce/detail/lifting.hpp>
#include <shardweave/solve/reduce/detail/table_memo.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// A compact problem that shrinks: the data that the rules of a reduction work on, and the record for lifting.

namespace shardweave::inline v0::detail {

/// Variables, edges and rows that rules remove, with a record of what was removed.
template <cost_value Cost>
class mutable_problem {
 public:
  using table = cost_table<Cost>;
  using table_pointer = std::shared_ptr<const table>;
  /// An edge as its variable sees it: rows are this variable's labels.
  using adjacency = std::map<std::uint32_t, table_pointer>;

  struct variable {
    bool alive = true;
    bool dirty = true;             ///< changed since the rules were last applied
    std::vector<strategy> origin;  ///< its labels' original numbers; empty while all remain
    std::vector<Cost> unary;
    std::vector<usage_segment> segments;
    adjacency edges;

    [[nodiscard]] strategy at_start(strategy label) const { return origin.empty() ? label : origin[label]; }
  };

  explicit mutable_problem(const compact_problem<Cost>& p)
      : constant(p.constant()), rows(p.rows().begin(), p.rows().end()) {
    variables.resize(p.size());
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      auto& v = variables[x];
      v.unary.assign(p.unary(x).begin(), p.unary(x).end());
      v.segments.assign(p.segments(x).begin(), p.segments(x).end());
      initial_labels.push_back(v.unary.size());
    }
    for (const compact_edge& e : p.edges()) set_edge(e.first, e.second, p.tables()[e.table]);
  }

  std::vector<variable> variables;
  Cost constant;
  std::vector<usage_row> rows;
  std::vector<std::size_t> initial_labels;

  [[nodiscard]] std::size_t label_count(std::uint32_t x) const { return variables[x].unary.size(); }
  [[nodiscard]] std::size_t degree(std::uint32_t x) const { return variables[x].edges.size(); }

  /// Sets the edge between x and y; rows of the table are labels of x.
  void set_edge(std::uint32_t x, std::uint32_t y, table_pointer t) {
    variables[y].edges[x] = memo_.flipped(t);
    variables[x].edges[y] = std::move(t);
    variables[x].dirty = variables[y].dirty = true;
  }
  /// Adds a table to the edge between x and y, which need not be there yet.
  void add_edge(std::uint32_t x, std::uint32_t y, table_pointer t) {
    const auto at = variables[x].edges.find(y);
    set_edge(x, y, at == variables[x].edges.end() ? std::move(t) : memo_.sum(at->second, t));
  }
  void drop_edge(std::uint32_t x, std::uint32_t y) {
    variables[x].edges.erase(y);
    variables[y].edges.erase(x);
    variables[x].dirty = variables[y].dirty = true;
  }

  /// Keeps the listed labels of x.
  void keep(std::uint32_t x, std::span<const strategy> labels) {
    variable& v = variables[x];
    const auto pick = [&](auto& values) {
      std::remove_reference_t<decltype(values)> kept;
      kept.reserve(labels.size());
      for (const strategy l : labels) kept.push_back(values[l]);
      values = std::move(kept);
    };
    if (v.origin.empty()) {
      v.origin.assign(labels.begin(), labels.end());
    } else {
      pick(v.origin);
    }
    pick(v.unary);
    for (usage_segment& s : v.segments) pick(s.usage);
    for (auto& [y, t] : v.edges) {
      t = memo_.selected(t, labels);
      variables[y].edges[x] = memo_.flipped(t);
      variables[y].dirty = true;
    }
    v.dirty = true;
  }

  /// Notes a label of v that goes because another one dominates it, which `keep` removes.
  void note_dominated(std::uint32_t v, strategy removed, strategy by) {
    lifting_.add(lifting::dominated{v, variables[v].at_start(removed), variables[v].at_start(by)});
  }

  /// Removes v, whose label is a function of u's: `image[a]` is v's label when u has label a. Costs, usage and edges of
  /// v move to u.
  void merge(std::uint32_t v, std::uint32_t u, std::span<const strategy> image) {
    variable& from = variables[v];
    variable& into = variables[u];
    const table_pointer between = into.edges.at(v);
    lifting::follow record{v, u, std::vector<strategy>(initial_labels[u])};
    for (strategy a = 0; a < image.size(); ++a) {
      into.unary[a] = plus(into.unary[a], plus((*between)(a, image[a]), from.unary[image[a]]));
      record.image[into.at_start(a)] = from.at_start(image[a]);
    }
    drop_edge(u, v);
    for (const usage_segment& s : from.segments) {
      usage_segment moved{s.begin, s.end, {}};
      moved.usage.reserve(image.size());
      for (const strategy b : image) moved.usage.push_back(s.usage[b]);
      into.segments.push_back(std::move(moved));
    }
    const adjacency others = std::move(from.edges);
    for (const auto& [w, t] : others) {
      variables[w].edges.erase(v);
      add_edge(u, w, memo_.selected(t, image));
    }
    remove(v);
    lifting_.add(std::move(record));
  }

  /// Removes v, which has no edges and no segments, at the given label.
  void settle(std::uint32_t v, strategy label) {
    constant = plus(constant, variables[v].unary[label]);
    lifting_.add(lifting::decided{v, variables[v].at_start(label)});
    remove(v);
  }

  /// Removes v, which has edges to u and w only and no segments: the cost of its best label for every pair of their
  /// classes becomes a table between them. The best label itself is computed when lifting, for the one pair needed.
  void eliminate(std::uint32_t v, std::uint32_t u, std::uint32_t w) {
    const table_pointer left = variables[v].edges.at(u), right = variables[v].edges.at(w);
    const table_pointer between = memo_.least_between(left, variables[v].unary, right);
    const auto per_initial_label = [this](std::uint32_t x, std::span<const std::uint32_t> classes) {
      std::vector<std::uint32_t> class_of(initial_labels[x]);
      for (strategy l = 0; l < classes.size(); ++l) class_of[variables[x].at_start(l)] = classes[l];
      return class_of;
    };
    lifting::choose_by_two record{
        v, u, w, per_initial_label(u, left->column_class()), per_initial_label(w, right->column_class()), {}};
    record.best = [left = memo_.packed(left), right = memo_.packed(right), unary = std::move(variables[v].unary),
                   origin = std::move(variables[v].origin)](std::uint32_t i, std::uint32_t j) {
      Cost least = forbidden<Cost>;
      strategy best = 0;
      for (strategy b = 0; b < unary.size(); ++b) {
        const Cost c =
            plus(plus(unary[b], left->class_cost(left->row_class(b), i)), right->class_cost(right->row_class(b), j));
        if (!(c < least)) continue;
        least = c;
        best = origin.empty() ? b : origin[b];
      }
      return best;
    };
    drop_edge(v, u);
    drop_edge(v, w);
    remove(v);
    add_edge(u, w, between);
    lifting_.add(std::move(record));
  }

  /// Whether the memo has grown enough since the last `forget` to be worth clearing.
  [[nodiscard]] bool has_much_to_forget() const { return memo_.made() > most_made_; }
  /// Forgets results on tables that no edge has any more. \returns the tables that edges have
  /// Complexity: O(edges + what was made)
  table_set<Cost> forget() {
    table_set<Cost> used;
    std::size_t costs = 0;
    for (const variable& v : variables)
      for (const auto& [y, t] : v.edges)
        if (used.insert(t).second) costs += t->row_classes() * t->stride();
    memo_.forget_others(used);
    most_made_ = std::max(least_worthwhile, costs / 4);
    return used;
  }

  /// The remaining problem and its lifting. Moves the tables out.
  [[nodiscard]] std::pair<compact_problem<Cost>, lifting> finish() && {
    compact_builder<Cost> builder;
    builder.add_constant(constant);
    for (const usage_row& r : rows) builder.add_row(r);
    std::vector<std::uint32_t> number(variables.size());
    for (std::uint32_t x = 0; x < variables.size(); ++x) {
      variable& v = variables[x];
      if (!v.alive) continue;
      number[x] = builder.add_variable(v.unary);
      for (usage_segment& s : v.segments) builder.add_segment(number[x], std::move(s));
      if (v.origin.empty()) {
        v.origin.resize(v.unary.size());
        std::iota(v.origin.begin(), v.origin.end(), strategy{0});
      }
      lifting_.keep(x, std::move(v.origin));
    }
    for (std::uint32_t x = 0; x < variables.size(); ++x)
      if (variables[x].alive)
        for (auto& [y, t] : variables[x].edges)
          if (x < y) builder.add_edge(number[x], number[y], std::move(t));
    return {builder.build(), std::move(lifting_)};
  }

 private:
  /// Gives back the memory of a variable without edges.
  void remove(std::uint32_t v) {
    variables[v] = {};
    variables[v].alive = false;
  }

  static constexpr std::size_t least_worthwhile = 1 << 17;  ///< costs in the memo below which it is not cleared

  lifting lifting_;
  table_memo<Cost> memo_;
  std::size_t most_made_ = least_worthwhile;  ///< costs in the memo above which it is cleared
};

}  // namespace shardweave::inline v0::detail
