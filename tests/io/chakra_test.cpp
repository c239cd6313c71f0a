#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/io/chakra_tasks.hpp>
#include <shardweave/io/chakra_trace.hpp>
#include <shardweave/io/read_chakra.hpp>
#include <shardweave/io/task_file.hpp>
#include <shardweave/io/write_tasks.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <io/refused.hpp>
#include <support/shared_data.hpp>
#include <support/temporary_folder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace chakra_tests {
namespace {

constexpr auto messages = sw::chakra_format::messages;
constexpr auto json = sw::chakra_format::json;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
sw::chakra_trace read(std::string_view text, sw::chakra_format format, std::size_t piece = 1U << 18) {
  auto input = sw::text_input::of_memory("trace", text, piece);
  return sw::read_chakra(input, format);
}
std::optional<std::filesystem::path> trace_file(const std::string& name) { return shared_data("chakra/" + name); }

/// A message of protocol buffers, field by field.
class message {
 public:
  message& number(std::uint32_t field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  message& text(std::uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  /// An attribute of the node: a whole number.
  message& attribute(std::string_view name, std::uint64_t value) {
    return text(10, message().text(1, name).number(9, value).text_);
  }
  message& raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  [[nodiscard]] std::string behind_its_length() const {
    message framed;
    framed.varint(text_.size());
    return framed.text_ + text_;
  }

 private:
  void varint(std::uint64_t value) {
    for (; value > 0x7f; value >>= 7) text_ += static_cast<char>((value & 0x7f) | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

message node(std::uint64_t id, const std::string& name, sw::chakra_type type, std::uint64_t us = 5) {
  return message().number(1, id).text(2, name).number(3, static_cast<std::uint64_t>(type)).number(7, us);
}
std::string trace_of(const std::vector<message>& nodes) {
  std::string text = message().behind_its_length();
  for (const message& n : nodes) text += n.behind_its_length();
  return text;
}

sw::chakra_prices h100() {
  const sw::device_profile device = sw::find_device("h100");
  return {.compute = {.device = device}, .collectives = sw::alpha_beta(device)};
}

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
  TEST_CASE("what protobuf's own package wrote is read field by field, alike from messages and from JSON") {
    for (const char* name : {"every_field", "mlp_data_model", "resnet50_data_parallel"}) {
      CAPTURE(name);
      const auto et = trace_file(std::string(name) + ".et"), twin = trace_file(std::string(name) + ".json");
      if (!et || !twin) return;
      const std::string bytes = text_of(*et), text = text_of(*twin);
      const sw::chakra_trace one = read(bytes, messages), other = read(text, json);
      CHECK(!one.nodes.empty());
      CHECK(one.schema == other.schema);
      CHECK(one == other);
      for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
        CHECK(read(bytes, messages, piece) == one);
        CHECK(read(text, json, piece) == one);
      }
    }
  }

  TEST_CASE("a published trace says what its source says: times, sizes, collectives and dependencies") {
    const auto path = trace_file("mlp_data_model.json"), flat = trace_file("mlp_data_model_flat.json");
    if (!path || !flat) return;
    const sw::chakra_trace trace = read(text_of(*path), json);
    CHECK(trace.schema == "1.0.2-chakra.0.0.4");
    REQUIRE(trace.nodes.size() == 35);
    const sw::chakra_node& first = trace.nodes.front();
    CHECK(first.id == 35);
    CHECK(first.name == "COMP_NODE_layer_64_2_mlp0_FWD");
    CHECK(first.type == sw::chakra_type::compute);
    CHECK(first.duration_us == 32291);
    CHECK(first.data_deps.empty());
    const sw::chakra_node& gather = trace.nodes[1];
    CHECK(gather.type == sw::chakra_type::collective);
    CHECK(sw::chakra_collective_names[static_cast<std::size_t>(gather.comm_type)] == "ALL_GATHER");
    CHECK(gather.comm_size == 37632);
    CHECK(gather.data_deps == std::vector<std::uint64_t>{35});
    const sw::chakra_node& last = trace.nodes.back();
    CHECK(last.id == 69);
    CHECK(last.comm_type == 0);
    CHECK(trace.nodes[16].id == 51);
    CHECK(trace.nodes[16].data_deps == std::vector<std::uint64_t>{49, 48});

    CHECK(read(text_of(*flat), json).nodes == trace.nodes);  // the form that the feeder reads
  }

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
    const sw::chakra_trace trace = read(text_of(*path), json);
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

  TEST_CASE("wrong traces are refused, and the message names byte, node and what is wrong") {
    using enum sw::chakra_type;
    const auto wrong = [](const std::string& text) { return refused([&] { return read(text, messages); }); };
    const std::string good = trace_of({node(17, "x", compute)});
    CHECK(wrong(good).empty());
    CHECK(wrong(good.substr(0, good.size() - 1)) == "trace: byte 2: the message is cut: 8 of its 9 bytes");
    CHECK(wrong(std::string(20, '\xff')) ==
          "trace: byte 1: no length of a message stands here, expected one of up to 1 GiB");
    CHECK(wrong(trace_of({node(17, "x", compute).raw("\x3f")})) ==
          "trace: byte 2: node 17 (x) at byte 10 of the message field 7 is of no known layout");
    CHECK(wrong(trace_of({node(17, "x", compute).raw("\x3d\x01")})) ==
          "trace: byte 2: node 17 (x) at byte 10 of the message field 7 is cut");
    CHECK(wrong(trace_of({message().number(1, 17).text(2, "x").number(3, 99)})) ==
          "trace: byte 2: node 17 (x) type is 99, expected at most 10");
    CHECK(wrong(trace_of({node(17, "x", compute, std::uint64_t{1} << 62)})) ==
          "trace: byte 2: node 17 (x) duration_micros is 4611686018427387904, expected at most 1000000000000000");
    CHECK(wrong(trace_of({node(17, "x", collective).attribute("comm_size", ~std::uint64_t{0})})) ==
          "trace: byte 2: node 17 (x) has the attribute 'comm_size' of -1, expected a whole number from 0 to 2^60");
    CHECK(wrong(trace_of({node(17, "x", collective).attribute("comm_type", 12)})) ==
          "trace: byte 2: node 17 (x) has the attribute 'comm_type' of 12, expected a collective's name, or its number "
          "below 10");

    const auto wrong_json = [](const std::string& text) { return refused([&] { return read(text, json); }); };
    CHECK(wrong_json(R"({"attr":[]} {"id":"1","type":"COMP_NODE"})").empty());
    CHECK(wrong_json(R"({"attr":[]} {"id":"1","type":"COMP"})") ==
          "trace: line 1, byte 35: type is \"COMP\", expected a type of node, as its name or number");
    CHECK(wrong_json("{\"attr\":[]}\n{\"id\":\"-1\"}") ==
          "trace: line 2, byte 22: id is \"-1\", expected a whole number, not negative");
    CHECK(wrong_json(R"({"attr":[]}{"id":"1","attr":[{"name":"comm_size","int64Val":"many"}]})")
              .find("attr[0] has the attribute 'comm_size' of \"many\", expected a whole number from 0 to 2^60") !=
          std::string::npos);
    CHECK(is_one_line(wrong_json("{\"attr\":[]}{\"id\":")));

    const auto no_graph = [](const std::vector<message>& nodes, const sw::chakra_options& options = {}) {
      return refused([&] { return sw::task_graph_of(read(trace_of(nodes), messages), options); });
    };
    CHECK(no_graph({}) == "has no nodes, expected at least one");
    CHECK(no_graph({node(1, "a", compute), node(1, "b", compute)}) ==
          "node 1 (b) has the id of another node, node 1 (a), expected its own");
    CHECK(no_graph({node(1, "a", compute).number(5, 8)}) == "node 1 (a) depends on node 8, expected one that is there");
    const std::string cycle = no_graph({node(5, "z", compute), node(1, "a", compute).number(5, 2).number(4, 5),
                                        node(2, "b", compute).number(5, 1), node(3, "c", compute).number(5, 2)});
    CHECK((cycle == "node 1 (a) depends on itself by way of its dependencies, expected no cycle" ||
           cycle == "node 2 (b) depends on itself by way of its dependencies, expected no cycle"));
    const message unstated = node(1, "a", collective, 0).attribute("comm_size", 8);
    CHECK(no_graph({unstated}) ==
          "node 1 (a) states no duration, expected one where no device is named whose collectives price it");
    CHECK(no_graph({unstated}, {.prices = h100()}) ==
          "node 1 (a) states no duration and the trace not who is in group 'all ranks', expected one of both, or the "
          "number of ranks");
    CHECK(no_graph({unstated}, {.ranks = 12, .prices = h100()}) ==
          "group 'all ranks' of 12 ranks lies on nodes of 8 devices with more ranks on one than on another, expected "
          "as many on each");
    CHECK(no_graph({unstated}, {.ranks = 16, .prices = h100()}).empty());
    const auto over_nodes = [&](const std::string& ranks) {
      const sw::chakra_trace trace{
          .nodes = {{.id = 1,
                     .name = "process_group:init",
                     .type = metadata,
                     .input_values = R"([{"pg_name": "0", "ranks": [)" + ranks + "]}]"},
                    {.id = 2, .name = "a", .type = collective, .comm_type = 0, .comm_size = 8, .group = "0"}}};
      return refused([&] { return sw::task_graph_of(trace, {.prices = h100()}); });
    };
    CHECK(over_nodes("0, 1, 8, 9, 16, 17").empty());
    for (const char* ranks : {"0, 1, 8, 16, 17, 18", "0, 1, 2, 8, 16, 17", "0, 8, 9, 16, 17, 18"})
      CHECK(over_nodes(ranks) ==
            "group '0' of 6 ranks lies on nodes of 8 devices with more ranks on one than on another, expected as many "
            "on each");
  }

  TEST_CASE("formats are told apart by what they say") {
    const temporary_folder folder;
    const auto format = [&](const std::string& text) {
      std::ofstream(folder / "file", std::ios::binary) << text;
      return sw::task_format_of(folder / "file");
    };
    using enum sw::task_format;
    CHECK(format(R"({"format": "shardweave.tasks", "version": 1})") == shardweave);
    CHECK(format(R"({"version": 1, "tasks": []})") == shardweave);
    CHECK(format(R"( { "attr" : [] } {"id": 1})") == chakra_json);
    CHECK(format(R"({} {"id": 1})") == chakra_json);
    CHECK(format(R"({"workload_graph": []})") == chakra_json);
    CHECK(format("hello") == shardweave);
    CHECK(format("") == shardweave);
    CHECK(format(trace_of({node(1, "a", sw::chakra_type::compute)})) == chakra_messages);
    // a run of 123 bytes begins as an object of JSON does: '{', a line's end
    const std::string run = message().text(1, std::string(121, 'x')).behind_its_length();
    REQUIRE(run.starts_with("{\n"));
    CHECK(format(run) == chakra_messages);
    for (const char* name : {"every_field.et", "mlp_data_model.et", "resnet50_data_parallel.et"})
      if (const auto path = trace_file(name)) CHECK(sw::task_format_of(*path) == chakra_messages);
    for (const char* name : {"every_field.json", "mlp_data_model.json", "mlp_data_model_flat.json"})
      if (const auto path = trace_file(name)) CHECK(sw::task_format_of(*path) == chakra_json);
  }
}

}  // namespace chakra_tests
