#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/content_hash.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <set>
#include <string>

namespace sw = shardweave;

namespace memory_tracker_tests {
namespace {
struct made {
  sw::task_graph_builder b;
  std::uint32_t piece(std::int64_t size, sw::storage_device where = sw::storage_device::gpu) {
    return b.add_storage(sw::bytes(size), where);
  }
  sw::task_index task(const std::string& name, sw::task_kind kind, std::vector<sw::task_index> inputs,
                      std::vector<std::uint32_t> pieces) {
    sw::task_record t{.name = name, .op = name, .kind = kind, .inputs = std::move(inputs)};
    for (const auto p : pieces) t.outputs.push_back({.size = sw::bytes(1), .storage = p});
    return b.add_task(t);
  }
};
}  // namespace

TEST_SUITE("memory_tracker") {
  TEST_CASE("a storage lives from the first task that lists it to its last user, views included") {
    made m;
    const auto a = m.piece(10), b = m.piece(100), c = m.piece(1000);
    const auto x = m.task("saved", sw::task_kind::input, {}, {a});
    const auto t = m.task("t", sw::task_kind::other, {x}, {b});
    const auto v = m.task("v", sw::task_kind::view, {t}, {b});
    const auto u = m.task("u", sw::task_kind::other, {v}, {c});
    const auto o = m.task("output", sw::task_kind::output, {u}, {});
    const sw::task_graph g = std::move(m.b).build();
    const sw::storage_uses uses(g);
    sw::memory_tracker now(uses, g.storages().size());
    CHECK(now.live() == sw::bytes(10));
    CHECK(now.demand(t) == sw::bytes(100));
    now.run(x);
    now.run(t);
    CHECK(now.live() == sw::bytes(100));  // the saved value is gone
    CHECK(now.peak() == sw::bytes(110));
    CHECK(now.demand(v) == sw::bytes(0));
    now.run(v);
    const sw::memory_tracker checkpoint = now;
    now.run(u);
    CHECK(now.live() == sw::bytes(1000));
    CHECK(now.peak() == sw::bytes(1100));
    now.run(o);
    CHECK(now.live() == sw::bytes(1000));  // what the output returns stays
    CHECK(checkpoint.live() == sw::bytes(100));
    CHECK(checkpoint.peak() == sw::bytes(110));
  }
  TEST_CASE("parameters, storages without users and those of the host are never freed or never counted") {
    made m;
    const auto a = m.piece(10), b = m.piece(100), c = m.piece(1000, sw::storage_device::cpu);
    const auto x = m.task("primals_1", sw::task_kind::input, {}, {a});
    const auto t = m.task("t", sw::task_kind::other, {x}, {b, c, b});
    const sw::task_graph g = std::move(m.b).build();
    const sw::storage_uses uses(g);
    sw::memory_tracker now(uses, g.storages().size());
    CHECK(now.demand(t) == sw::bytes(100));
    now.run(x);
    now.run(t);
    CHECK(now.live() == sw::bytes(110));
    CHECK(now.peak() == sw::bytes(110));
  }
  TEST_CASE("a bucket holds its buffers from its launch to its first wait") {
    made m;
    const auto a = m.piece(10), b = m.piece(20), c = m.piece(300), d = m.piece(400);
    const auto x = m.task("saved_1", sw::task_kind::input, {}, {a});
    const auto y = m.task("saved_2", sw::task_kind::input, {}, {b});
    m.b.add_group({});
    const sw::collective_record what{sw::collective::all_gather, 0, sw::bytes(1), sw::bytes(5), "f32", "none"};
    const auto c1 = m.b.add_task({.name = "c1",
                                  .kind = sw::task_kind::collective,
                                  .inputs = {x},
                                  .collective = what,
                                  .outputs = {{.size = sw::bytes(1), .storage = c}}});
    const auto c2 = m.b.add_task({.name = "c2",
                                  .kind = sw::task_kind::collective,
                                  .inputs = {y},
                                  .collective = what,
                                  .outputs = {{.size = sw::bytes(1), .storage = d}}});
    const auto w1 = m.b.add_task({.name = "w1", .kind = sw::task_kind::wait, .inputs = {c1}, .completes = c1});
    const auto w2 = m.b.add_task({.name = "w2", .kind = sw::task_kind::wait, .inputs = {c2}, .completes = c2});
    const sw::task_graph g = std::move(m.b).build();
    const sw::storage_uses uses(g);
    sw::memory_tracker now(uses, g.storages().size());
    const sw::bucket both = sw::make_bucket(g, {c1, c2});
    CHECK(now.live() == sw::bytes(30));
    now.launch(both);
    CHECK(now.peak() == sw::bytes(42));
    CHECK(now.live() == sw::bytes(12));
    now.unpack(both);
    CHECK(now.peak() == sw::bytes(712));
    CHECK(now.live() == sw::bytes(700));
    now.run(w1);
    CHECK(now.live() == sw::bytes(400));
    now.run(w2);
    CHECK(now.live() == sw::bytes(0));
    CHECK(now.peak() == sw::bytes(712));
  }
}

TEST_SUITE("content_hash") {
  TEST_CASE("it is the same for equal graphs and differs between graphs") {
    std::set<std::uint64_t> seen;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const auto hash = sw::content_hash(random_tasks(seed));
      CHECK(hash == sw::content_hash(random_tasks(seed)));
      seen.insert(hash);
    }
    CHECK(seen.size() == 100);
  }
  TEST_CASE("a nanosecond counts, free text does not") {
    sw::task_graph g = random_tasks(1);
    const auto before = sw::content_hash(g);
    g.description = "another";
    CHECK(sw::content_hash(g) == before);
    std::vector<sw::nanoseconds> durations;
    for (sw::task_index t = 0; t < g.size(); ++t) durations.push_back(g.duration(t));
    durations.back() += sw::nanoseconds(1);
    CHECK(sw::content_hash(g.with_durations(durations)) != before);
  }
  TEST_CASE("the empty graph's hash is a known number") {
    // 64 bits of FNV-1a over four counts and two numbers, all zero: 48 zero bytes
    std::uint64_t expected = 14695981039346656037ULL;
    for (int i = 0; i < 48; ++i) expected *= 1099511628211ULL;
    CHECK(sw::content_hash(sw::task_graph_builder().build()) == expected);
    CHECK(sw::content_hash_text(sw::task_graph_builder().build()).size() == 16);
  }
}

}  // namespace memory_tracker_tests
