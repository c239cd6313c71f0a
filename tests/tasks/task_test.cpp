#include <shardweave/tasks/task.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <string_view>

namespace sw = shardweave;

TEST_SUITE("task") {
  TEST_CASE("kinds and roles are found by the names they have, and by no other") {
    std::set<std::string_view> kinds, roles;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(sw::task_kind::other); ++i) {
      const auto kind = static_cast<sw::task_kind>(i);
      CHECK(sw::task_kind_from(sw::to_string(kind)) == kind);
      kinds.insert(sw::to_string(kind));
    }
    for (std::size_t i = 0; i <= static_cast<std::size_t>(sw::task_role::data); ++i) {
      const auto role = static_cast<sw::task_role>(i);
      CHECK(sw::task_role_from(sw::to_string(role)) == role);
      roles.insert(sw::to_string(role));
    }
    CHECK(kinds.size() == sw::task_kind_names.size());
    CHECK(roles.size() == sw::task_role_names.size());
    for (const std::string_view other : {"", "Compute", "compute ", "gradients", "view\n"}) {
      CHECK_FALSE(sw::task_kind_from(other));
      CHECK_FALSE(sw::task_role_from(other));
    }
  }
  TEST_CASE("names are those of files") {
    CHECK(sw::to_string(sw::task_kind::collective) == "collective");
    CHECK(sw::to_string(sw::task_kind::output) == "output");
    CHECK(sw::to_string(sw::task_role::optimizer_state) == "optimizer_state");
  }
  TEST_CASE("of a task that is stated nothing is known unless it is told") {
    const sw::task_record t;
    CHECK(t.kind == sw::task_kind::other);
    CHECK_FALSE(t.collective);
    CHECK_FALSE(t.completes);
    CHECK_FALSE(t.is_fsdp);
    CHECK_FALSE(t.when);
    CHECK(sw::output_record{}.storage == sw::no_index);
    CHECK(t == sw::task_record{});
    CHECK_FALSE(t == sw::task_record{.duration = sw::nanoseconds(1)});
  }
}
