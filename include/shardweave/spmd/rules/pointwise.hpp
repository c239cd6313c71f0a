#pragma once

#include <shardweave/spmd/rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// Rules of operators that work element by element, and of values that come from nowhere.

namespace shardweave::inline v0 {

/// Anything without partial results: replicated or cut in any dimension, result and argument alike. For
/// graph inputs, and for aliases, which are where a value may change its placement.
struct any_placement_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    std::vector<dim_strategy> ways{{{dim_placement()}, std::vector<dim_placement>(view.inputs.size())}};
    for (std::size_t d = 0; d < view.outputs.front().rank(); ++d)
      ways.push_back(
          {{dim_placement::shard(d)}, std::vector<dim_placement>(view.inputs.size(), dim_placement::shard(d))});
    return ways;
  }
};

/// f(x), f(x, y), ... with broadcasting: any dimension of the result may be cut, arguments alike where they
/// have it, and `partial` lists the ways in which the function maps partial results to partial results.
struct pointwise_rule {
  static constexpr bool moves_data_only = true;
  std::vector<dim_strategy> partial = {};

  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    const std::size_t arguments = view.inputs.size();
    const tensor& out = view.outputs.front();
    std::vector<dim_strategy> ways{{{dim_placement()}, std::vector<dim_placement>(arguments)}};
    for (std::size_t d = 0; d < out.rank(); ++d) {
      dim_strategy way{{dim_placement::shard(d)}, {}};
      for (const tensor& in : view.inputs) {
        const std::size_t missing = out.rank() - in.rank();  // dimensions match from the last on
        const bool has = d >= missing && (in.shape[d - missing] != 1 || out.shape[d] == 1);
        way.inputs.push_back(has ? dim_placement::shard(d - missing) : dim_placement());
      }
      ways.push_back(std::move(way));
    }
    for (const dim_strategy& way : partial)
      if (way.inputs.size() == arguments) ways.push_back(way);
    return ways;
  }
};

namespace detail::placements {

inline constexpr dim_placement whole = dim_placement::replicate();
inline constexpr dim_placement partial_sums = dim_placement::partial(partial_kind::sum);
inline constexpr dim_placement averages = dim_placement::partial(partial_kind::avg);
inline constexpr dim_placement maxima = dim_placement::partial(partial_kind::max);
inline constexpr dim_placement minima = dim_placement::partial(partial_kind::min);

}  // namespace detail::placements

/// f(x + y) = f(x) + f(y): scaling by a constant, views of complex numbers.
[[nodiscard]] inline pointwise_rule linear_rule() {
  using namespace detail::placements;
  return {{{{partial_sums}, {partial_sums}}, {{averages}, {averages}}}};
}
/// -x
[[nodiscard]] inline pointwise_rule negation_rule() {
  using namespace detail::placements;
  return {{{{partial_sums}, {partial_sums}}, {{averages}, {averages}}, {{minima}, {maxima}}, {{maxima}, {minima}}}};
}
/// x <= y gives f(x) <= f(y): exp, relu, sigmoid, tanh.
[[nodiscard]] inline pointwise_rule increasing_rule() {
  using namespace detail::placements;
  return {{{{maxima}, {maxima}}, {{minima}, {minima}}}};
}
/// x + y: a sum goes with a sum; a value that is whole may be added to averages and extremes.
[[nodiscard]] inline pointwise_rule addition_rule() {
  using namespace detail::placements;
  return {{{{partial_sums}, {partial_sums, partial_sums}},
           {{averages}, {averages, averages}},
           {{averages}, {averages, whole}},
           {{averages}, {whole, averages}},
           {{maxima}, {maxima, whole}},
           {{minima}, {minima, whole}}}};
}
/// x - y: as x + y with the second negated.
[[nodiscard]] inline pointwise_rule subtraction_rule() { return addition_rule(); }
/// x * y: linear in each.
[[nodiscard]] inline pointwise_rule product_rule() {
  using namespace detail::placements;
  return {{{{partial_sums}, {partial_sums, whole}},
           {{partial_sums}, {whole, partial_sums}},
           {{averages}, {averages, whole}},
           {{averages}, {whole, averages}}}};
}
/// x / y: linear in x.
[[nodiscard]] inline pointwise_rule quotient_rule() {
  using namespace detail::placements;
  return {{{{partial_sums}, {partial_sums, whole}}, {{averages}, {averages, whole}}}};
}

/// max(x, y) and min(x, y) grow with both: extremes pass beside a whole value, and `own` beside its like.
[[nodiscard]] inline pointwise_rule extremum_rule(partial_kind own) {
  using namespace detail::placements;
  const dim_placement alike = dim_placement::partial(own);
  return {{{{alike}, {alike, alike}},
           {{maxima}, {maxima, whole}},
           {{maxima}, {whole, maxima}},
           {{minima}, {minima, whole}},
           {{minima}, {whole, minima}}}};
}
/// condition ? x : y with a whole condition: partial results of any one kind pass.
[[nodiscard]] inline pointwise_rule choice_rule() {
  using namespace detail::placements;
  return {{{{partial_sums}, {whole, partial_sums, partial_sums}},
           {{averages}, {whole, averages, averages}},
           {{maxima}, {whole, maxima, maxima}},
           {{minima}, {whole, minima, minima}}}};
}

/// Pairs of reals as complex numbers and back: any dimension but that of the pair, and partial sums.
struct complex_view_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    detail::demand_tensors(view, 1);
    std::vector<dim_strategy> ways{{{detail::placements::whole}, {detail::placements::whole}}};
    const std::size_t shared = std::min(view.inputs.front().rank(), view.outputs.front().rank());
    for (std::size_t d = 0; d < shared; ++d) ways.push_back({{dim_placement::shard(d)}, {dim_placement::shard(d)}});
    ways.push_back({{detail::placements::partial_sums}, {detail::placements::partial_sums}});
    ways.push_back({{detail::placements::averages}, {detail::placements::averages}});
    return ways;
  }
};

/// The result lies as the argument does, partial or not: copies, conjugation, elements of a tuple.
struct same_placement_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::optional<dim_strategy> operator()(const operation_view&, dim_placement in, std::int64_t) const {
    return dim_strategy{{in}, {in}};
  }
};

/// The same for conversions of element type. Those that cut off fractions, or most of them (8-bit floating point),
/// round each piece on its own, so that sums are to be made whole first; truth values keep no partial result at all.
struct conversion_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::optional<dim_strategy> operator()(const operation_view& view, dim_placement in,
                                                       std::int64_t) const {
    const auto is_whole_number = [](dtype t) { return t == dtype::i64 || t == dtype::i32 || t == dtype::u8; };
    const dtype from = view.inputs.front().type;
    const dtype to = view.outputs.front().type;
    const bool is_extreme = in.is_partial() && (in.kind() == partial_kind::max || in.kind() == partial_kind::min);
    const bool rounds = (is_whole_number(to) && !is_whole_number(from)) || (is_f8(to) && !is_f8(from));
    if (in.is_partial() && (to == dtype::boolean || from == dtype::boolean || (rounds && !is_extreme)))
      in = dim_placement();
    return dim_strategy{{in}, {in}};
  }
};

}  // namespace shardweave::inline v0
