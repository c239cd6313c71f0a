#include <shardweave/core/random.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/content_hash.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>
#include <shardweave/tasks/task_maps.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace task_maps_random_tests {
namespace {

/// A random task graph as plain lists: what the maps will say, and nothing of a graph type.
struct plain_tasks {
  struct task {
    sw::task_kind kind = sw::task_kind::other;
    std::int64_t duration = 0;
    int channel = -1;  ///< wrong on purpose where no collective reads it
    sw::collective op = sw::collective::other;
    std::int64_t in = 0, out = 0;
    std::vector<sw::stored_piece> pieces = {};
  };
  std::vector<task> tasks = {};
  std::vector<std::pair<std::size_t, std::size_t>> edges = {};  ///< sorted

  explicit plain_tasks(std::uint64_t seed) {
    sw::random_source random(seed);
    const std::size_t n = 3 + random.below(20);
    for (std::size_t t = 0; t < n; ++t) {
      task made;
      const double draw = random.unit();
      made.duration = static_cast<std::int64_t>(random.below(50));
      if (draw < 0.3) {
        made.kind = sw::task_kind::collective;
        made.channel = static_cast<int>(random.below(3));
        made.op = random.chance(0.5) ? sw::collective::all_gather : sw::collective::all_reduce;
        made.in = static_cast<std::int64_t>(random.below(9));
        made.out = static_cast<std::int64_t>(random.below(9));
      } else if (draw < 0.5 && t > 0) {
        made.kind = sw::task_kind::wait;
        made.duration = 0;
      } else {
        made.kind = sw::task_kind::compute;
      }
      // numbers of the caller's own, some shared
      for (std::size_t i = random.below(3); i-- > 0;) {
        const std::uint64_t id = 1000 + 7 * random.below(12);
        made.pieces.push_back({id, sw::bytes(static_cast<std::int64_t>(id % 50))});
      }
      for (std::size_t i = t == 0 ? 0 : random.below(4); i-- > 0;) edges.emplace_back(random.below(t), t);
      tasks.push_back(made);
    }
    std::sort(edges.begin(), edges.end());
  }

  /// What the documentation of `make_task_graph` says, by hand.
  [[nodiscard]] sw::task_graph expected() const {
    sw::task_graph_builder b;
    std::map<std::uint64_t, std::uint32_t> numbers;
    int groups = 0;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      sw::task_record r{.name = std::to_string(t),
                        .op = std::string(to_string(tasks[t].kind)),
                        .kind = tasks[t].kind,
                        .duration = sw::nanoseconds(tasks[t].duration)};
      for (const auto& [from, to] : edges)
        if (to == t) r.inputs.push_back(static_cast<sw::task_index>(from));
      if (tasks[t].kind == sw::task_kind::collective) {
        groups = std::max(groups, tasks[t].channel + 1);
        r.op = sw::name_of(tasks[t].op);
        r.collective = sw::collective_record{tasks[t].op,
                                             static_cast<std::uint32_t>(tasks[t].channel),
                                             sw::bytes(tasks[t].in),
                                             sw::bytes(tasks[t].out),
                                             "f32",
                                             "sum"};
      }
      if (tasks[t].kind == sw::task_kind::wait)
        for (const sw::task_index p : r.inputs)
          if (!r.completes && tasks[p].kind == sw::task_kind::collective) r.completes = p;
      for (const auto& piece : tasks[t].pieces) {
        if (!numbers.count(piece.id)) numbers[piece.id] = b.add_storage(piece.size);
        r.outputs.push_back({.size = piece.size, .storage = numbers[piece.id]});
      }
      b.add_task(r);
    }
    for (int g = 0; g < groups; ++g) b.add_group({.id = g, .name = std::to_string(g)});
    return std::move(b).build();
  }
};

/// Maps over positions, whatever the descriptors of the graph are.
template <class Vertex, class Position>
auto maps_of(const plain_tasks& p, Position position) {
  const auto map = [&p, position](auto field) {
    return boost::make_function_property_map<Vertex>(
        [&p, position, field](const Vertex& v) { return field(p.tasks[position(v)]); });
  };
  using task = plain_tasks::task;
  return sw::task_maps(map([](const task& t) { return t.kind; }),
                       map([](const task& t) { return sw::nanoseconds(t.duration); }),
                       map([](const task& t) { return t.channel; }), map([](const task& t) {
                         return sw::bucket_key{t.op, "f32", "sum"};
                       }),
                       map([](const task& t) {
                         return sw::transfer_size{sw::bytes(t.in), sw::bytes(t.out)};
                       }),
                       map([](const task& t) { return t.pieces; }));
}

void same(const sw::task_graph& made, const sw::task_graph& expected) {
  REQUIRE(made.size() == expected.size());
  for (sw::task_index t = 0; t < made.size(); ++t) CHECK(made.record(t) == expected.record(t));
  CHECK(sw::content_hash(made) == sw::content_hash(expected));
  CHECK(sw::simulate(made) == sw::simulate(expected));
}

}  // namespace

TEST_SUITE("make_task_graph") {
  TEST_CASE("over a compressed graph, lists and vectors it gives the graph that is written down by hand") {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      CAPTURE(seed);
      const plain_tasks p(seed);
      const sw::task_graph expected = p.expected();

      using csr = boost::compressed_sparse_row_graph<boost::directedS>;
      const csr compressed(boost::edges_are_sorted, p.edges.begin(), p.edges.end(), p.tasks.size());
      same(sw::make_task_graph(compressed, maps_of<std::size_t>(p, [](std::size_t v) { return v; })), expected);

      using vectors = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
      const vectors indexed(p.edges.begin(), p.edges.end(), p.tasks.size());
      same(sw::make_task_graph(indexed, maps_of<std::size_t>(p, [](std::size_t v) { return v; })), expected);

      // descriptors that are no numbers
      using lists = boost::adjacency_list<boost::listS, boost::listS, boost::bidirectionalS>;
      lists linked;
      std::vector<lists::vertex_descriptor> vertex;
      std::map<lists::vertex_descriptor, std::size_t> position;
      for (std::size_t t = 0; t < p.tasks.size(); ++t) {
        vertex.push_back(add_vertex(linked));
        position[vertex.back()] = t;
      }
      for (const auto& [from, to] : p.edges) add_edge(vertex[from], vertex[to], linked);
      same(sw::make_task_graph(linked, maps_of<lists::vertex_descriptor>(
                                           p, [&](lists::vertex_descriptor v) { return position.at(v); })),
           expected);
    }
  }

  TEST_CASE("a cycle is refused by the position of a task on it") {
    using vectors = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
    plain_tasks p(1);
    p.tasks.assign(3, {});
    vectors g(3);
    add_edge(0, 1, g);
    add_edge(1, 2, g);
    add_edge(2, 1, g);
    const std::string what = shardweave_test::refusal_of(
        [&] { return sw::make_task_graph(g, maps_of<std::size_t>(p, [](std::size_t v) { return v; })); });
    CHECK(what.find("cycle") != std::string::npos);
    CHECK((what.find("task 1 (1)") != std::string::npos || what.find("task 2 (2)") != std::string::npos));
  }
}

}  // namespace task_maps_random_tests
