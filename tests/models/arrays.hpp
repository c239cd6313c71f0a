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
  const std::int64_t* index = at.data() + (at.size() - a.shape.size());
  std::int64_t position = 0;
  for (const std::int64_t extent : a.shape) {
    position = position * extent + (extent == 1 ? 0 : *index);
    ++index;
  }
  return static_cast<std::size_t>(position);
}

}  // namespace interpreter
