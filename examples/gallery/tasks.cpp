// A task graph from scratch: a collective, the work beside it, the wait, and the memory that they hold.
#include <shardweave/core/error.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/content_hash.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <cstdio>
#include <string>
#include <utility>

namespace sw = shardweave;

int main() {
  // [build]
  sw::task_graph_builder b;
  b.name = "one gather";
  const auto dp = b.add_group({.id = 0, .name = "dp", .size = 8});
  const auto shard = b.add_storage(sw::mebibytes(1)), whole = b.add_storage(sw::mebibytes(8));

  const auto weight = b.add_task({.name = "primals_w",
                                  .op = "input",
                                  .kind = sw::task_kind::input,
                                  .outputs = {{.size = sw::mebibytes(1), .storage = shard}}});
  const auto gather = b.add_task({.name = "gather",
                                  .op = "all_gather",
                                  .kind = sw::task_kind::collective,
                                  .duration = sw::nanoseconds(50'000),
                                  .inputs = {weight},
                                  .collective = sw::collective_record{sw::collective::all_gather, dp, sw::mebibytes(1),
                                                                      sw::mebibytes(8), "bf16"}});
  b.add_task({.name = "other", .op = "matmul", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(30'000)});
  const auto wait = b.add_task({.name = "wait",
                                .op = "wait",
                                .kind = sw::task_kind::wait,
                                .inputs = {gather},
                                .completes = gather,
                                .outputs = {{.size = sw::mebibytes(8), .storage = whole}}});
  b.add_task({.name = "product",
              .op = "matmul",
              .kind = sw::task_kind::compute,
              .duration = sw::nanoseconds(40'000),
              .inputs = {wait}});
  const sw::task_graph g = std::move(b).build();
  // [build]

  std::printf("%zu tasks, %zu dependencies, content %016llx\n", g.size(), num_edges(g.dependencies()),
              static_cast<unsigned long long>(sw::content_hash(g)));
  const sw::timeline line = sw::simulate(g);
  std::printf("takes %lld ns, of which %lld wait for the gather; holds at most %lld MiB\n",
              static_cast<long long>(line.end_to_end.count()), static_cast<long long>(line.exposed.count()),
              static_cast<long long>(line.peak.count() >> 20));

  // [refuse]
  sw::task_graph_builder wrong;
  wrong.add_task({.name = "wait", .op = "wait", .kind = sw::task_kind::wait, .completes = 7});
  try {
    (void)std::move(wrong).build();
    return 1;
  } catch (const sw::error& e) {
    std::printf("refused: %s\n", e.what());
  }
  // [refuse]
  // the gather runs from 0 to 50 us, the other product from 0 to 30 us, ours from 50 us on
  return line.end_to_end == sw::nanoseconds(90'000) && line.exposed == sw::nanoseconds(20'000) &&
                 line.peak == sw::mebibytes(9)
             ? 0
             : 1;
}
