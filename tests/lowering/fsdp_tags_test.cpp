#include <shardweave/lowering/fsdp_tags.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using sw::task_kind;

namespace fsdp_tags_tests {
namespace {

sw::task_record task(task_kind kind, std::vector<sw::task_index> inputs) {
  sw::task_record made;
  made.kind = kind;
  made.inputs = std::move(inputs);
  return made;
}
sw::task_record launch(sw::collective op, sw::task_index of) {
  sw::task_record made = task(task_kind::collective, {of});
  made.collective = sw::collective_record{.op = op};
  return made;
}

}  // namespace

TEST_SUITE("tag_fsdp") {
  TEST_CASE("an all-gather below one parameter gathers it, below two or none it does not") {
    std::vector<sw::task_record> tasks{task(task_kind::input, {}),
                                       task(task_kind::input, {}),
                                       task(task_kind::input, {}),
                                       task(task_kind::other, {0}),
                                       launch(sw::collective::all_gather, 3),
                                       task(task_kind::other, {0, 1}),
                                       launch(sw::collective::all_gather, 5),
                                       launch(sw::collective::all_gather, 2),
                                       task(task_kind::other, {}),
                                       launch(sw::collective::all_gather, 8),
                                       launch(sw::collective::all_reduce, 0),
                                       task(task_kind::other, {1, 1}),
                                       launch(sw::collective::all_gather, 11)};
    sw::tag_fsdp(tasks, {true, true, false, false, false, false, false, false, false, false, false, false, false});
    CHECK(tasks[4].is_fsdp == std::optional(true));
    CHECK(tasks[6].is_fsdp == std::optional(false));
    CHECK(tasks[7].is_fsdp == std::optional(false));
    CHECK(tasks[9].is_fsdp == std::optional(false));
    CHECK(tasks[10].is_fsdp == std::nullopt);
    CHECK(tasks[12].is_fsdp == std::optional(true));
    CHECK(tasks[0].is_param);
    CHECK(tasks[1].is_param);
    CHECK(!tasks[2].is_param);
  }

  TEST_CASE("a reduce-scatter whose result goes straight to the output reduces a gradient") {
    std::vector<sw::task_record> tasks{task(task_kind::input, {}),
                                       launch(sw::collective::reduce_scatter, 0),
                                       task(task_kind::wait, {1}),
                                       task(task_kind::other, {2}),  // straight
                                       launch(sw::collective::reduce_scatter, 0),
                                       task(task_kind::wait, {4}),
                                       task(task_kind::other, {5, 0}),  // an addition
                                       launch(sw::collective::reduce_scatter, 0),
                                       task(task_kind::wait, {7}),  // returned and used
                                       task(task_kind::other, {8, 3}),
                                       launch(sw::collective::reduce_scatter, 0),
                                       task(task_kind::wait, {10}),  // used by nobody
                                       launch(sw::collective::reduce_scatter, 0),
                                       task(task_kind::wait, {12}),  // returned twice
                                       task(task_kind::view, {13}),
                                       task(task_kind::output, {3, 6, 8, 13, 14})};
    // task 9 uses the first gradient, too: then it does not go straight any more
    sw::tag_fsdp(tasks, std::vector<bool>(tasks.size()));
    CHECK(tasks[1].is_fsdp == std::optional(false));
    CHECK(tasks[4].is_fsdp == std::optional(false));
    CHECK(tasks[7].is_fsdp == std::optional(false));
    CHECK(tasks[10].is_fsdp == std::optional(false));
    CHECK(tasks[12].is_fsdp == std::optional(true));

    tasks[9].inputs = {8, 0};
    sw::tag_fsdp(tasks, std::vector<bool>(tasks.size()));
    CHECK(tasks[1].is_fsdp == std::optional(true));
    CHECK(tasks[7].is_fsdp == std::optional(false));
  }

  TEST_CASE("one user that leads elsewhere is enough, be it the first or the last") {
    for (const bool first : {true, false}) {
      std::vector<sw::task_record> tasks{task(task_kind::input, {}),
                                         launch(sw::collective::reduce_scatter, 0),
                                         task(task_kind::wait, {1}),
                                         first ? task(task_kind::other, {2, 0}) : task(task_kind::view, {2}),
                                         first ? task(task_kind::view, {2}) : task(task_kind::other, {2, 0}),
                                         task(task_kind::output, {3, 4})};
      sw::tag_fsdp(tasks, std::vector<bool>(tasks.size()));
      CHECK(tasks[1].is_fsdp == std::optional(false));
    }
  }
}

}  // namespace fsdp_tags_tests
