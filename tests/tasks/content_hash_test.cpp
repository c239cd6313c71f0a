#include <shardweave/tasks/content_hash.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace content_hash_tests {
namespace {

/// All that a builder takes, to be changed in one place.
struct stated {
  std::string name = "n", description = "d";
  std::vector<sw::process_group> groups = {{.id = 5, .name = "dp", .size = 4}, {.id = 6, .name = "tp", .size = 2}};
  std::vector<sw::storage> storages = {{sw::bytes(8)}, {sw::bytes(16)}};
  std::vector<sw::bytes> sizes = {sw::bytes(1), sw::bytes(100)};
  std::vector<sw::nanoseconds> times = {sw::nanoseconds(10), sw::nanoseconds(20)};
  sw::collective table_op = sw::collective::all_gather;
  std::uint32_t table_group = 0;
  sw::device_figures device = {.name = "H", .dram_bytes_per_ns = 3};
  std::optional<sw::bytes> baseline = sw::bytes(8);
  std::vector<sw::task_record> tasks = {
      {.name = "a", .op = "input", .kind = sw::task_kind::input, .outputs = {{sw::bytes(8), 0, "bf16", {4}}}},
      {.name = "c",
       .op = "ag",
       .kind = sw::task_kind::collective,
       .duration = sw::nanoseconds(10),
       .inputs = {0},
       .collective = sw::collective_record{sw::collective::all_gather, 0, sw::bytes(8), sw::bytes(16), "bf16", "none"},
       .outputs = {{sw::bytes(16), 1, "bf16", {8}}}},
      {.name = "m", .op = "mm", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(7), .inputs = {0}},
      {.name = "w", .op = "wait", .kind = sw::task_kind::wait, .inputs = {1}, .completes = 1}};

  [[nodiscard]] sw::task_graph build() const {
    sw::task_graph_builder b;
    b.name = name;
    b.description = description;
    b.device = device;
    b.memory_baseline = baseline;
    for (const auto& g : groups) b.add_group(g);
    for (const auto& s : storages) b.add_storage(s);
    b.add_table(sw::duration_table(table_op, table_group, sizes, times));
    for (const auto& t : tasks) b.add_task(t);
    return std::move(b).build();
  }
};

}  // namespace

TEST_SUITE("content_hash") {
  TEST_CASE("each thing on which a schedule depends changes it, and no two changes alike") {
    const std::map<std::string, std::function<void(stated&)>> changes = {
        {"name of a task", [](stated& s) { s.tasks[2].name = "m2"; }},
        {"op of a task", [](stated& s) { s.tasks[2].op = "add"; }},
        {"kind", [](stated& s) { s.tasks[2].kind = sw::task_kind::other; }},
        {"duration", [](stated& s) { s.tasks[2].duration = sw::nanoseconds(8); }},
        {"input", [](stated& s) { s.tasks[2].inputs = {1}; }},
        {"input twice",
         [](stated& s) {
           s.tasks[2].inputs = {0, 0};
         }},
        {"no input", [](stated& s) { s.tasks[2].inputs = {}; }},
        {"after", [](stated& s) { s.tasks[2].after = {1}; }},
        {"after in place of input", [](stated& s) { std::swap(s.tasks[2].after, s.tasks[2].inputs); }},
        {"completes", [](stated& s) { s.tasks[3].completes.reset(); }},
        {"is_fsdp", [](stated& s) { s.tasks[1].is_fsdp = true; }},
        {"is not fsdp", [](stated& s) { s.tasks[1].is_fsdp = false; }},
        {"parameter", [](stated& s) { s.tasks[0].is_param = true; }},
        {"role", [](stated& s) { s.tasks[1].role = sw::task_role::parameter; }},
        {"another role", [](stated& s) { s.tasks[1].role = sw::task_role::gradient; }},
        {"phase", [](stated& s) { s.tasks[1].when = sw::phase::forward; }},
        {"another phase", [](stated& s) { s.tasks[1].when = sw::phase::update; }},
        {"collective op", [](stated& s) { s.tasks[1].collective->op = sw::collective::all_reduce; }},
        {"collective group", [](stated& s) { s.tasks[1].collective->group = 1; }},
        {"bytes in", [](stated& s) { s.tasks[1].collective->bytes_in = sw::bytes(9); }},
        {"bytes out", [](stated& s) { s.tasks[1].collective->bytes_out = sw::bytes(9); }},
        {"dtype", [](stated& s) { s.tasks[1].collective->dtype = "f32"; }},
        {"reduce", [](stated& s) { s.tasks[1].collective->reduce = "sum"; }},
        {"storage of an output", [](stated& s) { s.tasks[1].outputs[0].storage = 0; }},
        {"no storage", [](stated& s) { s.tasks[1].outputs[0].storage = sw::no_index; }},
        {"size of an output", [](stated& s) { s.tasks[1].outputs[0].size = sw::bytes(3); }},
        {"dtype of an output", [](stated& s) { s.tasks[1].outputs[0].dtype = "f16"; }},
        {"shape of an output",
         [](stated& s) {
           s.tasks[1].outputs[0].shape = {2, 4};
         }},
        {"another shape",
         [](stated& s) {
           s.tasks[1].outputs[0].shape = {4, 2};
         }},
        {"no shape", [](stated& s) { s.tasks[1].outputs[0].shape.clear(); }},
        {"one output less", [](stated& s) { s.tasks[1].outputs.clear(); }},
        {"group id", [](stated& s) { s.groups[1].id = 7; }},
        {"group size", [](stated& s) { s.groups[1].size = 3; }},
        {"one group more", [](stated& s) { s.groups.push_back({.id = 9}); }},
        {"storage size", [](stated& s) { s.storages[0].size = sw::bytes(9); }},
        {"storage device", [](stated& s) { s.storages[1].device = sw::storage_device::cpu; }},
        {"one storage more", [](stated& s) { s.storages.push_back({sw::bytes(1)}); }},
        {"table op", [](stated& s) { s.table_op = sw::collective::all_reduce; }},
        {"table group", [](stated& s) { s.table_group = 1; }},
        {"table size", [](stated& s) { s.sizes[1] = sw::bytes(101); }},
        {"table time", [](stated& s) { s.times[1] = sw::nanoseconds(21); }},
        {"one point less", [](stated& s) { s.sizes.pop_back(), s.times.pop_back(); }},
        {"bandwidth", [](stated& s) { s.device.dram_bytes_per_ns = 3.5; }},
        {"baseline", [](stated& s) { s.baseline = sw::bytes(9); }},
        {"one task more", [](stated& s) { s.tasks.push_back({.name = "z"}); }},
        {"order of tasks", [](stated& s) { std::swap(s.tasks[0], s.tasks[2]), s.tasks[0].inputs = {2}; }}};
    std::map<std::uint64_t, std::string> seen = {{sw::content_hash(stated{}.build()), "nothing"}};
    for (const auto& [what, change] : changes) {
      stated s;
      change(s);
      const auto [at, fresh] = seen.try_emplace(sw::content_hash(s.build()), what);
      CHECK_MESSAGE(fresh, what << " gives the hash of " << at->second);
    }
    CHECK(seen.size() == changes.size() + 1);
  }

  TEST_CASE("texts for people change nothing") {
    const auto before = sw::content_hash(stated{}.build());
    stated s;
    s.description = "another";
    s.name = "another";
    s.groups[0].role = "role";
    s.device.name = "other";
    CHECK(sw::content_hash(s.build()) == before);
  }

  TEST_CASE("where one text ends and the next begins counts") {
    stated a, b;
    a.tasks[2].name = "xy", a.tasks[2].op = "z";
    b.tasks[2].name = "x", b.tasks[2].op = "yz";
    CHECK(sw::content_hash(a.build()) != sw::content_hash(b.build()));
  }

  TEST_CASE("as text it is the same number, with its leading zeros") {
    for (int i = 0; i < 200; ++i) {  // one in sixteen begins with a zero
      stated s;
      s.tasks[2].duration = sw::nanoseconds(i);
      const std::string text = sw::content_hash_text(s.build());
      CHECK(text.size() == 16);
      CHECK(std::stoull(text, nullptr, 16) == sw::content_hash(s.build()));
    }
  }
}

}  // namespace content_hash_tests
