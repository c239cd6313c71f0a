#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/lowering/collective_tables.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace collective_tables_tests {
namespace {

sw::task_record launch(sw::collective op, std::uint32_t group, std::int64_t size) {
  sw::task_record made;
  made.kind = sw::task_kind::collective;
  made.collective = sw::collective_record{.op = op, .group = group, .bytes_in = sw::bytes(size)};
  return made;
}

}  // namespace

TEST_SUITE("collective_tables") {
  const sw::alpha_beta model;
  const std::vector<sw::group_shape> shapes{{1, 8}, {8, 1}};

  TEST_CASE("there is a table for every operation on every group in use, exact at every size in use") {
    const std::vector<sw::task_record> tasks{launch(sw::collective::all_gather, 0, 12345),
                                             launch(sw::collective::all_gather, 0, 777),
                                             launch(sw::collective::all_gather, 1, 4097),
                                             launch(sw::collective::reduce_scatter, 0, 1000001), sw::task_record{}};
    const auto tables = sw::collective_tables(tasks, model, shapes);
    REQUIRE(tables.size() == 3);
    for (const sw::task_record& t : tasks) {
      if (!t.collective) continue;
      int found = 0;
      for (const sw::duration_table& table : tables) {
        if (table.op() != t.collective->op || table.group() != t.collective->group) continue;
        ++found;
        const bool gathers = table.op() == sw::collective::all_gather;
        const double expected = model
                                    .estimate(gathers ? sw::collective::all_gather : sw::collective::reduce_scatter,
                                              t.collective->bytes_in * (gathers ? 8 : 1), shapes[table.group()])
                                    .time_us;
        CHECK(table(t.collective->bytes_in) == sw::from_microseconds(expected));
      }
      CHECK(found == 1);
    }
  }

  TEST_CASE("between the points a table is close to the model, up to the limit and beyond") {
    const std::vector<sw::task_record> tasks{launch(sw::collective::all_to_all, 1, 1 << 20)};
    const auto tables = sw::collective_tables(tasks, model, shapes);
    REQUIRE(tables.size() == 1);
    CHECK(tables[0].bytes_in().front() == sw::bytes(256));
    CHECK(tables[0].bytes_in().back() >= sw::gibibytes(1));
    for (double size = 300; size < 8e9; size *= 1.7) {
      const sw::bytes asked(static_cast<std::int64_t>(size));
      const double expected = model.estimate(sw::collective::all_to_all, asked, shapes[1]).time_us;
      CHECK(std::abs(sw::to_microseconds(tables[0](asked)) - expected) < 1e-3 + 1e-3 * expected);
    }
  }

  TEST_CASE("a table reaches what all collectives of its kind move together, and may be coarse") {
    const std::vector<sw::task_record> tasks{launch(sw::collective::all_reduce, 0, std::int64_t{3} << 30),
                                             launch(sw::collective::all_reduce, 0, std::int64_t{3} << 30)};
    const auto fine = sw::collective_tables(tasks, model, shapes);
    CHECK(fine[0].bytes_in().back() >= sw::gibibytes(6));
    const auto coarse =
        sw::collective_tables(tasks, model, shapes, {.table_points_per_octave = 0, .table_limit = sw::bytes(0)});
    CHECK(coarse[0].bytes_in().size() < fine[0].bytes_in().size() / 3);
    CHECK(sw::collective_tables(std::vector<sw::task_record>(3), model, shapes).empty());
  }
}

}  // namespace collective_tables_tests
