#pragma once

#include <shardweave/models/backward_pass.hpp>

#include <cstddef>

/// \file
/// Backward rules of operators that work element by element.

namespace shardweave::inline v0::detail {

struct named_backward_rule {
  const char* op;
  void (*rule)(backward_pass&);
};

using gradient_value = backward_pass::value;

/// The gradient of a complex function takes the conjugate of its derivative, which is then written to memory.
inline gradient_value conjugate(graph_builder& b, gradient_value x) {
  return b.of_value(x).type == dtype::c64 ? b.clone(b.conj(x)) : x;
}
inline gradient_value zeros_like(graph_builder& b, gradient_value x) { return b.mul_scalar(x, 0); }
/// a where `condition` is not 0, else b.
inline gradient_value choose(graph_builder& b, gradient_value condition, gradient_value yes, gradient_value no) {
  const tensor like = b.of_value(yes);
  return b.apply("where", {condition, yes, no}, {{like.shape, like.type}});
}

inline void product_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  for (const std::size_t i : {1U, 0U})
    if (p.wants(p.input(i))) p.give(p.input(i), b.mul(p.gradient(), conjugate(b, p.input(1 - i))));
}
inline void quotient_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  const gradient_value divisor = conjugate(b, p.input(1));
  if (p.wants(p.input(1))) {
    const gradient_value slope = b.mul(p.gradient(), conjugate(b, p.output()));
    p.give(p.input(1), b.neg(b.div(slope, divisor)));
  }
  if (p.wants(p.input(0))) p.give(p.input(0), b.div(p.gradient(), divisor));
}
/// The gradient goes where the extremum comes from, to the first of two that are equal.
inline void extremum_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  const gradient_value second = b.conv(b.sub(p.output(), p.input(0)), dtype::boolean);
  const gradient_value none = zeros_like(b, p.gradient());
  if (p.wants(p.input(1))) p.give(p.input(1), choose(b, second, p.gradient(), none));
  if (p.wants(p.input(0))) p.give(p.input(0), choose(b, second, none, p.gradient()));
}
inline void power_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  const double exponent = p.with().scalar;
  if (exponent == 0) return;  // a constant
  const gradient_value below = exponent == 2 ? p.input(0) : b.pow(p.input(0), exponent - 1);
  p.give(p.input(0), b.mul(p.gradient(), b.mul_scalar(below, exponent)));
}
/// silu(x) = x s with s = sigmoid(x), and so s + x s (1 - s).
inline void silu_backward(backward_pass& p) {
  graph_builder& b = p.builder();
  const gradient_value s = b.sigmoid(p.input(0));
  const gradient_value slope = b.add_scalar(b.mul(p.input(0), b.rsub_scalar(s, 1)), 1);
  p.give(p.input(0), b.mul(b.mul(p.gradient(), s), slope));
}
inline void unchanged_backward(backward_pass& p) { p.give(p.input(0), p.gradient()); }
inline void negation_backward(backward_pass& p) { p.give(p.input(0), p.builder().neg(p.gradient())); }

inline constexpr named_backward_rule pointwise_backward_rules[] = {
    {"add",
     [](backward_pass& p) {
       for (const std::size_t i : {1U, 0U}) p.give(p.input(i), p.gradient());
     }},
    {"sub",
     [](backward_pass& p) {
       if (p.wants(p.input(1))) p.give(p.input(1), p.builder().neg(p.gradient()));
       p.give(p.input(0), p.gradient());
     }},
    {"mul", product_backward},
    {"div", quotient_backward},
    {"maximum", extremum_backward},
    {"minimum", extremum_backward},
    {"neg", negation_backward},
    {"exp",
     [](backward_pass& p) { p.give(p.input(0), p.builder().mul(p.gradient(), conjugate(p.builder(), p.output()))); }},
    {"log",
     [](backward_pass& p) { p.give(p.input(0), p.builder().div(p.gradient(), conjugate(p.builder(), p.input(0)))); }},
    {"sigmoid",
     [](backward_pass& p) {
       graph_builder& b = p.builder();
       p.give(p.input(0), b.mul(p.gradient(), b.mul(p.output(), b.rsub_scalar(p.output(), 1))));
     }},
    {"tanh",
     [](backward_pass& p) {
       graph_builder& b = p.builder();
       p.give(p.input(0), b.mul(p.gradient(), b.rsub_scalar(b.pow(p.output(), 2), 1)));
     }},
    {"silu", silu_backward},
    {"relu",
     [](backward_pass& p) {
       graph_builder& b = p.builder();
       const gradient_value passes = b.conv(p.output(), dtype::boolean);
       p.give(p.input(0), choose(b, passes, p.gradient(), zeros_like(b, p.gradient())));
     }},
    {"abs",  // the sign, and 0 at 0
     [](backward_pass& p) {
       graph_builder& b = p.builder();
       const gradient_value slope = b.div(p.input(0), p.output());
       const gradient_value moves = b.conv(p.input(0), dtype::boolean);
       p.give(p.input(0), b.mul(p.gradient(), choose(b, moves, slope, zeros_like(b, p.gradient()))));
     }},
    {"sqrt",
     [](backward_pass& p) {
       p.give(p.input(0), p.builder().div(p.gradient(), p.builder().mul_scalar(p.output(), 2)));
     }},
    {"rsqrt",
     [](backward_pass& p) {
       graph_builder& b = p.builder();
       p.give(p.input(0), b.mul(p.gradient(), b.mul_scalar(b.pow(p.output(), 3), -0.5)));
     }},
    {"reciprocal",
     [](backward_pass& p) {
       graph_builder& b = p.builder();
       p.give(p.input(0), b.neg(b.mul(p.gradient(), b.pow(p.output(), 2))));
     }},
    {"pow", power_backward},
    {"conj", [](backward_pass& p) { p.give(p.input(0), p.builder().conj(p.gradient())); }},
    {"clone", unchanged_backward},
    {"alias", unchanged_backward},
    {"add_scalar", unchanged_backward},
    {"rsub_scalar", negation_backward},
    {"mul_scalar", [](backward_pass& p) { p.give(p.input(0), p.builder().mul_scalar(p.gradient(), p.with().scalar)); }},
    {"div_scalar", [](backward_pass& p) { p.give(p.input(0), p.builder().div_scalar(p.gradient(), p.with().scalar)); }},
    {"where",
     [](backward_pass& p) {
       graph_builder& b = p.builder();
       const gradient_value none = zeros_like(b, p.gradient());
       if (p.wants(p.input(2))) p.give(p.input(2), choose(b, p.input(0), none, p.gradient()));
       if (p.wants(p.input(1))) p.give(p.input(1), choose(b, p.input(0), p.gradient(), none));
     }},
    {"conv",
     [](backward_pass& p) {
       p.give(p.input(0), p.builder().conv(p.gradient(), p.builder().of_value(p.input(0)).type));
     }},
    {"cast",
     [](backward_pass& p) {
       p.give(p.input(0), p.builder().cast(p.gradient(), p.builder().of_value(p.input(0)).type));
     }},
};

}  // namespace shardweave::inline v0::detail
