#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/graph/repeated_layers.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace repeated_layers_tests {
namespace {

using shardweave_test::at_scale;
using groups = std::vector<std::vector<std::uint32_t>>;

/// Vertices with what they do and their arguments in order, as a host may have written them.
struct program {
  std::vector<std::uint64_t> content;
  std::vector<std::vector<std::uint32_t>> arguments;

  std::uint32_t add(std::uint64_t what, std::vector<std::uint32_t> of = {}) {
    content.push_back(what);
    arguments.push_back(std::move(of));
    return static_cast<std::uint32_t>(content.size() - 1);
  }
  [[nodiscard]] sw::compressed_graph graph() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
    for (std::uint32_t v = 0; v < arguments.size(); ++v)
      for (const std::uint32_t from : arguments[v]) ends.emplace_back(from, v);
    return {arguments.size(), ends};
  }
  [[nodiscard]] groups layers(std::size_t least = 4) const {
    return sw::repeated_layers(graph(), content, {.least = least});
  }
};

/// What one layer does: arguments below `inside` are its own vertices, `inside` is what the layer before gave, and
/// what is above is shared by all layers.
struct block {
  std::vector<std::uint64_t> content;
  std::vector<std::vector<std::uint32_t>> arguments;
};

/// Every value is used; the last vertex gives what goes to the next layer.
block random_block(sw::random_source& random, std::size_t size, std::size_t contents) {
  block made;
  std::vector<bool> used(size);
  for (std::uint32_t v = 0; v < size; ++v) {
    made.content.push_back(contents < size ? 100 + random.below(contents) : 100 + v);
    std::vector<std::uint32_t>& of = made.arguments.emplace_back();
    if (v % 4 == 1 && v + 1 < size) continue;  // a weight
    for (std::size_t a = 1 + random.below(2); a-- > 0;) {
      const auto from = static_cast<std::uint32_t>(random.below(v + 2));
      of.push_back(from >= v ? static_cast<std::uint32_t>(size) + (from - v) : from);
    }
    if (v == 0) of = {static_cast<std::uint32_t>(size)};
    if (v + 1 == size)
      for (std::uint32_t u = 0; u + 1 < size; ++u)
        if (!used[u]) of.push_back(u);
    for (const std::uint32_t from : of)
      if (from < size) used[from] = true;
  }
  return made;
}

/// Whether what a vertex uses has other users in the block.
bool is_spare(const block& b, std::size_t v) {
  return std::ranges::all_of(b.arguments[v], [&](std::uint32_t from) {
    std::size_t users = 0;
    for (const auto& of : b.arguments) users += std::ranges::find(of, from) != of.end() ? 1U : 0U;
    return users > 1;
  });
}

/// Something before, the block so many times, something behind; `planted[i]` are the copies of the block's vertex i.
program chain_of(const block& b, std::size_t copies, groups& planted) {
  program p;
  const auto size = static_cast<std::uint32_t>(b.content.size());
  const std::uint32_t shared = p.add(1);
  std::uint32_t last = p.add(3, {p.add(2), shared});
  planted.assign(size, {});
  for (std::size_t layer = 0; layer < copies; ++layer) {
    const auto begin = static_cast<std::uint32_t>(p.content.size());
    for (std::uint32_t v = 0; v < size; ++v) {
      std::vector<std::uint32_t> of;
      for (const std::uint32_t a : b.arguments[v]) of.push_back(a < size ? begin + a : a == size ? last : shared);
      planted[v].push_back(p.add(b.content[v], of));
    }
    last = p.content.size() - 1 < begin ? last : static_cast<std::uint32_t>(p.content.size() - 1);
  }
  p.add(5, {p.add(4, {last})});
  return p;
}

/// The same program with its vertices numbered anew; `to[v]` is the new number of v.
program renumbered(const program& p, const std::vector<std::uint32_t>& to) {
  program made{std::vector<std::uint64_t>(p.content.size()),
               std::vector<std::vector<std::uint32_t>>(p.arguments.size())};
  for (std::uint32_t v = 0; v < to.size(); ++v) {
    made.content[to[v]] = p.content[v];
    for (const std::uint32_t a : p.arguments[v]) made.arguments[to[v]].push_back(to[a]);
  }
  return made;
}

std::string refused(const sw::compressed_graph& g, const std::vector<std::uint64_t>& content) {
  return shardweave_test::refusal_of([&] { return sw::repeated_layers(g, content); });
}

}  // namespace

TEST_SUITE("repeated_layers") {
  TEST_CASE("copies of a block in a chain are found vertex by vertex where its vertices differ") {
    sw::random_source random(3);
    for (std::size_t round = 0; round < at_scale(200); ++round) {
      groups planted;
      const std::size_t size = 5 + random.below(20);
      const program p = chain_of(random_block(random, size, size), 2 + random.below(6), planted);
      REQUIRE(p.layers() == planted);
    }
  }

  TEST_CASE("where they hardly differ, those that are grouped do correspond, and most are") {
    sw::random_source random(4);
    std::size_t vertices = 0, grouped = 0, wrong = 0;
    for (std::size_t round = 0; round < at_scale(200); ++round) {
      groups planted;
      const std::size_t size = 10 + random.below(20), copies = 3 + random.below(5);
      const program p = chain_of(random_block(random, size, 4), copies, planted);
      std::vector<std::size_t> part(p.content.size(), size);
      for (std::size_t i = 0; i < size; ++i)
        for (const std::uint32_t v : planted[i]) part[v] = i;
      vertices += size * copies;
      for (const auto& group : p.layers()) {
        grouped += group.size();
        for (const std::uint32_t v : group) {
          CHECK(p.content[v] == p.content[group.front()]);
          wrong += part[v] != part[group.front()] || part[v] == size ? 1U : 0U;
        }
      }
    }
    CHECK(wrong == 0);
    CHECK(grouped * 10 > vertices * 9);
  }

  TEST_CASE("groups do not depend on how vertices are numbered") {
    sw::random_source random(5);
    for (std::size_t round = 0; round < at_scale(100); ++round) {
      groups planted;
      const program p = chain_of(random_block(random, 8 + random.below(12), 4), 2 + random.below(5), planted);
      std::vector<std::uint32_t> to(p.content.size());
      std::iota(to.begin(), to.end(), 0U);
      for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[random.below(i)]);
      groups expected = p.layers();
      for (auto& group : expected) {
        for (std::uint32_t& v : group) v = to[v];
        std::ranges::sort(group);
      }
      std::ranges::sort(expected);
      REQUIRE(renumbered(p, to).layers() == expected);
    }
  }

  TEST_CASE("a vertex that does something else in one layer is not grouped, nor is one that differs in all of them") {
    sw::random_source random(6);
    for (std::size_t rounds = 0; rounds < at_scale(20);) {
      groups planted;
      const std::size_t size = 12 + random.below(8), copies = 5;
      const block b = random_block(random, size, size);
      program p = chain_of(b, copies, planted);
      const std::size_t odd = random.below(size);
      if (!is_spare(b, odd)) continue;
      ++rounds;
      p.content[planted[odd][2]] = 77;
      const groups found = p.layers();
      for (const auto& group : found) CHECK(std::ranges::find(group, planted[odd][2]) == group.end());
      for (std::size_t i = 0; i < size; ++i)
        if (i != odd) CHECK(std::ranges::find(found, planted[i]) != found.end());

      for (std::size_t layer = 0; layer < copies; ++layer) p.content[planted[odd][layer]] = 200 + layer;
      planted.erase(planted.begin() + static_cast<std::ptrdiff_t>(odd));
      CHECK(p.layers() == planted);
    }
  }

  TEST_CASE("layers of two kinds are told apart, also in what they have in common") {
    program p;
    std::uint32_t last = p.add(1);
    groups expected(7 + 6 + 7 + 6);
    for (std::size_t layer = 0; layer < 7; ++layer) {
      const bool is_first_kind = layer < 3;
      const auto at = [&](std::size_t i) -> auto& { return expected[(is_first_kind ? 0 : 7 + 6) + i]; };
      std::size_t i = 0;
      for (const std::uint64_t what : {10U, 11U, 12U, 13U, 14U, 15U, 16U})
        at(i++).push_back(last = p.add(what, {last}));
      for (const std::uint64_t what : {20U, 21U, 22U, 23U, 24U, 25U})
        at(i++).push_back(last = p.add(what + (is_first_kind ? 0U : 10U), {last}));
    }
    p.add(2, {last});
    std::ranges::sort(expected);
    CHECK(p.layers() == expected);
    SUBCASE("one of a kind has nobody to be grouped with") {
      program one;
      std::uint32_t at = one.add(1);
      for (std::size_t layer = 0; layer < 3; ++layer) {
        for (const std::uint64_t what : {10U, 11U, 12U, 13U, 14U}) at = one.add(what, {at});
        for (const std::uint64_t what : {20U, 21U, 22U, 23U, 24U, 25U})
          at = one.add(what + (layer == 0 ? 10U : 0U), {at});
      }
      for (const auto& group : one.layers()) CHECK(group.size() == 2);
      CHECK(one.layers().size() == 11);
    }
  }

  TEST_CASE("what looks like a part of one more layer is left out: layers are cut where the fewest values pass") {
    // norm, work, the sum of both and a copy; a copy stands before the first layer, a norm behind the last one
    program p;
    groups expected(7);
    std::uint32_t x = p.add(16, {p.add(1)});
    const auto norm = [&](std::uint32_t of, std::size_t group) {
      const std::uint32_t square = p.add(10, {of}), scaled = p.add(11, {of, square});
      if (group < expected.size()) {
        expected[group].push_back(square);
        expected[group + 1].push_back(scaled);
      }
      return scaled;
    };
    for (std::size_t layer = 0; layer < 4; ++layer) {
      const std::uint32_t y = norm(x, 0);
      const std::uint32_t left = p.add(12, {y}), right = p.add(13, {y}), product = p.add(14, {left, right, y});
      const std::uint32_t sum = p.add(15, {x, product});
      x = p.add(16, {sum});
      for (const auto& [group, v] : {std::pair(2, left), {3, right}, {4, product}, {5, sum}, {6, x}})
        expected[static_cast<std::size_t>(group)].push_back(v);
    }
    p.add(2, {norm(x, 7)});
    CHECK(p.layers() == expected);
  }

  TEST_CASE("copies side by side, parts that return among others, and short repetitions are no layers") {
    program p;
    const std::uint32_t x = p.add(1);
    std::vector<std::uint32_t> ends;
    for (std::size_t copy = 0; copy < 3; ++copy) {
      std::uint32_t at = x;
      for (std::uint64_t i = 0; i < copy; ++i) at = p.add(50 + i, {at});  // on other levels
      for (std::uint64_t i = 0; i < 10; ++i) at = p.add(10 + i, {at});
      ends.push_back(at);
    }
    p.add(2, ends);
    CHECK(p.layers().empty());

    program returning;
    std::uint32_t at = returning.add(1);
    for (std::uint64_t copy = 0; copy < 3; ++copy) {
      const std::uint32_t begin = at;
      for (std::uint64_t i = 0; i < 5; ++i) at = returning.add(10 + i, {at});
      for (std::uint64_t i = 0; i < 12; ++i) at = returning.add(100 * (copy + 1) + i, {at});
      at = returning.add(20, {begin, at});
    }
    CHECK(returning.layers().empty());

    sw::random_source random(7);
    groups planted;
    const program brief = chain_of(random_block(random, 7, 7), 4, planted);
    CHECK(brief.layers(7).size() == 7);
    CHECK(brief.layers(8).empty());
    CHECK(brief.layers(0) == brief.layers(7));
    CHECK(program{}.layers().empty());
  }

  TEST_CASE("any graph will do, and which argument an edge is decides, not the order of edges") {
    struct use {
      std::size_t argument = 0;
    };
    using host_graph = boost::adjacency_list<boost::vecS, boost::listS, boost::directedS, std::uint64_t, use>;
    sw::random_source random(8);
    groups planted;
    const program p = chain_of(random_block(random, 12, 4), 4, planted);
    host_graph g;
    std::vector<host_graph::vertex_descriptor> named;
    for (const std::uint64_t what : p.content) named.push_back(add_vertex(what, g));
    for (std::uint32_t v = 0; v < named.size(); ++v)
      for (std::size_t a = p.arguments[v].size(); a-- > 0;) add_edge(named[p.arguments[v][a]], named[v], use{a}, g);
    std::vector<std::vector<host_graph::vertex_descriptor>> expected;
    for (const auto& group : p.layers()) {
      auto& members = expected.emplace_back();
      for (const std::uint32_t v : group) members.push_back(named[v]);
    }
    CHECK(expected.size() >= 8);
    CHECK(sw::repeated_layers(g, get(boost::vertex_bundle, g), get(&use::argument, g), {.least = 4}) == expected);
  }

  TEST_CASE("a cycle, and contents that are not those of the vertices, are refused") {
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> circle{{0, 1}, {1, 0}};
    CHECK(refused(sw::compressed_graph(2, circle), {1, 2}) == "the graph has a cycle through vertex 0");
    CHECK(refused(sw::compressed_graph(3, {}), {1}) == "the content of 1 vertex is told, expected 3");
  }
}

}  // namespace repeated_layers_tests
