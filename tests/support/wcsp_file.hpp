#pragma once

#include <shardweave/placement/compact_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// \file
/// Problems of whole numbers as weighted constraint networks, in the text format `wcsp` of the field: for referees
/// that share nothing with linear programs.

namespace shardweave_test {

/// A problem's network and how to read its costs.
struct wcsp_text {
  std::string text;
  std::int64_t shift = 0;  ///< add to a cost of the network for a cost of the problem
};

/// Costs start at zero and end below `top`, which means forbidden. A row becomes a linear constraint over variables of
/// two values, one per label of what uses something in it.
/// \pre costs and usages are whole numbers; the sum of all costs is below 2^40
inline wcsp_text wcsp_of(const shardweave::compact_problem<std::int64_t>& p) {
  constexpr std::int64_t top = std::int64_t{1} << 40;
  wcsp_text result;
  std::vector<std::string> functions;
  std::vector<std::size_t> domains;
  const auto write = [](std::span<const std::int64_t> numbers) {
    std::string line;
    for (const std::int64_t n : numbers) line += (line.empty() ? "" : " ") + std::to_string(n);
    return line;
  };
  result.shift = p.constant();
  for (std::size_t x = 0; x < p.size(); ++x) {
    domains.push_back(p.label_count(x));
    const auto unary = p.unary(x);
    const std::int64_t least = *std::min_element(unary.begin(), unary.end());
    result.shift += least;
    std::string f = "1 " + std::to_string(x) + " 0 " + std::to_string(unary.size());
    for (std::size_t l = 0; l < unary.size(); ++l)
      f += "\n" + std::to_string(l) + " " + std::to_string(shardweave::is_forbidden(unary[l]) ? top : unary[l] - least);
    functions.push_back(std::move(f));
  }
  for (const shardweave::compact_edge& e : p.edges()) {
    const auto& t = p.table(e);
    std::int64_t least = top;
    for (std::size_t i = 0; i < t.row_classes(); ++i)
      for (std::size_t j = 0; j < t.column_classes(); ++j) least = std::min(least, t.class_cost(i, j));
    result.shift += least;
    std::string f = "2 " + std::to_string(e.first) + " " + std::to_string(e.second) + " 0 " +
                    std::to_string(t.rows() * t.columns());
    for (shardweave::strategy a = 0; a < t.rows(); ++a)
      for (shardweave::strategy b = 0; b < t.columns(); ++b)
        f += "\n" + write(std::vector<std::int64_t>{a, b, shardweave::is_forbidden(t(a, b)) ? top : t(a, b) - least});
    functions.push_back(std::move(f));
  }
  // the usage of every label in every row, and one variable of two values for each label that has any
  std::vector<std::vector<std::int64_t>> usage(p.rows().size(), std::vector<std::int64_t>(p.total_labels()));
  for (std::size_t x = 0; x < p.size(); ++x)
    for (const shardweave::usage_segment& s : p.segments(x))
      for (std::size_t r = s.begin; r < s.end; ++r)
        for (std::size_t l = 0; l < s.usage.size(); ++l)
          usage[r][p.label_start(x) + l] += static_cast<std::int64_t>(s.usage[l]);
  std::vector<std::size_t> taken(p.total_labels());
  for (std::size_t x = 0; x < p.size(); ++x) {
    if (p.segments(x).empty()) continue;
    for (std::size_t l = 0; l < p.label_count(x); ++l) {
      taken[p.label_start(x) + l] = domains.size();
      std::string f =
          "2 " + std::to_string(x) + " " + std::to_string(domains.size()) + " 0 " + std::to_string(p.label_count(x));
      for (std::size_t k = 0; k < p.label_count(x); ++k)
        f += "\n" + std::to_string(k) + " " + std::to_string(k == l ? 0 : 1) + " " + std::to_string(top);
      functions.push_back(std::move(f));
      domains.push_back(2);
    }
  }
  // sum of weights of taken labels >= limit; weights are not negative
  const auto at_least = [&](const std::vector<std::int64_t>& weight, std::int64_t limit) {
    std::string scope, weights;
    std::size_t arity = 0;
    for (std::size_t at = 0; at < weight.size(); ++at) {
      if (weight[at] == 0) continue;
      ++arity;
      scope += " " + std::to_string(taken[at]);
      weights += " " + std::to_string(weight[at]);
    }
    if (limit <= 0) return;
    if (arity == 0) {  // cannot be
      functions.push_back("1 0 " + std::to_string(top) + " 0");
      return;
    }
    functions.push_back(std::to_string(arity) + scope + " -1 knapsack " + std::to_string(limit) + weights);
  };
  for (std::size_t r = 0; r < p.rows().size(); ++r) {
    const auto& row = p.rows()[r];
    if (row.low > -1e15) at_least(usage[r], static_cast<std::int64_t>(row.low));
    if (row.high > 1e15) continue;
    // at most `high` is used: what is spared, of each variable's most, is at least the rest
    std::vector<std::int64_t> spared(p.total_labels());
    std::int64_t most = 0;
    for (std::size_t x = 0; x < p.size(); ++x) {
      const auto first = usage[r].begin() + static_cast<std::ptrdiff_t>(p.label_start(x));
      const std::int64_t top_usage = *std::max_element(first, first + static_cast<std::ptrdiff_t>(p.label_count(x)));
      most += top_usage;
      for (std::size_t l = 0; l < p.label_count(x); ++l)
        spared[p.label_start(x) + l] = top_usage - usage[r][p.label_start(x) + l];
    }
    at_least(spared, most - static_cast<std::int64_t>(row.high));
  }
  result.text = "problem " + std::to_string(domains.size()) + " " +
                std::to_string(*std::max_element(domains.begin(), domains.end())) + " " +
                std::to_string(functions.size()) + " " + std::to_string(top) + "\n";
  for (std::size_t x = 0; x < domains.size(); ++x) result.text += (x > 0 ? " " : "") + std::to_string(domains[x]);
  for (const std::string& f : functions) result.text += "\n" + f;
  result.text += "\n";
  return result;
}

}  // namespace shardweave_test
