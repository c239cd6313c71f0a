#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// What the forward passes of models have in common, in plain loops, token by token.
namespace plain_model {

using row = std::vector<double>;
using weights = std::map<std::string, row>;

inline row norm(const row& x, const row& w, double eps) {
  double squares = 0;
  for (const double e : x) squares += e * e;
  const double scale = std::sqrt(squares / static_cast<double>(x.size()) + eps);
  row y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] / scale * w[i];
  return y;
}

/// w x, for w stored row by row; `first` skips matrices of a stack, `by_columns` takes the transpose.
inline row times(const row& w, const row& x, std::size_t first = 0, std::size_t out = 0, bool by_columns = false) {
  if (out == 0) out = w.size() / x.size();
  row y(out);
  const double* matrix = w.data() + first;
  for (std::size_t o = 0; o < out; ++o) {
    std::size_t at = by_columns ? o : o * x.size();
    double sum = 0;
    for (const double e : x) {
      sum += matrix[at] * e;
      at += by_columns ? out : 1;
    }
    y[o] = sum;
  }
  return y;
}

inline void add(row& x, const row& more) {
  for (std::size_t i = 0; i < more.size(); ++i) x[i] += more[i];
}

/// silu(gate) * up
inline row gated(row gate, const row& up) {
  for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  return gate;
}

inline row feed(const row& w1, const row& w2, const row& w3, const row& y) {
  return times(w2, gated(times(w1, y), times(w3, y)));
}

/// Turns the pair of elements `at` and `at + 1`.
inline void turn(row& x, std::size_t at, double angle) {
  const double a = x[at];
  const double b = x[at + 1];
  x[at] = a * std::cos(angle) - b * std::sin(angle);
  x[at + 1] = a * std::sin(angle) + b * std::cos(angle);
}

/// The rows of the embedding for the tokens of one sequence.
inline std::vector<row> embedded(const row& table, std::size_t width, const std::vector<std::size_t>& tokens,
                                 std::size_t first, std::size_t count) {
  std::vector<row> x;
  for (std::size_t s = first; s < first + count; ++s) {
    const auto begin = table.begin() + static_cast<std::ptrdiff_t>(tokens[s] * width);
    x.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(width));
  }
  return x;
}

}  // namespace plain_model
