#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/step/work_table.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace work_table_tests {

namespace sw = shardweave;

TEST_SUITE("work table") {
  TEST_CASE("pairs of strategies take what was told of their classes, channel by channel, each amount kept once") {
    sw::random_source random(11);
    for (int i = 0; i < 50; ++i) {
      const std::size_t channels = 1 + random.below(3), rows = 1 + random.below(4), columns = 1 + random.below(4);
      std::vector<std::uint32_t> row_class(rows + random.below(4)), column_class(columns + random.below(4));
      for (std::size_t s = 0; s < row_class.size(); ++s)
        row_class[s] = static_cast<std::uint32_t>(s < rows ? s : random.below(rows));
      for (std::size_t s = 0; s < column_class.size(); ++s)
        column_class[s] = static_cast<std::uint32_t>(s < columns ? s : random.below(columns));
      std::vector<sw::edge_work> told(rows * columns);
      for (sw::edge_work& w : told) {
        if (random.below(3) == 0) continue;
        w.loads.resize(channels);
        for (double& load : w.loads) load = static_cast<double>(random.below(2));
        for (std::size_t way = random.below(3); way > 0; --way) {
          w.otherwise.emplace_back(channels);
          for (double& load : w.otherwise.back()) load = static_cast<double>(random.below(2));
        }
        w.chain = random.below(5) == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(random.below(2));
      }
      const sw::work_table table =
          sw::work_table_builder(channels, "edge 0").table(row_class, column_class, [&](std::size_t a, std::size_t b) {
            return told[a * columns + b];
          });
      REQUIRE(table.rows() == row_class.size());
      REQUIRE(table.columns() == column_class.size());
      bool any = false;
      for (sw::strategy a = 0; a < table.rows(); ++a)
        for (sw::strategy b = 0; b < table.columns(); ++b) {
          const sw::edge_work& w = told[row_class[a] * columns + column_class[b]];
          for (std::size_t c = 0; c < channels; ++c) {
            const double load = w.loads.empty() ? 0 : w.loads[c];
            CHECK(table.load(c, a, b) == load);
            any = any || load > 0;
            if (!table.loads[c].empty()) CHECK(table.costs(table.loads[c])(a, b) == load);
            // a pair with fewer ways than others has its first one for the rest
            for (std::size_t way = 1; way < table.ways(); ++way)
              CHECK(table.load(c, a, b, way) == (way > w.otherwise.size() ? load : w.otherwise[way - 1][c]));
            for (std::size_t way = 0; way < table.ways(); ++way) any = any || table.load(c, a, b, way) > 0;
          }
          const double chain = w.chain < 2 ? w.chain : 0;  // what no placement may have takes nothing
          CHECK(table.chain(a, b) == chain);
          any = any || chain > 0;
        }
      CHECK(table.is_idle() != any);
      if (any) CHECK(table.loads.front().size() <= std::size_t{1} << (3 * channels + 1));
    }
  }

  TEST_CASE("negative times and a wrong number of channels are refused by name") {
    sw::work_table_builder builder(2, "edge 7");
    CHECK_THROWS_WITH_AS(builder.add({.loads = {1, -2}}), "edge 7 takes -2, expected a time that is not negative",
                         sw::error);
    CHECK_THROWS_WITH_AS(builder.add({.loads = {1}}), "edge 7 has loads on 1 channels, expected 2 or none", sw::error);
  }
}

}  // namespace work_table_tests
