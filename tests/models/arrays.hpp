#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Arrays of numbers, whatever the element types are in the graph.
namespace interpreter {

using number = std::complex<double>;
using indices = std::vector<std::int64_t>;

struct array {
  indices shape;
  std::vector<number> data;
};

inline std::int64_t count(const indices& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

inline array zeros(indices shape) {
  const auto n = static_cast<std::size_t>(count(shape));
  return {std::move(shape), std::vector<number>(n)};
}

/// Calls f(index) for every index of the shape, last dimension fastest.
template <class F>
void each(const indices& shape, F f) {
  indices at(shape.size());
  for (std::int64_t n = count(shape); n > 0; --n) {
    f(std::as_const(at));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

/// The element at an index; extent 1 stretches, and missing leading dimensions are ignored.
inline std::size_t offset(const array& a, const indices& at) {
  std::size_t position = 0;
  const std::size_t skip = at.size() - a.shape.size();
  for (std::size_t d = 0; d < a.shape.size(); ++d)
    position = position * static_cast<std::size_t>(a.shape[d]) +
               (a.shape[d] == 1 ? 0 : static_cast<std::size_t>(at[d + skip]));
  return position;
}

}  // namespace interpreter
