#include <shardweave/schedule/makespan_bounds.hpp>

#include <doctest/doctest.h>

#include <string_view>
#include <utility>

namespace sw = shardweave;

TEST_SUITE("makespan_bounds") {
  TEST_CASE("the bound is the largest of all arguments, and says which one it is") {
    using argument = std::pair<sw::nanoseconds sw::makespan_bounds::*, std::string_view>;
    for (const auto& [member, name] :
         {argument{&sw::makespan_bounds::compute, "compute"}, argument{&sw::makespan_bounds::channel, "channel"},
          argument{&sw::makespan_bounds::critical_path, "critical_path"},
          argument{&sw::makespan_bounds::released, "released"}, argument{&sw::makespan_bounds::in_a_row, "in_a_row"}}) {
      sw::makespan_bounds b{sw::nanoseconds(1), sw::nanoseconds(2), sw::nanoseconds(3), sw::nanoseconds(4),
                            sw::nanoseconds(5)};
      b.*member = sw::nanoseconds(7);
      CHECK(b.value() == sw::nanoseconds(7));
      CHECK(b.limited_by() == name);
    }
  }
  TEST_CASE("of equal arguments the one that says least counts: work before chains, chains before joins") {
    const sw::nanoseconds same(3);
    CHECK(sw::makespan_bounds{same, same, same, same, same}.limited_by() == "compute");
    CHECK(sw::makespan_bounds{{}, same, same, same, same}.limited_by() == "channel");
    CHECK(sw::makespan_bounds{{}, {}, same, same, same}.limited_by() == "critical_path");
    CHECK(sw::makespan_bounds{{}, {}, {}, same, same}.limited_by() == "released");
    CHECK(sw::makespan_bounds{}.limited_by() == "compute");
    CHECK(sw::makespan_bounds{}.value() == sw::nanoseconds(0));
  }
}
