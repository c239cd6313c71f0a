#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Small compact problems, and what is true of them by trying every labeling.

namespace shardweave_test {

namespace sw = shardweave;
using label_list = std::vector<sw::strategy>;

/// What a random compact problem is like.
struct small_shape {
  std::size_t variables = 5;
  std::size_t most_labels = 4;
  double density = 0.5;  ///< of edges beyond a spanning tree
  double forbidden = 0;  ///< share of pairs; the first label of one end suits all
  std::uint32_t rows = 0;
  double lower_limits = 0;  ///< share of rows
  double usage = 0.7;       ///< share of variables that use something
  std::size_t classes = 4;  ///< most row and column classes of a table
  std::size_t range = 30;   ///< costs of pairs are below
  double paired = 0;        ///< share of edges that leave each label of one end one label of the other
  double lonely = 0;        ///< share of labels, 0 aside, that an edge lets go with none of the other end
};

template <class Cost>
std::shared_ptr<const sw::cost_table<Cost>> table_of(std::size_t rows, std::size_t columns,
                                                     const std::vector<Cost>& entries) {
  return std::make_shared<const sw::cost_table<Cost>>(sw::cost_table<Cost>::from_entries(rows, columns, entries));
}

/// Whole costs, so that sums are exact; limits around what label 0 everywhere uses.
template <class Cost = double>
sw::compact_problem<Cost> draw_small(std::uint64_t seed, const small_shape& shape = {}) {
  sw::random_source random(seed * 2 + 1);
  sw::compact_builder<Cost> builder;
  std::vector<std::size_t> k(shape.variables);
  for (std::size_t& n : k) {
    n = 1 + random.below(shape.most_labels);
    std::vector<Cost> unary(n);
    for (Cost& c : unary) c = static_cast<Cost>(random.below(20));
    builder.add_variable(unary);
  }
  for (std::uint32_t y = 1; y < shape.variables; ++y) {
    const auto parent = static_cast<std::uint32_t>(random.below(y));
    for (std::uint32_t x = 0; x < y; ++x) {
      if (x != parent && !random.chance(shape.density)) continue;
      std::vector<std::size_t> row(k[x]), column(k[y]);
      for (std::size_t& c : row) c = random.below(shape.classes);
      for (std::size_t& c : column) c = random.below(shape.classes);
      const bool paired = shape.paired > 0 && random.chance(shape.paired);
      std::vector<Cost> kinds(shape.classes * shape.classes), entries;
      for (Cost& c : kinds)
        c = random.chance(shape.forbidden) ? sw::forbidden<Cost> : static_cast<Cost>(random.below(shape.range));
      std::vector<bool> is_lonely(k[x] + k[y]);
      if (shape.lonely > 0)
        for (std::size_t l = 0; l < is_lonely.size(); ++l)
          is_lonely[l] = l != 0 && l != k[x] && random.chance(shape.lonely);
      for (std::size_t a = 0; a < k[x]; ++a)
        for (std::size_t b = 0; b < k[y]; ++b) {
          if (is_lonely[a] || is_lonely[k[x] + b]) {
            entries.push_back(sw::forbidden<Cost>);
            continue;
          }
          const Cost c = kinds[row[a] * shape.classes + column[b]];
          if (paired) {  // a label of y decides x's, every label of x has one, and 0 goes with 0
            const bool fits = k[x] <= k[y] ? b % k[x] == a : a % k[y] == b;
            entries.push_back(fits ? static_cast<Cost>(random.below(shape.range)) : sw::forbidden<Cost>);
            continue;
          }
          // a partner for everyone: the first label of one end suits all
          entries.push_back(sw::is_forbidden(c) && (a == 0 || b == 0) ? Cost{25} : c);
        }
      builder.add_edge(x, y, table_of<Cost>(k[x], k[y], entries));
    }
  }
  std::vector<double> first(shape.rows);
  for (std::uint32_t x = 0; x < shape.variables && shape.rows > 0; ++x)
    for (std::size_t parts = random.chance(shape.usage) ? 1 + random.below(2) : 0; parts-- > 0;) {
      const auto begin = static_cast<std::uint32_t>(random.below(shape.rows));
      const auto end = static_cast<std::uint32_t>(begin + 1 + random.below(shape.rows - begin));
      sw::usage_segment s{begin, end, {}};
      for (std::size_t l = 0; l < k[x]; ++l) s.usage.push_back(static_cast<double>(random.below(10)));
      for (std::uint32_t r = begin; r < end; ++r) first[r] += s.usage[0];
      builder.add_segment(x, std::move(s));
    }
  for (std::uint32_t r = 0; r < shape.rows; ++r) {
    sw::usage_row row;
    row.high = first[r] + static_cast<double>(random.below(4));
    if (random.chance(shape.lower_limits)) row.low = first[r] - static_cast<double>(random.below(4));
    row.time = r;
    builder.add_row(row);
  }
  return builder.build();
}

/// Calls f for every labeling.
template <class Cost>
void for_all_labelings(const sw::compact_problem<Cost>& p, const std::function<void(const label_list&)>& f) {
  label_list labels(p.size(), 0);
  for (;;) {
    f(labels);
    std::size_t x = 0;
    while (x < labels.size() && ++labels[x] == p.label_count(x)) labels[x++] = 0;
    if (x == labels.size()) return;
  }
}

/// The cost of a labeling from single entries; nothing if forbidden.
template <class Cost>
std::optional<Cost> naive_cost(const sw::compact_problem<Cost>& p, std::span<const sw::strategy> labels) {
  Cost total = p.constant();
  for (std::size_t x = 0; x < p.size(); ++x) {
    if (sw::is_forbidden(p.unary(x)[labels[x]])) return std::nullopt;
    total += p.unary(x)[labels[x]];
  }
  for (const sw::compact_edge& e : p.edges()) {
    const Cost c = p.table(e)(labels[e.first], labels[e.second]);
    if (sw::is_forbidden(c)) return std::nullopt;
    total += c;
  }
  return total;
}

/// Row by row, segment by segment.
template <class Cost>
bool naive_rows(const sw::compact_problem<Cost>& p, std::span<const sw::strategy> labels) {
  for (std::size_t r = 0; r < p.rows().size(); ++r) {
    double used = 0;
    for (std::size_t x = 0; x < p.size(); ++x)
      for (const sw::usage_segment& s : p.segments(x))
        if (s.begin <= r && r < s.end) used += s.usage[labels[x]];
    if (used > p.rows()[r].high + 1e-6 || used < p.rows()[r].low - 1e-6) return false;
  }
  return true;
}

/// The least cost of a labeling that keeps all rows (or, on request, whether it keeps them or not).
template <class Cost>
std::optional<Cost> brute_optimum_of(const sw::compact_problem<Cost>& p, bool with_rows = true) {
  std::optional<Cost> best;
  for_all_labelings<Cost>(p, [&](const label_list& labels) {
    const auto cost = naive_cost(p, labels);
    if (cost && (!best || *cost < *best) && (!with_rows || naive_rows(p, labels))) best = cost;
  });
  return best;
}

/// Per label, the least cost of a labeling that has it and keeps all rows; infinity if there is none.
inline std::vector<double> least_by_label(const sw::compact_problem<double>& p) {
  std::vector<double> least(p.total_labels(), std::numeric_limits<double>::infinity());
  for_all_labelings<double>(p, [&](const label_list& labels) {
    const auto cost = naive_cost<double>(p, labels);
    if (!cost || !naive_rows<double>(p, labels)) return;
    for (std::size_t x = 0; x < p.size(); ++x) {
      double& of_label = least[p.label_start(x) + labels[x]];
      of_label = std::min(of_label, *cost);
    }
  });
  return least;
}

/// By definition, what multipliers of edges, unary costs and what is put into rows prove: the least of every label, of
/// every pair of an edge, and of what keeps a row, apart.
inline double naive_bound(const sw::compact_problem<double>& p, std::span<const double> of_class,
                          std::span<const double> unary, std::span<const sw::row_amounts> rows) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> own(unary.begin(), unary.end());
  double bound = p.constant();
  const std::vector<std::size_t> offsets = sw::dual_offsets(p);
  for (std::size_t e = 0; e < p.edges().size(); ++e) {
    const sw::compact_edge& edge = p.edges()[e];
    const auto& t = p.table(edge);
    const double* const of_row = of_class.data() + offsets[e];
    const double* const of_column = of_row + t.row_classes();
    double least = infinity;
    for (sw::strategy a = 0; a < t.rows(); ++a) {
      own[p.label_start(edge.first) + a] -= of_row[t.row_class(a)];
      for (sw::strategy b = 0; b < t.columns(); ++b)
        least = std::min(least, t(a, b) + of_row[t.row_class(a)] + of_column[t.column_class(b)]);
    }
    for (sw::strategy b = 0; b < t.columns(); ++b) own[p.label_start(edge.second) + b] -= of_column[t.column_class(b)];
    bound += least;
  }
  for (const sw::row_amounts& row : rows) {
    double least = infinity;
    for_all_labelings<double>(p, [&](const label_list& labels) {
      double used = 0, amount = 0;
      for (std::size_t x = 0; x < p.size(); ++x)
        for (const sw::usage_segment& s : p.segments(x))
          if (s.begin <= row.row && row.row < s.end) used += s.usage[labels[x]];
      if (used > p.rows()[row.row].high + 1e-6) return;
      for (const auto& m : row.members) amount += m.amounts[labels[m.variable]];
      least = std::min(least, amount);
    });
    bound += least;
    for (const auto& m : row.members)
      for (std::size_t l = 0; l < m.amounts.size(); ++l) own[p.label_start(m.variable) + l] -= m.amounts[l];
  }
  for (std::size_t x = 0; x < p.size(); ++x) {
    const auto of = std::span(own).subspan(p.label_start(x), p.label_count(x));
    bound += *std::min_element(of.begin(), of.end());
  }
  return bound;
}

}  // namespace shardweave_test
