#pragma once

#include "fake_gpu.hpp"
#include <shardweave/engine/folder_meeting.hpp>
#include <shardweave/engine/nccl_engine.hpp>
#include <shardweave/engine/rank_meeting.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/skipped.hpp>
#include <support/small_tasks.hpp>
#include <support/temporary_folder.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// Ranks as threads of the test's process, each with a device of its own, which meet through a folder.
namespace nccl_tests {

namespace sw = shardweave;

/// On the double, everything is let go when a test ends.
struct nothing_left {
  std::size_t before = fake_gpu::alive();
  nothing_left(const fake_gpu::settings& chosen = {}) { fake_gpu::reset(chosen); }
  ~nothing_left() {
    CHECK(fake_gpu::alive() == before);
    fake_gpu::reset();
  }
};

/// What the double was called for collectives on a device, in order.
inline std::vector<std::string> nccl_calls(int device) {
  std::vector<std::string> kept;
  for (const std::string& c : fake_gpu::calls(device))
    if (c.starts_with("nccl") && !c.starts_with("ncclComm") && !c.starts_with("ncclGetUniqueId")) kept.push_back(c);
  return kept;
}

/// Buffers small enough for a test.
inline sw::nccl_engine_options small_options() {
  return {.timeout_seconds = 60, .answer_seconds = 1, .largest_copy = sw::mebibytes(1)};
}

/// Whether there are as many devices; says why not.
inline bool has_devices(int count) {
  const std::string why = sw::no_device_because();
  if (!why.empty()) {
    shardweave_test::skipped(why);
    return false;
  }
  if (sw::device_count() >= count) return true;
  shardweave_test::skipped("this needs " + std::to_string(count) + " devices, there are " +
                           std::to_string(sw::device_count()));
  return false;
}

/// Every rank makes an engine and does `body(engine)`, or `body(engine, number of ranks that have ended)`.
/// \returns by rank, what was thrown
template <class Body>
std::vector<std::string> on_ranks(int count, const sw::nccl_engine_options& options, Body body) {
  const temporary_folder folder;
  std::vector<std::string> words(static_cast<std::size_t>(count));
  std::atomic<int> ended = 0;
  std::vector<std::thread> ranks;
  for (int r = 0; r < count; ++r)
    ranks.emplace_back([&, r] {
      try {
        sw::nccl_engine engine(count == 1 ? sw::meet_alone() : sw::meet_in_folder(folder / "run", r, count), options);
        if constexpr (std::is_invocable_v<Body, sw::nccl_engine&, std::atomic<int>&>)
          body(engine, ended);
        else
          body(engine);
      } catch (const std::exception& e) {
        words[static_cast<std::size_t>(r)] = e.what();
      }
      ++ended;
    });
  for (std::thread& rank : ranks) rank.join();
  return words;
}

/// One layer of a LLaMA model, forwards and backwards, whose seven weights are divided over all ranks: each is gathered
/// before it is used, both ways, and its gradient is scattered.
inline sw::task_graph llama_layer(std::int64_t ranks) {
  using namespace small_tasks;
  sw::task_graph_builder b;
  b.name = "one layer";
  b.add_group({.id = 0, .name = "fsdp", .size = ranks});
  for (const sw::collective op : {sw::collective::all_gather, sw::collective::reduce_scatter})
    b.add_table(sw::duration_table(op, 0, {sw::bytes(64), sw::bytes(4096)},
                                   {sw::nanoseconds(15'000), sw::nanoseconds(40'000)}));
  const std::int64_t sizes[] = {1024, 256, 256, 1024, 3584, 3584, 3584};  // q, k, v, o, gate, up, down: bytes
  const auto collective = [&](sw::collective op, sw::task_index input, std::int64_t size) {
    sw::task_record t = gather(std::string(sw::name_of(op)), 20'000, {input}, size);
    t.op = sw::name_of(op);
    t.collective->op = op;
    t.collective->bytes_in = sw::bytes(op == sw::collective::all_gather ? size / ranks : size);
    t.collective->bytes_out = sw::bytes(op == sw::collective::all_gather ? size : size / ranks);
    t.collective->reduce = op == sw::collective::all_gather ? "none" : "sum";
    return b.add_task(t);
  };
  sw::task_index last = b.add_task(work("embeddings", 30'000));
  for (const bool forwards : {true, false})
    for (std::size_t i = 0; i < 7; ++i) {
      const std::int64_t size = sizes[forwards ? i : 6 - i];
      const auto gathered = b.add_task(wait_for("wait", collective(sw::collective::all_gather, 0, size)));
      last = b.add_task(work("product", 4 * size, {last, gathered}));
      if (!forwards) b.add_task(wait_for("wait", collective(sw::collective::reduce_scatter, last, size)));
    }
  return std::move(b).build();
}

}  // namespace nccl_tests
