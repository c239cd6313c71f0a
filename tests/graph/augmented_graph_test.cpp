#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/graph/augmented_graph.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace augmented_graph_tests {
namespace {

using ends = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using vertices = std::vector<std::uint32_t>;

/// The same by definition: sets as a list of numbers, dependencies as pairs; whether something leads somewhere is
/// searched anew each time.
struct plain_graph {
  std::size_t size;
  ends edges;
  std::multiset<std::pair<std::uint32_t, std::uint32_t>> added = {};
  vertices set = {};

  [[nodiscard]] bool leads(std::uint32_t from, std::uint32_t to) const {
    std::vector<bool> seen(size);
    vertices stack;
    const auto step = [&](std::uint32_t s) {
      const auto look = [&](const auto& e) {
        if (set[e.first] == s && !seen[set[e.second]]) {
          seen[set[e.second]] = true;
          stack.push_back(set[e.second]);
        }
      };
      for (const auto& e : edges) look(e);
      for (const auto& e : added) look(e);
    };
    step(set[from]);
    while (!stack.empty()) {
      const std::uint32_t s = stack.back();
      stack.pop_back();
      step(s);
    }
    return seen[set[to]];
  }
  [[nodiscard]] bool has_cycle() const {
    for (std::uint32_t v = 0; v < size; ++v)
      if (leads(v, v)) return true;
    return false;
  }
};

/// Sets, dependencies and order of the two agree.
bool agree(const sw::augmented_graph& a, const plain_graph& p) {
  for (std::uint32_t v = 0; v < p.size; ++v)
    for (std::uint32_t w = 0; w < v; ++w)
      if (a.same(v, w) != (p.set[v] == p.set[w])) return false;
  const auto added = a.added();
  if (std::multiset<std::pair<std::uint32_t, std::uint32_t>>(added.begin(), added.end()) != p.added) return false;
  std::vector<std::size_t> place(p.size, p.size);
  const auto order = a.sets_in_order();
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  const auto forward = [&](const auto& e) { return place[a.set_of(e.first)] < place[a.set_of(e.second)]; };
  return std::all_of(p.edges.begin(), p.edges.end(), forward) && std::all_of(p.added.begin(), p.added.end(), forward) &&
         std::set<std::uint32_t>(p.set.begin(), p.set.end()).size() == order.size();
}

// x and y; a of both, b of a and x, c of a and y, d of b and c, and a chain d e f
enum : std::uint32_t { x, y, a, b, c, d, e, f };
const sw::compressed_graph& diamond() {
  static const sw::compressed_graph g(
      8, ends{{x, a}, {y, a}, {a, b}, {x, b}, {a, c}, {y, c}, {b, d}, {c, d}, {d, e}, {e, f}});
  return g;
}

}  // namespace

TEST_SUITE("augmented_graph") {
  TEST_CASE("at first every vertex is a set of its own") {
    const sw::augmented_graph g(diamond());
    for (std::uint32_t v = 0; v < 8; ++v) CHECK(g.members(v) == vertices{v});
    CHECK(g.sets_in_order() == vertices{x, y, a, b, c, d, e, f});
    CHECK(g.added().empty());
  }
  TEST_CASE("what is merged depends on all that its members depend on") {
    sw::augmented_graph g(diamond());
    CHECK(g.merge(b, c));
    CHECK(g.members(b) == vertices{b, c});
    CHECK(g.members(c) == vertices{b, c});
    CHECK(g.dependencies(c) == vertices{x, y, a});
    CHECK(g.merge(c, b));  // they are one already
    sw::augmented_graph other(diamond());
    CHECK(other.add(x, d));
    CHECK(other.merge(b, c));
    CHECK(other.dependencies(d) == vertices{x, other.set_of(b)});
  }
  TEST_CASE("a vertex that leaves its set is one of its own, and the rest stays") {
    const ends two_chains{{0, 1}, {2, 3}, {4, 5}};
    const sw::compressed_graph base(6, two_chains);
    sw::augmented_graph g(base);
    CHECK(g.merge(0, 2));
    CHECK(g.merge(2, 4));
    CHECK(g.members(0) == vertices{0, 2, 4});
    g.separate(g.set_of(0));  // also the one whose number the set has
    CHECK(g.members(2).size() + g.members(0).size() + g.members(4).size() == 5);
    g.separate(0), g.separate(2), g.separate(4);
    for (const std::uint32_t v : {0U, 2U, 4U}) CHECK(g.members(v) == vertices{v});
    g.separate(3);
    CHECK(g.members(3) == vertices{3});
  }
  TEST_CASE("paths run through dependencies, added ones and sets") {
    sw::augmented_graph g(diamond());
    CHECK(g.has_path(a, b));
    CHECK_FALSE(g.has_path(b, a));
    CHECK(g.has_path(x, f));
    CHECK_FALSE(g.has_path(f, x));
    CHECK_FALSE(g.has_path(b, c));

    const sw::compressed_graph chains(5, ends{{0, 1}, {1, 2}, {0, 3}, {3, 4}});  // x a b, x c d
    sw::augmented_graph merged(chains);
    CHECK_FALSE(merged.has_path(2, 4));
    CHECK(merged.merge(2, 3));
    CHECK(merged.has_path(2, 4));
    CHECK(merged.has_path(1, 4));
    sw::augmented_graph added(chains);
    CHECK(added.add(2, 3));
    CHECK(added.has_path(2, 4));
    CHECK(added.remove(2, 3));
    CHECK_FALSE(added.has_path(2, 4));
    CHECK_FALSE(added.remove(2, 3));
  }
  TEST_CASE("what leads to a vertex is as many as paths say, added dependencies included") {
    const sw::compressed_graph split(5, ends{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}});
    const auto above = [](sw::augmented_graph& g, std::uint32_t v) {
      vertices all;
      for (std::uint32_t u = 0; u < 5; ++u)
        if (g.has_path(u, v)) all.push_back(u);
      return all;
    };
    sw::augmented_graph g(split);
    CHECK(above(g, 0).empty());
    CHECK(above(g, 3) == vertices{0, 1, 2});
    CHECK(above(g, 4) == vertices{0, 1, 2, 3});
    CHECK_FALSE((g.has_path(1, 2) || g.has_path(2, 1)));
    const sw::compressed_graph loose(5, ends{{0, 1}, {0, 2}, {1, 3}, {2, 3}});
    sw::augmented_graph added(loose);
    CHECK(above(added, 4).empty());
    CHECK(added.add(2, 4));
    CHECK(above(added, 4) == vertices{0, 2});
    ends line;
    for (std::uint32_t v = 1; v < 100; ++v) line.emplace_back(v - 1, v);
    const sw::compressed_graph chain(100, line);
    sw::augmented_graph long_one(chain);
    std::size_t paths = 0;
    for (std::uint32_t v = 0; v < 100; v += 9)
      for (std::uint32_t u = 0; u < 100; ++u) paths += long_one.has_path(u, v);
    CHECK(paths == 594);  // 0 + 9 + ... + 99
  }
  TEST_CASE("two merges that are harmless alone may close a cycle together") {
    const sw::compressed_graph chains(4, ends{{0, 1}, {2, 3}});
    sw::augmented_graph g(chains);
    CHECK(g.merge(0, 3));
    CHECK_FALSE(g.merge(1, 2));
    CHECK(g.merge(1, 1));
  }
  TEST_CASE("a graph with a cycle is refused") {
    const sw::compressed_graph ring(2, ends{{0, 1}, {1, 0}});
    CHECK_THROWS_WITH_AS(sw::augmented_graph{ring}, "the graph has a cycle through vertex 0", sw::error);
  }
  TEST_CASE("what would close a cycle is refused and changes nothing") {
    sw::augmented_graph g(diamond());
    const sw::augmented_graph before = g;
    CHECK_FALSE(g.add(b, a));
    CHECK_FALSE(g.add(f, x));
    CHECK_FALSE(g.add(c, c));
    CHECK_FALSE(g.merge(a, d));
    CHECK(g == before);
    const sw::compressed_graph chain(5, ends{{0, 1}, {1, 2}, {3, 4}});
    sw::augmented_graph both(chain);
    CHECK(both.add(4, 0));
    CHECK_FALSE(both.merge(2, 3));  // 3 4 0 1 2
    CHECK(both.add(4, 0));          // twice is no cycle
    CHECK(both.remove(4, 0));
    CHECK(both.has_path(3, 0));
    CHECK(both.remove(4, 0));
    CHECK(both.merge(2, 3));
    CHECK_FALSE(both.add(4, 0));  // 2 and 3 are one now
  }
  TEST_CASE("ten thousand changes agree with the definition, and undoing leaves no trace") {
    std::size_t refused = 0, undone = 0, done = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(250); ++seed) {
      sw::random_source random(seed);
      const auto n = static_cast<std::uint32_t>(6 + random.below(14));
      plain_graph p{n, {}};
      for (std::uint32_t v = 0; v < n; ++v) {
        p.set.push_back(v);
        for (std::uint32_t w = 0; w < v; ++w)
          if (random.chance(0.12)) p.edges.emplace_back(w, v);
      }
      const sw::compressed_graph base(n, p.edges);
      sw::augmented_graph g(base);
      for (int i = 0; i < 40; ++i) {
        const sw::augmented_graph before = g;
        const plain_graph plain = p;
        const bool undo = random.chance(0.3);
        if (undo) g.begin();
        for (std::size_t k = 0; k <= random.below(undo ? 4 : 1); ++k) {
          const auto v = static_cast<std::uint32_t>(random.below(n)), w = static_cast<std::uint32_t>(random.below(n));
          bool accepted = true;
          plain_graph next = p;
          switch (random.below(4)) {
            case 0:
              accepted = g.add(v, w);
              next.added.emplace(v, w);
              break;
            case 1: {
              accepted = g.merge(v, w);
              const std::uint32_t gone = next.set[v], kept = next.set[w];
              std::replace(next.set.begin(), next.set.end(), gone, kept);
              break;
            }
            case 2:
              g.separate(v);
              for (std::uint32_t u = 0; u < n; ++u)  // a number that is free
                if (std::find(next.set.begin(), next.set.end(), u) == next.set.end()) {
                  if (std::count(next.set.begin(), next.set.end(), next.set[v]) > 1) next.set[v] = u;
                  break;
                }
              break;
            default:
              if (p.added.empty()) continue;
              next.added.erase(next.added.begin());
              accepted = g.remove(p.added.begin()->first, p.added.begin()->second);
          }
          REQUIRE(accepted == !next.has_cycle());
          if (accepted) p = next;
          refused += !accepted;
          ++done;
        }
        if (undo) {
          g.rollback();
          REQUIRE(g == before);
          p = plain;
          ++undone;
        }
        REQUIRE(agree(g, p));
        const auto v = static_cast<std::uint32_t>(random.below(n)), w = static_cast<std::uint32_t>(random.below(n));
        REQUIRE(g.has_path(v, w) == (p.set[v] != p.set[w] && p.leads(v, w)));
      }
    }
    CHECK(done > shardweave_test::at_scale(9000));
    CHECK(refused > shardweave_test::at_scale(1500));
    CHECK(undone > shardweave_test::at_scale(2000));
  }
  TEST_CASE("where the list has no label left it is numbered anew") {
    // the last vertex moves right before `e`, close to `p`; then one after the other moves in between
    const std::uint32_t p = 100, e = 101, last = 104;
    const sw::compressed_graph base(105, ends{{e, 102}, {e, 103}});
    sw::augmented_graph g(base);
    REQUIRE(g.add(last, e));
    g.begin();
    for (std::uint32_t v = 0; v < p; ++v) REQUIRE(g.add(p, v));
    for (std::uint32_t v = 0; v < p; ++v) {
      REQUIRE(g.has_path(p, v));
      REQUIRE_FALSE(g.add(v, p));
    }
    const auto order = g.sets_in_order();
    REQUIRE(order.size() == 105);
    CHECK(order.front() == p);
    CHECK(vertices(order.end() - 4, order.end()) == vertices{last, e, 102, 103});
    g.rollback();
    sw::augmented_graph other(base);
    REQUIRE(other.add(last, e));
    CHECK(g == other);
  }
}

}  // namespace augmented_graph_tests
