#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/launch_signature.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace launch_signature_tests {
namespace {

struct rank {
  overlap_tasks p;
  std::vector<sw::task_index> starts = {};
  /// Four gathers of these sizes, the last on another group, between products that differ from rank to rank.
  explicit rank(std::vector<std::int64_t> sizes = {8, 16, 24, 32}, const std::string& name = "ag", int products = 1) {
    std::vector<sw::task_index> ends;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto from = p.input(name + std::to_string(i));
      for (int k = 0; k < products; ++k) ends.push_back(p.mm({from}));
      starts.push_back(p.launch(name, from, i == 3 ? 1 : 0, sizes[i]));
      ends.push_back(p.wait(starts.back()));
    }
    p.output(ends);
  }
  static sw::schedule in_order(const sw::task_graph& g) {
    sw::schedule s;
    for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
    return s;
  }
};

}  // namespace

TEST_SUITE("launch_signature") {
  TEST_CASE("names and computations do not count, sizes and operations do") {
    rank one, same({8, 16, 24, 32}, "ag_other", 3), larger({8, 16, 25, 32}), scatters({8, 16, 24, 32}, "rs");
    const auto signature = [](rank& r) {
      const sw::task_graph g = r.p.graph();
      return sw::launch_signature(g, rank::in_order(g));
    };
    const auto expected = signature(one);
    REQUIRE(expected.size() == 3);
    CHECK(signature(same) == expected);
    const auto found = signature(larger);
    CHECK(found[0] != expected[0]);
    CHECK(found[1] == expected[1]);  // the other group agrees
    CHECK(found[2] == expected[2]);
    CHECK(signature(scatters)[0] != expected[0]);
  }
  TEST_CASE("order, buckets and the order of their members count, each on its channel alone") {
    rank r;
    const sw::task_graph g = r.p.graph();
    const sw::schedule plain = rank::in_order(g);
    const auto expected = sw::launch_signature(g, plain);
    const auto with = [&](std::vector<sw::task_index> members) {
      sw::schedule s;
      for (const auto t : plain.order)
        if (g.kind(t) == sw::task_kind::input) s.order.push_back(t);
      s.order.insert(s.order.end(), members.begin(), members.end());
      for (const auto t : plain.order)
        if (std::find(s.order.begin(), s.order.end(), t) == s.order.end()) s.order.push_back(t);
      s.buckets = {sw::make_bucket(g, std::move(members))};
      return sw::launch_signature(g, s);
    };
    const auto pair = with({r.starts[0], r.starts[1]}), turned = with({r.starts[1], r.starts[0]});
    const auto other = with({r.starts[0], r.starts[2]});
    CHECK(pair[0] != expected[0]);
    CHECK(pair[0] != turned[0]);
    CHECK(pair[0] != other[0]);
    CHECK(pair[1] == expected[1]);
    sw::schedule late = plain;
    std::stable_partition(late.order.begin(), late.order.end(), [&](auto t) { return t != r.starts[0]; });
    CHECK(sw::launch_signature(g, late)[0] != expected[0]);
  }
  TEST_CASE("two orders of a random graph agree on a channel exactly if they launch the same on it") {
    std::size_t same = 0, different = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(200); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 8, .groups = 3});
      sw::random_source random(seed);
      const sw::schedule a{.order = random_order(g, {}, random)}, b{.order = random_order(g, {}, random)};
      const auto launches = [&](const sw::schedule& s, std::uint32_t group) {
        std::vector<std::tuple<sw::collective, std::int64_t, std::int64_t>> all;
        for (const auto t : s.order)
          if (g.is_collective(t) && g.collective(t).group == group)
            all.emplace_back(g.collective(t).op, g.collective(t).bytes_in.count(), g.collective(t).bytes_out.count());
        return all;
      };
      const auto x = sw::launch_signature(g, a), y = sw::launch_signature(g, b);
      for (std::uint32_t c = 0; c < 3; ++c) {
        REQUIRE((x[c] == y[c]) == (launches(a, c) == launches(b, c)));
        ++(x[c] == y[c] ? same : different);
      }
    }
    CHECK(same > shardweave_test::at_scale(50));
    CHECK(different > shardweave_test::at_scale(50));
  }
}

TEST_SUITE("with_agreed_durations") {
  TEST_CASE("ranks take the lower median of what each believes, task by task") {
    const auto believed = [](std::int64_t clone, std::int64_t cast, const char* op = "clone") {
      overlap_tasks p;
      const auto x = p.input();
      p.output({p.other(op, {x}, clone), p.other("cast", {x}, cast)});
      return p.graph();
    };
    const auto agreed = [&](const std::vector<std::pair<std::int64_t, std::int64_t>>& ranks) {
      std::vector<sw::rank_durations> all;
      for (const auto& [clone, cast] : ranks) all.push_back(sw::durations_of(believed(clone, cast)));
      const sw::task_graph own = believed(ranks.front().first, ranks.front().second);
      const sw::task_graph g = sw::with_agreed_durations(own, all);
      return std::pair(g.duration(1).count(), g.duration(2).count());
    };
    CHECK(agreed({{7, 1}, {3, 5}}) == std::pair<std::int64_t, std::int64_t>{3, 1});
    CHECK(agreed({{7, 1}, {3, 5}, {4, 6}}) == std::pair<std::int64_t, std::int64_t>{4, 5});
    // noise that stays on its side of the median changes nothing
    CHECK(agreed({{9, 1}, {2, 5}, {4, 8}}) == std::pair<std::int64_t, std::int64_t>{4, 5});
    CHECK(agreed({{7, 1}}) == std::pair<std::int64_t, std::int64_t>{7, 1});
    const sw::task_graph own = believed(7, 1);
    CHECK(sw::durations_of(sw::with_agreed_durations(own, {})) == sw::durations_of(own));
    const std::vector<sw::rank_durations> other = {sw::durations_of(own), sw::durations_of(believed(7, 1, "copy"))};
    CHECK_THROWS_WITH_AS(sw::with_agreed_durations(own, other),
                         "tasks differ across ranks: those of rank 1 have other names, operations or kinds than those "
                         "of the graph",
                         sw::error);
  }
}

}  // namespace launch_signature_tests
