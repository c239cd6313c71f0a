#include "memory/random_training.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/memory/activation_blocks.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace activation_blocks_tests {
namespace {

namespace sw = shardweave;
using random_training_graphs::random_training;
using random_training_graphs::training;
using shardweave_test::refusal_of;
using sw::bytes;
using sw::mebibytes;
using sw::no_index;
using sw::task_index;

/// Two blocks of two operations each. Of the first the backward part reads `a`, of the second `c` and `d`; `b` goes on
/// to the second block.
training two_blocks() {
  sw::task_graph_builder builder;
  std::vector<std::uint32_t> block;
  const auto add = [&](const char* name, sw::task_kind kind, sw::phase when, std::vector<task_index> inputs,
                       std::uint32_t in_block, std::int64_t size, std::int64_t time) {
    sw::task_record r{.name = name, .op = "op", .kind = kind, .inputs = std::move(inputs), .when = when};
    r.duration = sw::nanoseconds(time);
    if (size > 0) r.outputs = {{.size = mebibytes(size), .storage = builder.add_storage(mebibytes(size))}};
    block.push_back(in_block);
    return builder.add_task(r);
  };
  using k = sw::task_kind;
  using p = sw::phase;
  const auto data = add("data", k::input, p::forward, {}, no_index, 1, 0);
  const auto a = add("a", k::other, p::forward, {data}, 0, 8, 50), b = add("b", k::other, p::forward, {a}, 0, 4, 70);
  const auto c = add("c", k::other, p::forward, {b}, 1, 16, 30), d = add("d", k::other, p::forward, {c}, 1, 2, 20);
  const auto loss = add("loss", k::other, p::forward, {d}, no_index, 1, 0);
  const auto late = add("late", k::other, p::backward, {loss, c, d}, 1, 32, 0);
  add("later", k::other, p::backward, {late, a}, 0, 64, 0);
  return {std::move(builder).build(), block};
}

}  // namespace

TEST_SUITE("memory") {
  TEST_CASE("values of a block are what its forward part makes and a backward part reads, with what makes them") {
    const training t = two_blocks();
    const sw::activation_blocks found = sw::activation_blocks_of(t.graph, t.block);
    REQUIRE(found.blocks.size() == 2);
    const auto& [a, b] = std::pair(found.blocks[0].values.at(0), found.blocks[0].values.at(1));
    CHECK(a.name == "a");
    CHECK(a.size == mebibytes(8));
    CHECK(a.time == sw::nanoseconds(50));
    CHECK(a.inputs.empty());  // what is given is no value of the block
    CHECK((a.may_keep && a.may_drop && !a.may_offload));
    CHECK(b.name == "b");
    CHECK(b.inputs == std::vector<std::uint32_t>{0});
    CHECK_FALSE(b.may_drop);  // the next block reads it
    CHECK(found.blocks[1].values.at(0).inputs.empty());
    CHECK(found.blocks[1].values.at(1).inputs == std::vector<std::uint32_t>{0});
    REQUIRE(found.blocks[1].backward.size() == 1);
    CHECK(found.blocks[1].backward[0].reads == std::vector<std::uint32_t>{0, 1});
    REQUIRE(found.blocks[0].backward.size() == 1);
    CHECK(found.blocks[0].backward[0].reads == std::vector<std::uint32_t>{0});
    CHECK(found.rows[0].may_offload);
    CHECK_FALSE(found.rows[1].may_offload);  // its values are needed at once
  }

  TEST_CASE("a view of a value in the next block makes nothing, it reads the value") {
    sw::task_graph_builder builder;
    std::vector<std::uint32_t> block;
    const auto add = [&](const char* name, sw::task_kind kind, sw::phase when, std::vector<task_index> inputs,
                         std::uint32_t in_block, std::uint32_t storage, std::int64_t time) {
      sw::task_record r{.name = name, .op = "op", .kind = kind, .inputs = std::move(inputs), .when = when};
      r.duration = sw::nanoseconds(time);
      r.outputs = {{.size = mebibytes(8), .storage = storage}};
      block.push_back(in_block);
      return builder.add_task(r);
    };
    const auto own = [&] { return builder.add_storage(mebibytes(8)); };
    using k = sw::task_kind;
    using p = sw::phase;
    const auto data = add("data", k::input, p::forward, {}, no_index, own(), 0);
    const auto a = add("a", k::other, p::forward, {data}, 0, own(), 50);
    const auto b = add("b", k::other, p::forward, {a}, 0, own(), 60);
    const std::uint32_t shown = own();
    const auto c = add("c", k::other, p::forward, {b}, 0, shown, 70);
    const auto view = add("view", k::view, p::forward, {c}, 1, shown, 3);
    const auto d = add("d", k::other, p::forward, {view}, 1, own(), 30);
    const auto loss = add("loss", k::other, p::forward, {d}, no_index, own(), 0);
    const auto late = add("late", k::other, p::backward, {loss, d, view}, 1, own(), 0);
    add("later", k::other, p::backward, {late, a, b, c}, 0, own(), 0);
    const sw::activation_blocks found = sw::activation_blocks_of(std::move(builder).build(), block);
    REQUIRE(found.blocks.size() == 2);
    REQUIRE(found.blocks[0].values.size() == 3);
    CHECK(found.blocks[0].values[2].time == sw::nanoseconds(70));
    CHECK_FALSE(found.blocks[0].values[2].may_drop);  // the next block reads it
    REQUIRE(found.blocks[1].values.size() == 1);
    CHECK(found.blocks[1].values[0].name == "d");
    CHECK(found.blocks[1].values[0].time == sw::nanoseconds(30));
    CHECK(found.blocks[1].values[0].inputs.empty());
  }

  TEST_CASE("beside values live what is given, gradients and the loss") {
    const training t = two_blocks();
    const sw::activation_blocks found = sw::activation_blocks_of(t.graph, t.block);
    // storages go after their last readers: the data with `a`, the loss with the first backward task
    CHECK(found.rows[0].forward == mebibytes(8 + 4));
    CHECK(found.rows[1].forward == mebibytes(16 + 2));  // beside values of the first block
    CHECK(found.after == mebibytes(1));
    CHECK(found.rows[1].beside + found.blocks[1].backward[0].gradients == mebibytes(1 + 32));
    CHECK(found.rows[0].beside + found.blocks[0].backward[0].gradients == mebibytes(32 + 64));
  }

  TEST_CASE("what is smaller than the least size stays, and may be copied only where that is done in time") {
    const training t = two_blocks();
    const auto choices = [&](const sw::activation_options& options) {
      std::string text;
      for (const auto& block : sw::activation_blocks_of(t.graph, t.block, options).blocks)
        for (const auto& v : block.values)
          if (v.may_keep && v.may_drop) text += v.name + (v.may_offload ? "* " : " ");
      return text;
    };
    CHECK(choices({}) == "a c ");
    CHECK(choices({.least = mebibytes(8)}) == "a c ");
    CHECK(choices({.least = mebibytes(8) + bytes(1)}) == "c ");
    // 120 ns of the first block, which the last one does not prolong: 8 MiB are copied, or are not
    const double just = static_cast<double>(mebibytes(8).count()) / 120e-9;
    CHECK(choices({.host_bandwidth = just * 1.001}) == "a* c ");
    CHECK(choices({.host_bandwidth = just * 0.999}) == "a c ");
  }

  TEST_CASE("policies tell of each storage whether they choose that for it") {
    const training t = two_blocks();
    const sw::activation_blocks found = sw::activation_blocks_of(t.graph, t.block);
    using enum sw::retention;
    const sw::block_policy first{.values = {recompute, keep}}, second{.values = {keep, recompute}};
    const sw::block_policy* const both[] = {&first, &second};
    const std::size_t count = t.graph.storages().size();
    std::vector<char> expected(count);
    expected[found.storages[0][0]] = expected[found.storages[1][1]] = 1;
    CHECK(found.held(recompute, count, both) == expected);
    CHECK(found.held(offload, count, both) == std::vector<char>(count));
  }

  TEST_CASE("blocks that lack a part, or whose parts do not nest, are refused by name") {
    sw::random_source random(1);
    const training made = random_training(random);
    CHECK(refusal_of([&] { static_cast<void>(sw::activation_blocks_of(made.graph, {})); }) ==
          "blocks: 0 tasks have a block, the graph has " + std::to_string(made.graph.size()));
    std::vector<std::uint32_t> gap = made.block;
    for (std::uint32_t& b : gap)
      if (b != no_index) ++b;
    CHECK(refusal_of([&] { static_cast<void>(sw::activation_blocks_of(made.graph, gap)); }) ==
          "blocks: there is no forward part of block 0");
    training t = two_blocks();
    const auto refusal = [&] {
      return refusal_of([&] { static_cast<void>(sw::activation_blocks_of(t.graph, t.block)); });
    };
    std::swap(t.block[1], t.block[3]);
    std::swap(t.block[2], t.block[4]);
    CHECK(refusal() == "blocks: the forward part of block 1 begins before that of the one before it");
    t = two_blocks();
    std::swap(t.block[6], t.block[7]);
    CHECK(refusal() == "blocks: the backward part of block 1 begins after that of the one before it");
    t.block[6] = t.block[7] = 0;
    CHECK(refusal() == "blocks: there is no backward part of block 1");
  }
}

}  // namespace activation_blocks_tests
