#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// \file
/// Rules of convolutions, and of what else works on images.

namespace shardweave::inline v0 {

/// Which results of a convolution's backward pass are made.
enum class convolution_results : std::uint8_t { forward, both_gradients, input_gradient, weight_gradient };

namespace detail {

/// The tensors of a convolution by what they are. \pre there are as many as `results` asks for
struct convolution_tensors {
  const tensor& y;  ///< the result, or its gradient
  const tensor& x;
  const tensor& weight;

  convolution_tensors(convolution_results results, std::span<const tensor> inputs, std::span<const tensor> outputs)
      : y(results == convolution_results::forward ? outputs.front() : inputs[0]),
        x(inputs[inputs.size() - 2]),
        weight(inputs.back()) {}
};

}  // namespace detail

/// A convolution over any number of spatial dimensions, with any kernel size, stride, padding and dilation, of which
/// the shapes tell as much as a rule has to know. Forward: x [batch, channel, space...], weight [out, in / groups,
/// space...] -> y [batch, out, space...]; backward: gradient of y, x, weight -> gradients of x and weight, or one of
/// them. Cut by the batch; without groups by input channels or output channels; with groups by whole groups. Spatial
/// dimensions are whole. A transposed one has weight [in, out / groups, space...].
struct convolution_rule {
  convolution_results results = convolution_results::forward;
  bool is_transposed = false;

  /// \throws error naming the operation if its shapes are those of no convolution
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t extent) const {
    check(view);
    const auto& [y, x, weight] = detail::convolution_tensors(results, view.inputs, view.outputs);
    const std::int64_t many = (is_transposed ? y : x).shape[1], each = weight.shape[1];
    const std::int64_t groups = each > 0 ? many / each : 1;
    const dim_placement whole, rows = dim_placement::shard(0), columns = dim_placement::shard(1),
                               sum = dim_placement::partial();
    std::vector<dim_strategy> ways{way(whole, whole, whole, whole, whole), way(rows, rows, whole, rows, sum)};
    if (groups == 1) {
      const dim_placement from = is_transposed ? rows : columns, to = is_transposed ? columns : rows;
      ways.push_back(way(whole, columns, from, columns, from, sum));  // channels that come in
      ways.push_back(way(columns, whole, to, sum, to));               // channels that go out
    } else if (groups % extent == 0 || (each == 1 && weight.shape[0] == many)) {
      ways.push_back(way(columns, columns, rows, columns, rows));
    }
    return ways;
  }

 private:
  /// The result of the forward pass lies as its gradient is taken.
  [[nodiscard]] dim_strategy way(dim_placement y, dim_placement x, dim_placement weight, dim_placement x_gradient,
                                 dim_placement weight_gradient) const {
    return way(y, x, weight, x_gradient, weight_gradient, y);
  }
  /// \param y_forward  how the result of the forward pass lies
  [[nodiscard]] dim_strategy way(dim_placement y, dim_placement x, dim_placement weight, dim_placement x_gradient,
                                 dim_placement weight_gradient, dim_placement y_forward) const {
    switch (results) {
      case convolution_results::both_gradients:
        return {{x_gradient, weight_gradient}, {y, x, weight}};
      case convolution_results::input_gradient:
        return {{x_gradient}, {y, x, weight}};
      case convolution_results::weight_gradient:
        return {{weight_gradient}, {y, x, weight}};
      case convolution_results::forward:
        break;
    }
    return {{y_forward}, {x, weight}};
  }

  void check(const operation_view& view) const {
    const auto wrong = [&](const std::string& what) {
      refuse(error_category::input, "operation '" + view.op.name + "': " + what);
    };
    const std::size_t arguments = results == convolution_results::forward ? 2 : 3;
    const std::size_t given = view.whole_inputs.size();
    if (given != arguments)
      wrong("a convolution takes " + std::to_string(arguments) + " tensors here, found " + std::to_string(given));
    const std::size_t expected = results == convolution_results::both_gradients ? 2 : 1;
    if (view.op.outputs.size() != expected)
      wrong("a convolution gives " + std::to_string(expected) + " tensors here, found " +
            std::to_string(view.op.outputs.size()));
    const auto rank = view.whole_inputs.back().rank();
    for (const tensor& t : view.whole_inputs)
      if (t.rank() != rank || rank < 3)
        wrong("tensors of a convolution have one rank of at least 3, found " + std::to_string(t.rank()) + " and " +
              std::to_string(rank));
    const auto& [y, x, weight] = detail::convolution_tensors(results, view.whole_inputs, view.op.outputs);
    if (y.rank() != rank) wrong("the result of a convolution has rank " + std::to_string(rank));
    const std::int64_t first = (is_transposed ? x : y).shape[1], many = (is_transposed ? y : x).shape[1];
    const std::int64_t each = weight.shape[1];
    if (weight.shape[0] != first || (each == 0 ? many != 0 : many % each != 0))
      wrong("a weight of [" + std::to_string(weight.shape[0]) + ", " + std::to_string(each) + ", ...] does not fit " +
            std::to_string(x.shape[1]) + " channels in and " + std::to_string(y.shape[1]) + " out");
    if (each > 0 && weight.shape[0] % (many / each) != 0)
      wrong(std::to_string(weight.shape[0]) + " channels are not divided among " + std::to_string(many / each) +
            " groups");
  }
};

/// Two operations (a multiplication and an addition) for every element of the result y, or, of a transposed
/// convolution, of the argument x, and every weight that it meets; as many for each gradient of the backward pass.
struct convolution_flops {
  convolution_results results = convolution_results::forward;
  bool is_transposed = false;

  [[nodiscard]] double operator()(const operation_view& view) const {
    const auto& [y, x, weight] = detail::convolution_tensors(results, view.inputs, view.outputs);
    if (weight.shape[0] == 0) return 0;
    const double each = static_cast<double>(weight.element_count()) / static_cast<double>(weight.shape[0]);
    return 2 * static_cast<double>((is_transposed ? x : y).element_count()) * each *
           static_cast<double>(view.outputs.size());
  }
};

/// Works on every image and channel of [batch, channel, space...] for itself, such as pooling and resizing: cut by the
/// batch or by channels, all tensors alike.
struct channelwise_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    std::vector<dim_strategy> ways;
    for (const dim_placement p : {dim_placement(), dim_placement::shard(0), dim_placement::shard(1)})
      ways.push_back(
          {std::vector<dim_placement>(view.outputs.size(), p), std::vector<dim_placement>(view.inputs.size(), p)});
    return ways;
  }
};

}  // namespace shardweave::inline v0
