#pragma once

#include <cmath>

/// \file
/// Means of figures that grow by factors.

namespace shardweave::inline v0::detail {

/// A weighted geometric mean; of a figure that is 0 the weighted mean.
[[nodiscard]] inline double blend(double a, double b, double weight) {
  if (!(a > 0) || !(b > 0)) return (1 - weight) * a + weight * b;
  return std::exp((1 - weight) * std::log(a) + weight * std::log(b));
}

/// The same of two figures that are known beforehand.
class blended {
 public:
  blended(double a, double b) : geometric_(a > 0 && b > 0) {
    from_ = geometric_ ? std::log(a) : a;
    to_ = geometric_ ? std::log(b) : b;
  }
  [[nodiscard]] double at(double weight) const { return geometric_ ? std::exp(mix(weight)) : mix(weight); }
  /// at(weight)^power / x^power
  [[nodiscard]] double ratio(double weight, double x, double power) const {
    if (geometric_) return std::exp(power * (mix(weight) - std::log(x)));
    return std::pow(mix(weight) / x, power);
  }

 private:
  [[nodiscard]] double mix(double weight) const { return (1 - weight) * from_ + weight * to_; }

  double from_, to_;
  bool geometric_;
};

}  // namespace shardweave::inline v0::detail
