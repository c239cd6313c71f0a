#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Exact dynamic programming over an elimination order.

namespace shardweave::inline v0 {
namespace detail {

/// A cost that depends on a few variables, each seen through classes of its labels. Dense over classes, the
/// last variable fastest.
template <cost_value Cost>
struct bucket_factor {
  std::vector<std::vector<std::uint32_t>> classes;  ///< per variable of the scope, label -> class
  std::vector<std::size_t> extent;                  ///< per variable of the scope, number of classes
  std::vector<Cost> costs;
};

/// The result of an elimination: the new factor, and the best label for each of its cells.
template <cost_value Cost>
struct bucket_result {
  bucket_factor<Cost> factor;
  std::vector<strategy> best;
};

/// Offsets into a factor by the bucket's own label groups and its joint scope.
struct bucket_view {
  std::vector<std::size_t> own;                 ///< offset per group of own labels
  std::vector<std::vector<std::size_t>> scope;  ///< per variable of the joint scope, offset per joint class
};

/// Joint classes of the labels of one variable under several class maps.
inline std::vector<std::uint32_t> join_classes(std::span<const std::vector<std::uint32_t>* const> maps,
                                               std::size_t labels, std::vector<strategy>& representative) {
  interner<std::vector<std::uint32_t>, sequence_hash> tuples;
  std::vector<std::uint32_t> joint(labels);
  representative.clear();
  for (strategy l = 0; l < labels; ++l) {
    std::vector<std::uint32_t> tuple;
    for (const auto* map : maps) tuple.push_back((*map)[l]);
    joint[l] = tuples(std::move(tuple));
    if (joint[l] == representative.size()) representative.push_back(l);
  }
  return joint;
}

}  // namespace detail

/// Eliminates one variable after the other: its factors are added and minimized over its labels, which gives a factor
/// on its neighbours. Factors are dense over label classes, and equal eliminations (repeated layers) are computed once.
/// The order is greedy: the smallest new factor first.
///
/// Exact if all factors stay within the limits; otherwise it gives up with a note. Rows are relaxed: the bound is
/// valid, and the assignment is returned only if it satisfies them.
/// Complexity: sum over the distinct eliminations of (entries of the new factor) * (label classes of the variable) *
/// (factors that are added up)
/// Source: R. Dechter, Bucket elimination, Artificial Intelligence 113 (1999).
class elimination {
 public:
  static constexpr std::string_view name = "elimination";
  static constexpr solver_abilities abilities{.budgets = false};

  std::size_t width = 12;                          ///< most variables in a new factor
  std::size_t entries = std::size_t{1} << 24;      ///< most entries of one factor
  std::size_t all_entries = std::size_t{1} << 26;  ///< of all distinct new factors together, 4 bytes and a cost each
  std::size_t work = std::size_t{1} << 32;         ///< most entries * label classes * factors added up, in all

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;

 private:
  template <cost_value Cost>
  struct state {
    using factor = detail::bucket_factor<Cost>;
    using result = detail::bucket_result<Cost>;
    struct placed {
      std::vector<std::uint32_t> scope;  ///< variables, ascending
      std::uint32_t content;             ///< equal contents are the same factor
    };
    struct step {
      std::uint32_t variable;
      std::vector<std::uint32_t> scope;
      std::uint32_t content;
    };

    state(const compact_problem<Cost>& problem, const elimination& settings, const deadline& until, std::size_t most)
        : p(problem),
          options(settings),
          limit(until),
          most_steps(most),
          constant(problem.constant()),
          of(problem.size()),
          neighbours(problem.size()) {
      for (const auto& t : p.tables()) contents.push_back(from_table(*t));
      for (const compact_edge& e : p.edges()) place({{e.first, e.second}, e.table});
    }

    static std::shared_ptr<const result> from_table(const cost_table<Cost>& t) {
      auto r = std::make_shared<result>();
      r->factor.classes = {{t.row_class().begin(), t.row_class().end()},
                           {t.column_class().begin(), t.column_class().end()}};
      r->factor.extent = {t.row_classes(), t.column_classes()};
      for (std::size_t i = 0; i < t.row_classes(); ++i)
        r->factor.costs.insert(r->factor.costs.end(), t.class_row(i), t.class_row(i) + t.column_classes());
      return r;
    }

    void place(placed f) {
      for (const std::uint32_t x : f.scope) {
        of[x].push_back(static_cast<std::uint32_t>(factors.size()));
        for (const std::uint32_t y : f.scope)
          if (x != y) neighbours[x].insert(y);
      }
      factors.push_back(std::move(f));
    }

    [[nodiscard]] double weight(std::uint32_t x) const {
      double log_entries = 0;
      for (const std::uint32_t y : neighbours[x]) log_entries += std::log2(static_cast<double>(p.label_count(y)));
      return log_entries;
    }

    bool run(solve_statistics& statistics) {
      std::set<std::pair<double, std::uint32_t>> queue;
      std::vector<double> weights(p.size());
      for (std::uint32_t x = 0; x < p.size(); ++x) queue.emplace(weights[x] = weight(x), x);
      std::size_t widest = 0;
      while (!queue.empty()) {
        if (statistics.iterations == most_steps) stopped = true;
        if (stopped || limit.expired()) {
          statistics.add_note("stopped before every variable was eliminated.");
          return false;
        }
        const std::uint32_t x = queue.begin()->second;
        queue.erase(queue.begin());
        const std::set<std::uint32_t> around = neighbours[x];
        widest = std::max(widest, around.size());
        if (around.size() > options.width || !eliminate(x)) {
          statistics.add_note(stopped
                                  ? "stopped before every variable was eliminated."
                                  : "a factor on " + std::to_string(around.size()) + " variables is above the limits.");
          return false;
        }
        ++statistics.iterations;
        for (const std::uint32_t y : around) {
          neighbours[y].erase(x);
          queue.erase({weights[y], y});
          queue.emplace(weights[y] = weight(y), y);
        }
      }
      statistics.count({{"width", static_cast<double>(widest)},
                        {"eliminations", static_cast<double>(steps.size())},
                        {"distinct eliminations", static_cast<double>(results.size())}});
      return true;
    }

    /// Replaces the factors of x by one on its neighbours.
    /// \returns false if that exceeds the limits, or the time is up
    bool eliminate(std::uint32_t x) {
      std::vector<std::uint32_t> parts = of[x];
      const std::vector<std::uint32_t> scope(neighbours[x].begin(), neighbours[x].end());
      const auto position = [&](std::uint32_t y) {
        return static_cast<std::uint32_t>(std::lower_bound(scope.begin(), scope.end(), y) - scope.begin());
      };
      // sorted, so that the key does not depend on the order of creation and equal buckets have equal keys
      std::sort(parts.begin(), parts.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::tie(factors[a].scope, factors[a].content) < std::tie(factors[b].scope, factors[b].content);
      });
      std::vector<std::uint32_t> key{unaries(std::vector<Cost>(p.unary(x).begin(), p.unary(x).end()))};
      for (const std::uint32_t f : parts) {
        key.push_back(factors[f].content);
        for (const std::uint32_t y : factors[f].scope) key.push_back(y == x ? ~0U : position(y));
      }
      const std::uint32_t number = results(std::move(key));
      if (number == result_of.size()) {
        auto made = minimise(x, parts, scope);
        if (!made) return false;
        result_of.push_back(static_cast<std::uint32_t>(contents.size()));
        contents.push_back(std::move(made));
      }
      const std::uint32_t content = result_of[number];
      steps.push_back({x, scope, content});
      for (const std::uint32_t f : parts)
        for (const std::uint32_t y : factors[f].scope) std::erase(of[y], f);
      if (scope.empty()) {
        constant = plus(constant, contents[content]->factor.costs[0]);
      } else {
        place({scope, content});
      }
      return true;
    }

    std::shared_ptr<const result> minimise(std::uint32_t x, const std::vector<std::uint32_t>& parts,
                                           const std::vector<std::uint32_t>& scope) {
      auto made = std::make_shared<result>();
      std::vector<detail::bucket_view> views(parts.size());
      std::size_t cells = 1;
      for (const std::uint32_t y : scope) {
        std::vector<const std::vector<std::uint32_t>*> maps;
        for (const std::uint32_t f : parts)
          if (const auto at = place_of(f, y)) maps.push_back(&contents[factors[f].content]->factor.classes[*at]);
        std::vector<strategy> members;
        made->factor.classes.push_back(detail::join_classes(maps, p.label_count(y), members));
        made->factor.extent.push_back(members.size());
        for (std::size_t i = 0; i < parts.size(); ++i) views[i].scope.push_back(offsets(parts[i], y, members));
        if (cells > options.entries / std::max<std::size_t>(members.size(), 1)) return nullptr;
        cells *= members.size();
      }
      std::vector<const std::vector<std::uint32_t>*> own_maps;
      for (const std::uint32_t f : parts)
        own_maps.push_back(&contents[factors[f].content]->factor.classes[*place_of(f, x)]);
      std::vector<strategy> groups;
      const auto group_of = detail::join_classes(own_maps, p.label_count(x), groups);
      for (strategy l = 0; l < group_of.size(); ++l)  // the cheapest label represents its group
        if (p.unary(x)[l] < p.unary(x)[groups[group_of[l]]]) groups[group_of[l]] = l;
      for (std::size_t i = 0; i < parts.size(); ++i) views[i].own = offsets(parts[i], x, groups);

      spent += cells * groups.size() * std::max<std::size_t>(parts.size(), 1);
      stored += cells;
      if (spent > options.work || stored > options.all_entries) return nullptr;
      made->factor.costs.reserve(cells);
      made->best.reserve(cells);
      while (made->best.size() < cells) {  // in pieces: allocation takes long, and a stop may come
        stopped = limit.expired();
        if (stopped) return nullptr;
        const std::size_t next = std::min(cells, made->best.size() + look_every);
        made->factor.costs.resize(next, forbidden<Cost>);
        made->best.resize(next);
      }
      std::vector<const Cost*> data;
      for (const std::uint32_t f : parts) data.push_back(contents[factors[f].content]->factor.costs.data());
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (!fill(*made, views, data, g, groups[g], p.unary(x)[groups[g]])) {
          stopped = true;
          return nullptr;
        }
      return made;
    }

    /// Minimizes one own label into every cell, updating the offsets of all factors incrementally.
    /// \returns false if the time is up
    bool fill(result& made, const std::vector<detail::bucket_view>& views, const std::vector<const Cost*>& data,
              std::size_t group, strategy label, Cost unary) const {
      const auto& extent = made.factor.extent;
      std::vector<std::size_t> digit(extent.size()), offset(views.size());
      for (std::size_t i = 0; i < views.size(); ++i) {
        offset[i] = views[i].own[group];
        for (std::size_t d = 0; d < extent.size(); ++d) offset[i] += views[i].scope[d][0];
      }
      for (std::size_t cell = 0;;) {
        if (cell % look_every == 0 && limit.expired()) return false;
        Cost cost = unary;
        for (std::size_t i = 0; i < views.size(); ++i) cost = plus(cost, data[i][offset[i]]);
        if (cost < made.factor.costs[cell]) {
          made.factor.costs[cell] = cost;
          made.best[cell] = label;
        }
        if (++cell == made.factor.costs.size()) return true;
        for (std::size_t d = extent.size(); d-- > 0;) {
          const std::size_t before = digit[d];
          digit[d] = before + 1 == extent[d] ? 0 : before + 1;
          for (std::size_t i = 0; i < views.size(); ++i)
            offset[i] += views[i].scope[d][digit[d]] - views[i].scope[d][before];  // wraps around as intended
          if (digit[d] != 0) break;
        }
      }
    }

    [[nodiscard]] std::optional<std::size_t> place_of(std::uint32_t f, std::uint32_t y) const {
      const auto& scope = factors[f].scope;
      const auto at = std::lower_bound(scope.begin(), scope.end(), y);
      if (at == scope.end() || *at != y) return std::nullopt;
      return static_cast<std::size_t>(at - scope.begin());
    }

    /// Offset into factor f for each listed label of y; 0 where f does not depend on y.
    [[nodiscard]] std::vector<std::size_t> offsets(std::uint32_t f, std::uint32_t y,
                                                   const std::vector<strategy>& listed) const {
      std::vector<std::size_t> at_label(listed.size());
      const auto at = place_of(f, y);
      if (!at) return at_label;
      const auto& content = contents[factors[f].content]->factor;
      std::size_t stride = 1;
      for (std::size_t d = content.extent.size(); d-- > *at + 1;) stride *= content.extent[d];
      for (std::size_t i = 0; i < listed.size(); ++i) at_label[i] = stride * content.classes[*at][listed[i]];
      return at_label;
    }

    [[nodiscard]] std::vector<strategy> labels() const {
      std::vector<strategy> chosen(p.size());
      for (auto s = steps.rbegin(); s != steps.rend(); ++s) {
        const result& r = *contents[s->content];
        std::size_t cell = 0;
        for (std::size_t d = 0; d < s->scope.size(); ++d)
          cell = cell * r.factor.extent[d] + r.factor.classes[d][chosen[s->scope[d]]];
        chosen[s->variable] = r.best[cell];
      }
      return chosen;
    }

    static constexpr std::size_t look_every = 1 << 16;  ///< cells between two checks of the clock
    const compact_problem<Cost>& p;
    const elimination& options;
    const deadline& limit;
    std::size_t most_steps;
    bool stopped = false;
    Cost constant;
    std::vector<placed> factors;
    std::vector<std::vector<std::uint32_t>> of;  ///< factors of a variable
    std::vector<std::set<std::uint32_t>> neighbours;
    std::vector<std::shared_ptr<const result>> contents;
    interner<std::vector<std::uint32_t>, sequence_hash> results;  ///< buckets that were minimised
    std::vector<std::uint32_t> result_of;                         ///< per bucket: its factor, in `contents`
    interner<std::vector<Cost>, sequence_hash> unaries;
    std::vector<step> steps;
    std::size_t spent = 0, stored = 0;
  };
};

template <cost_value Cost>
solution<Cost> elimination::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  const deadline limit(control);
  state<Cost> s(problem.compact(), *this, limit, control.iterations);
  solve_statistics statistics{.solver = std::string(name)};
  const bool done = s.run(statistics);
  statistics.seconds = statistics.seconds_to_best = limit.elapsed();
  std::vector<strategy> labels;
  double bound = -std::numeric_limits<double>::infinity();
  if (done && is_forbidden(s.constant)) {
    bound = std::numeric_limits<double>::infinity();
    statistics.add_note("every labeling uses a forbidden pair.");
  } else if (done) {
    labels = s.labels();
    bound = in_double(s.constant);
    if (!problem.compact().keeps_rows(labels)) {
      labels.clear();
      statistics.add_note("the best labeling breaks a row.");
    }
  }
  return conclude(problem, std::span<const strategy>(labels), bound, !done, std::move(statistics), control);
}

#ifdef SHARDWEAVE_COMPILED
extern template solution<double> elimination::solve(const placement_problem<double>&, const solve_control&) const;
extern template solution<std::int64_t> elimination::solve(const placement_problem<std::int64_t>&,
                                                          const solve_control&) const;
#endif

}  // namespace shardweave::inline v0
