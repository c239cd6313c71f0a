#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A training step as a compiler might hand it over: small, but with all that bucketing and scheduling look at.

namespace programs {

/// Weights are cut over eight ranks: each layer gathers its weight before it computes, and scatters its gradient
/// afterwards. Everything stands where it is needed, so nothing is hidden yet.
[[nodiscard]] inline shardweave::task_graph small_step(std::size_t layers = 4) {
  namespace sw = shardweave;
  const sw::bytes part = sw::mebibytes(1), whole = sw::mebibytes(8), activation = sw::mebibytes(16);
  sw::task_graph_builder b;
  b.name = "small step";
  b.device.dram_bytes_per_ns = 2500;
  const auto dp = b.add_group({.id = 0, .name = "dp", .size = 8});
  // [tables]
  const sw::duration_table gathers(sw::collective::all_gather, dp, {sw::kibibytes(64), sw::mebibytes(64)},
                                   {sw::nanoseconds(30'000), sw::nanoseconds(1'600'000)});
  const sw::duration_table scatters(sw::collective::reduce_scatter, dp, {sw::kibibytes(64), sw::mebibytes(64)},
                                    {sw::nanoseconds(30'000), sw::nanoseconds(230'000)});
  b.add_table(gathers);
  b.add_table(scatters);
  // [tables]
  const auto held = [&](sw::bytes size) {
    return std::vector<sw::output_record>{{.size = size, .storage = b.add_storage(size), .dtype = "bf16"}};
  };
  // a collective and the task that waits for it
  const auto communicate = [&](const std::string& name, sw::task_index from, const sw::duration_table& time,
                               sw::collective_record what) {
    const auto start = b.add_task({.name = name,
                                   .op = std::string(sw::name_of(what.op)),
                                   .kind = sw::task_kind::collective,
                                   .duration = time(what.bytes_in),
                                   .inputs = {from},
                                   .collective = what,
                                   .outputs = held(what.bytes_out),
                                   .is_fsdp = true});
    return b.add_task(
        {.name = name + "_wait",
         .op = "wait",
         .kind = sw::task_kind::wait,
         .inputs = {start},
         .completes = start,
         .outputs = {{.size = what.bytes_out, .storage = static_cast<std::uint32_t>(b.add_storage(what.bytes_out))}}});
  };
  const auto compute = [&](const std::string& name, sw::nanoseconds time, std::vector<sw::task_index> inputs,
                           sw::bytes size) {
    return b.add_task({.name = name,
                       .op = "matmul",
                       .kind = sw::task_kind::compute,
                       .duration = time,
                       .inputs = std::move(inputs),
                       .outputs = held(size)});
  };

  std::vector<sw::task_index> shards, weights, results;
  for (std::size_t i = 0; i < layers; ++i)
    shards.push_back(b.add_task({.name = "primals_w" + std::to_string(i),
                                 .op = "input",
                                 .kind = sw::task_kind::input,
                                 .outputs = held(part),
                                 .is_param = true}));
  std::vector<sw::task_index> values = {
      b.add_task({.name = "x", .op = "input", .kind = sw::task_kind::input, .outputs = held(activation)})};
  for (std::size_t i = 0; i < layers; ++i) {
    const std::string n = std::to_string(i);
    weights.push_back(
        communicate("gather" + n, shards[i], gathers, {sw::collective::all_gather, dp, part, whole, "bf16"}));
    values.push_back(compute("forward" + n, sw::nanoseconds(90'000), {values.back(), weights[i]}, activation));
  }
  sw::task_index gradient = values.back();
  for (std::size_t i = layers; i-- > 0;) {
    const std::string n = std::to_string(i);
    const auto of_weight = compute("weight_gradient" + n, sw::nanoseconds(90'000), {values[i], gradient}, whole);
    results.push_back(communicate("scatter" + n, of_weight, scatters,
                                  {sw::collective::reduce_scatter, dp, whole, part, "bf16", "sum"}));
    gradient = compute("gradient" + n, sw::nanoseconds(90'000), {gradient, weights[i]}, activation);
  }
  results.push_back(gradient);
  b.add_task({.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = results});
  return std::move(b).build();
}

}  // namespace programs
