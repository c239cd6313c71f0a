#pragma once

/// What gradients are compared with.
namespace finite_difference {

/// How fast `loss()` grows with `x`, which is left as it was.
template <class Number, class Loss>
[[nodiscard]] double slope(Number& x, const Loss& loss) {
  const Number at = x;
  x = at + 1e-5;
  const double above = loss();
  x = at - 1e-5;
  const double below = loss();
  x = at;
  return (above - below) / 2e-5;
}

}  // namespace finite_difference
