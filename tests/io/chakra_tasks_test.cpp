#include "io/chakra_messages.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/io/chakra_tasks.hpp>
#include <shardweave/io/task_file.hpp>
#include <shardweave/io/write_tasks.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/temporary_folder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace chakra_tasks_tests {
namespace {

namespace sw = shardweave;
using namespace chakra_messages;

/// When the last node of a trace ends: nodes are taken as the file lists them, computation in a row, each collective
/// when it comes and its channel is free. A second definition, without task graphs.
std::int64_t end_of(const sw::chakra_trace& trace, const std::map<std::uint64_t, std::int64_t>& communication) {
  std::map<std::uint64_t, std::int64_t> end;
  std::int64_t stream = 0, channel = 0, last = 0;
  for (const sw::chakra_node& n : trace.nodes) {
    std::int64_t ready = stream;
    for (const std::uint64_t d : n.data_deps) ready = std::max(ready, end.at(d));
    if (n.type == sw::chakra_type::collective) {
      channel = end[n.id] = std::max(ready, channel) + communication.at(n.id);
    } else {
      stream = end[n.id] = ready + 1000 * n.duration_us;
    }
    last = std::max(last, end[n.id]);
  }
  return last;
}

}  // namespace

TEST_SUITE("chakra") {
  TEST_CASE("a step of ResNet-50 ends when its dependencies say, with collectives priced by the device") {
    for (const char* name : {"mlp_data_model.et", "resnet50_data_parallel.et"}) {
      CAPTURE(name);
      const auto path = trace_file(name);
      if (!path) return;
      const sw::chakra_trace trace = read(text_of(*path), messages);
      const sw::task_graph g = sw::read_any_task_graph(*path, {.ranks = 64, .prices = h100()});
      CHECK(g.name == std::filesystem::path(name).stem().string());
      const sw::alpha_beta model(sw::find_device("h100"));
      std::map<std::uint64_t, std::int64_t> communication;
      std::size_t collectives = 0;
      for (const sw::chakra_node& n : trace.nodes)
        if (n.type == sw::chakra_type::collective) {
          const auto op = n.comm_type == 0 ? sw::collective::all_reduce : sw::collective::all_gather;
          const auto largest = sw::bytes(op == sw::collective::all_gather ? 64 * n.comm_size : n.comm_size);
          communication[n.id] =
              sw::from_microseconds(model.estimate(op, largest, {.ranks_per_node = 8, .nodes = 8}).time_us).count();
          ++collectives;
        }
      std::size_t waits = 0;
      for (sw::task_index t = 0; t < g.size(); ++t) {
        waits += g.kind(t) == sw::task_kind::wait ? 1U : 0U;
        if (!g.is_collective(t)) continue;
        CHECK(g.collective(t).bytes_out.count() ==
              g.collective(t).bytes_in.count() * (g.collective(t).op == sw::collective::all_gather ? 64 : 1));
      }
      CHECK(waits == collectives);
      CHECK(g.size() == trace.nodes.size() + waits);
      CHECK(g.groups().size() == 1);
      const sw::timeline line = sw::simulate(g);
      CHECK(line.end_to_end.count() == end_of(trace, communication));
      CHECK(line.collectives == collectives);
    }
  }

  TEST_CASE("gradients of ResNet-50 are merged, which is valid, and its trace is written and read as tasks") {
    const auto path = trace_file("resnet50_data_parallel.json");
    if (!path) return;
    const sw::task_graph g = sw::read_any_task_graph(*path, {.ranks = 8, .prices = h100()});
    const sw::bucketing_result merged = sw::greedy{}(g);
    CHECK(merged.buckets.size() > 1);
    std::size_t members = 0;
    for (const sw::bucket& b : merged.buckets) members += b.members.size();
    CHECK(members > 40);

    const temporary_folder folder;
    sw::write_task_graph(folder / "tasks.json", g);
    CHECK(sw::task_format_of(folder / "tasks.json") == sw::task_format::shardweave);
    const sw::task_graph again = sw::read_any_task_graph(folder / "tasks.json");
    CHECK(sw::simulate(again) == sw::simulate(g));
  }

  TEST_CASE("groups that PyTorch's metadata lists are the channels, with their ranks") {
    const auto path = trace_file("every_field.et");
    if (!path) return;
    const sw::chakra_trace trace = read(text_of(*path), messages);
    const sw::task_graph g = sw::task_graph_of(trace);
    std::map<std::string, sw::process_group> groups;
    for (const sw::process_group& group : g.groups()) groups[group.name] = group;
    REQUIRE(groups.contains("0"));
    REQUIRE(groups.contains("7"));
    CHECK(groups["0"].size == 16);
    CHECK(groups["7"].ranks == std::vector<std::int64_t>{0, 8});
    CHECK(groups["7"].size == 2);
    for (sw::task_index t = 0; t < g.size(); ++t)
      if (g.is_collective(t) && g.collective(t).op == sw::collective::all_gather) {
        const std::int64_t ranks = g.groups()[g.collective(t).group].size;
        CHECK(g.collective(t).bytes_out.count() == ranks * g.collective(t).bytes_in.count());
      }
    CHECK_NOTHROW((void)sw::simulate(g));
  }

  TEST_CASE("of a trace in any order every node comes after what it depends on, and starts when that has ended") {
    const auto path = trace_file("every_field.json");
    if (!path) return;
    const sw::chakra_trace trace = read(text_of(*path), json_form);
    const sw::task_graph g = sw::task_graph_of(trace);
    std::map<std::string, sw::task_index> task;  // names are distinct
    for (sw::task_index t = 0; t < g.size(); ++t) task[std::string(g.name_of(t))] = t;
    std::map<std::uint64_t, const sw::chakra_node*> by_id;
    for (const sw::chakra_node& n : trace.nodes) by_id[n.id] = &n;
    const sw::timeline line = sw::simulate(g);
    std::size_t edges = 0;
    for (const sw::chakra_node& n : trace.nodes)
      for (const auto* deps : {&n.data_deps, &n.ctrl_deps})
        for (const std::uint64_t id : *deps) {
          const sw::task_index from = task.at(by_id.at(id)->name), to = task.at(n.name);
          CAPTURE(g.label(from));
          CAPTURE(g.label(to));
          CHECK(from < to);
          CHECK(line.end[from] <= line.start[to]);
          ++edges;
        }
    CHECK(edges > 30);
  }

  TEST_CASE("what the host does takes no time, what states none is priced by what it computes and moves") {
    using enum sw::chakra_type;
    const std::string text =
        trace_of({node(1, "launch", compute, 900).attribute("is_cpu_op", 1),
                  node(2, "product", compute, 0)
                      .number(5, 1)
                      .attribute("num_ops", 989'000'000'000)
                      .attribute("tensor_size", 1000),
                  node(3, "copy", compute, 0).number(5, 2).attribute("tensor_size", 3'000'000'000),
                  node(4, "kernel", compute, 12).number(5, 3), node(5, "nothing", compute, 0).number(4, 4)});
    const sw::task_graph g = sw::task_graph_of(read(text, messages), {.prices = h100()});
    const sw::roofline by{.device = sw::find_device("h100")};
    CHECK(g.duration(0) == sw::nanoseconds(0));
    CHECK(g.kind(0) == sw::task_kind::other);
    CHECK(g.duration(1) == sw::from_microseconds(by.compute_time({.flops = 989e9, .moved = sw::bytes(1000)})));
    CHECK(g.duration(1).count() == doctest::Approx(1e6 / 0.7));
    CHECK(g.duration(2) == sw::from_microseconds(by.memory_time(sw::bytes(3'000'000'000))));
    CHECK(g.duration(3) == sw::nanoseconds(12'000));
    CHECK(g.duration(4) == sw::nanoseconds(0));
    CHECK(sw::task_graph_of(read(text, messages)).duration(1) == sw::nanoseconds(0));
  }

  TEST_CASE("sends and receives have channels of their own, at the speed of the link or the network") {
    using enum sw::chakra_type;
    const auto moved = [](message m) { return m.attribute("comm_size", 50'000'000); };
    const std::string text =
        trace_of({node(1, "a", compute),
                  moved(node(2, "near", send, 0).number(5, 1).attribute("comm_src", 0).attribute("comm_dst", 7)),
                  moved(node(3, "far", receive, 0).attribute("comm_src", 9)),
                  moved(node(4, "stated", send, 70).attribute("comm_dst", 7)), node(5, "b", compute).number(5, 3)});
    const sw::task_graph g = sw::task_graph_of(read(text, messages), {.prices = h100()});
    std::map<std::string, sw::task_index> task;
    for (sw::task_index t = 0; t < g.size(); ++t) task[std::string(g.name_of(t))] = t;
    CHECK(g.duration(task["near"]).count() == 50'000'000 / 320);
    CHECK(g.duration(task["far"]).count() == 50'000'000 / 50);
    CHECK(g.duration(task["stated"]).count() == 70'000);
    CHECK(g.groups()[g.collective(task["near"]).group].name == "to rank 7");
    CHECK(g.groups()[g.collective(task["far"]).group].name == "from rank 9");
    CHECK(g.collective(task["near"]).group == g.collective(task["stated"]).group);
    CHECK(task["wait for far"] + 1 == task["b"]);
  }
}

}  // namespace chakra_tasks_tests
