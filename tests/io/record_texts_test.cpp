#include "io/record_options_of_tests.hpp"
#include "io/refused.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/io/collective_records.hpp>
#include <shardweave/io/detail/xml_tree.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/measured_record.hpp>
#include <shardweave/io/model_config.hpp>
#include <shardweave/io/nccl_tests_json.hpp>
#include <shardweave/io/read_link_shares.hpp>
#include <shardweave/io/read_nccl_graphs.hpp>
#include <shardweave/io/read_nccl_rules.hpp>
#include <shardweave/io/read_nccl_topology.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace record_texts_tests {
namespace {

using namespace record_options_of_tests;

std::vector<sw::measured_record> records_of(std::string_view text, const sw::record_options& options = {},
                                            std::size_t piece = 13) {
  auto input = sw::text_input::of_memory("T", text, piece);
  return sw::read_collective_records(input, options);
}

std::string complaint(std::string_view text, const sw::record_options& options = {}) {
  return refused([&] { return records_of(text, options); });
}

const std::string csv_head = "collective,nodes,ranks,size_bytes,time_us\n";

/// A line of nccl-tests with these columns: size count type redop root time algbw busbw wrong time algbw busbw wrong.
std::string result_line(const std::string& size, const std::string& out, const std::string& in) {
  return "  " + size + "  2  float  sum  -1  " + out + "  0.1  0.2  0  " + in + "  0.1  0.2  0\n";
}

const std::string starting = "# Collective test starting: all_reduce_perf\n";

std::string xla_entry(const std::string& inside) {
  return "entries { key: \"sm_90\" value { entries { " + inside + " } } }\n";
}

const std::string xla_good =
    "instruction { opcode: \"all-gather\" shape { element_type: F32 dimensions: 256 } "
    "collective_device_list { num_devices_per_group: 4 } } network_throughput_bytes_per_sec: 1000000";

}  // namespace

TEST_SUITE("collective_of_name") {
  TEST_CASE("a collective is known by its words, whatever joins them") {
    using enum sw::collective;
    for (const auto& [name, kind] :
         std::vector<std::pair<const char*, std::optional<sw::collective>>>{{"all_gather", all_gather},
                                                                            {"allgather", all_gather},
                                                                            {"AllGather", all_gather},
                                                                            {"all-gather", all_gather},
                                                                            {"all_gather_perf", all_gather},
                                                                            {"reduce_scatter", reduce_scatter},
                                                                            {"ReduceScatter", reduce_scatter},
                                                                            {"reduce-scatter", reduce_scatter},
                                                                            {"reduce_scatter_perf", reduce_scatter},
                                                                            {"all_reduce", all_reduce},
                                                                            {"ALL REDUCE", all_reduce},
                                                                            {"all_reduce_perf", all_reduce},
                                                                            {"all_to_all", all_to_all},
                                                                            {"alltoall", all_to_all},
                                                                            {"alltoall_perf", all_to_all},
                                                                            {"broadcast", std::nullopt},
                                                                            {"sendrecv", std::nullopt},
                                                                            {"reduce", std::nullopt},
                                                                            {"gather", std::nullopt},
                                                                            {"perf", std::nullopt},
                                                                            {"", std::nullopt},
                                                                            {"all_reduce_performance", std::nullopt},
                                                                            {"all_gatherv", std::nullopt}}) {
      CAPTURE(std::string(name));
      CHECK(sw::detail::collective_of_name(name) == kind);
    }
  }

  TEST_CASE("the name of every collective leads back to it") {
    for (const sw::collective kind : sw::priced_collectives) {
      CHECK(sw::detail::collective_of_name(sw::name_of(kind)) == kind);
    }
  }
}

TEST_SUITE("collective records: CSV") {
  TEST_CASE("cells may be quoted, hold commas and quotes, and have blanks around them") {
    using cells = std::vector<std::string>;
    for (const auto& [line, expected] :
         std::vector<std::pair<const char*, cells>>{{"", {""}},
                                                    {"a", {"a"}},
                                                    {"a,b", {"a", "b"}},
                                                    {" a ,\tb\t", {"a", "b"}},
                                                    {",", {"", ""}},
                                                    {"a,,b,", {"a", "", "b", ""}},
                                                    {R"("a,b",c)", {"a,b", "c"}},
                                                    {R"("say ""hi""",x)", {"say \"hi\"", "x"}},
                                                    {R"("",x)", {"", "x"}},
                                                    {R"(a"b,c"d,e)", {"ab,cd", "e"}},
                                                    {R"("open,end)", {"open,end"}},
                                                    {R"("""")", {"\""}}}) {
      CAPTURE(std::string(line));
      CHECK(sw::detail::csv_cells(line) == expected);
    }
  }

  TEST_CASE("columns stand in any order, others are passed over, and what is not stated is empty") {
    const auto rows = records_of(
        "# made by hand\n\n"
        "note,time_us, ranks ,more,size_bytes,nodes,collective,system\r\n"
        "\"a, b\",12.5,16,x,1048576,2,allreduce,p5\r\n"
        ",1e1,2,,8,1,All-To-All,\n");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].measurement ==
          sw::collective_measurement{sw::collective::all_reduce, {8, 2}, sw::mebibytes(1), 12.5});
    CHECK(rows[0].system == "p5");
    CHECK(rows[0].note == "a, b");
    CHECK(rows[0].placement.empty());
    CHECK(rows[1].measurement == sw::collective_measurement{sw::collective::all_to_all, {2, 1}, sw::bytes(8), 10});
    CHECK(sw::measurements_of(rows) == std::vector{rows[0].measurement, rows[1].measurement});
    CHECK(sw::measurements_of({}).empty());
  }

  TEST_CASE("each wrong cell is told with its line, its column, what was found and what was expected") {
    for (const auto& [row, words] : std::vector<std::pair<std::string, std::string>>{
             {"gather,1,2,8,1",
              "collective is 'gather', expected all_gather, reduce_scatter, all_reduce, all_to_all or shift"},
             {"all_gather,one,2,8,1", "nodes is 'one', expected a whole number, not negative"},
             {"all_gather,-2,2,8,1", "nodes is '-2', expected a whole number, not negative"},
             {"all_gather,-1,2,8,1", "nodes is -1, not stated: say how many nodes the groups span"},
             {"all_gather,0,2,8,1", "2 ranks on 0 nodes: expected two or more, and as many on each node"},
             {"all_gather,1,1,8,1", "1 ranks on 1 nodes: expected two or more, and as many on each node"},
             {"all_gather,3,8,8,1", "8 ranks on 3 nodes: expected two or more, and as many on each node"},
             {"all_gather,1,2.0,8,1", "ranks is '2.0', expected a whole number, not negative"},
             {"all_gather,1,99999999999999999999,8,1",
              "ranks is '99999999999999999999', expected a whole number, not negative"},
             {"all_gather,1,2,0,1", "size_bytes is 0, expected a positive number"},
             {"all_gather,1,2,1e3,1", "size_bytes is '1e3', expected a whole number, not negative"},
             {"all_gather,1,2,9223372036854775807,1",
              "size_bytes is '9223372036854775807', expected a whole number, not negative and at most 2^60"},
             {"all_gather,1,2,8,1e308", "time_us is '1e308', expected at most 2^60 nanoseconds"},
             {"all_gather,1,2,8,0", "time_us is '0', expected a positive number of microseconds"},
             {"all_gather,1,2,8,-1", "time_us is '-1', expected a positive number of microseconds"},
             {"all_gather,1,2,8,nan", "time_us is 'nan', expected a positive number of microseconds"},
             {"all_gather,1,2,8,inf", "time_us is 'inf', expected a positive number of microseconds"},
             {"all_gather,1,2,8,1us", "time_us is '1us', expected a positive number of microseconds"},
             {"all_gather,1,2,8,", "time_us is '', expected a positive number of microseconds"},
             {"all_gather,1,2,8", "has 4 cells, expected 5"},
             {"all_gather,1,2,8,1,", "has 6 cells, expected 5"}}) {
      CAPTURE(row);
      CHECK(complaint(csv_head + "all_gather,1,2,8,1\n" + row + "\n") == "T: line 3: " + words);
    }
    CHECK(complaint(csv_head + std::string(50, 'x') + ",1,2,8,1").find("'" + std::string(40, 'x') + "...'") !=
          std::string::npos);
  }

  TEST_CASE("each column that must be there is missed by name") {
    for (const std::string name : {"collective", "nodes", "ranks", "size_bytes", "time_us"})
      CHECK(complaint(changed(csv_head, name, "other") + "1,1,1,1,1\n") ==
            "T: line 1: no column is called '" + name + "'");
    CHECK(complaint(csv_head) ==
          "T: holds no measured collective; expected a CSV table, the output of nccl-tests or a "
          "performance table of XLA");
    CHECK(complaint("").starts_with("T: holds no measured collective"));
    CHECK(complaint("# nothing but a comment").starts_with("T: holds no measured collective"));
  }
}

TEST_SUITE("collective records: nccl-tests") {
  TEST_CASE("results are read with either placement, logs between them are passed over") {
    const auto rows = records_of("node1: NCCL INFO Channel 00\n" + starting + result_line("1024", "15.5", "16") +
                                     "node1:12 NCCL INFO done\n" + result_line("2048", "20", "21.5") +
                                     "  4096  1  float  sum  -1  30  0.1  0.2  0\n# Out of bounds values : 0 OK\n",
                                 eight_ranks);
    REQUIRE(rows.size() == 5);
    const std::vector<std::pair<std::int64_t, double>> expected{
        {1024, 15.5}, {1024, 16}, {2048, 20}, {2048, 21.5}, {4096, 30}};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(rows[i].measurement.kind == sw::collective::all_reduce);
      CHECK(rows[i].measurement.group == sw::group_shape{8, 1});
      CHECK(rows[i].measurement.size.count() == expected[i].first);
      CHECK(rows[i].measurement.time_us == expected[i].second);
      CHECK(rows[i].placement == (i == 1 || i == 3 ? "in" : "out"));
    }
  }

  TEST_CASE("ranks are counted by host, as many on each") {
    const auto ranks_on = [](const std::vector<std::string>& hosts) {
      std::string text = starting;
      for (std::size_t i = 0; i < hosts.size(); ++i)
        text += "#  Rank " + std::to_string(i) + " Group 0 Pid 1 on " + hosts[i] + " device 0 [0x1] NVIDIA H100\n";
      return text + result_line("8", "1", "2");
    };
    CHECK(records_of(ranks_on({"a", "a"})).front().measurement.group == sw::group_shape{2, 1});
    CHECK(records_of(ranks_on({"a", "b"})).front().measurement.group == sw::group_shape{1, 2});
    CHECK(records_of(ranks_on({"a", "b", "a", "b", "b", "a"})).front().measurement.group == sw::group_shape{3, 2});
    CHECK(complaint(ranks_on({"a", "b", "b"})) ==
          "T: lists 3 ranks on 2 hosts; expected two or more, and as many on each, or a group to be given");
    CHECK(complaint(ranks_on({"a"})) ==
          "T: lists 1 ranks on 1 hosts; expected two or more, and as many on each, or a group to be given");
    CHECK(complaint(ranks_on({})) ==
          "T: lists 0 ranks on 0 hosts; expected two or more, and as many on each, or a group to be given");
  }

  TEST_CASE("what a line or the text lacks is told") {
    CHECK(complaint("# Collective test starting: broadcast_perf\n" + result_line("8", "1", "2"), eight_ranks) ==
          "T: line 1: the test is 'broadcast_perf', expected that of one of all_gather, reduce_scatter, all_reduce, "
          "alltoall");
    CHECK(complaint(starting + " 8 2 float sum -1 1 2 3\n", eight_ranks) ==
          "T: line 2: a result has 8 columns, expected 13 (or 9 without one of both placements)");
    CHECK(complaint(starting + result_line("8", "N/A", "2"), eight_ranks) ==
          "T: line 2: time is 'N/A', expected a positive number of microseconds");
    CHECK(complaint(starting + result_line("8", "1", "0.00"), eight_ranks) ==
          "T: line 2: time is '0.00', expected a positive number of microseconds");
    CHECK(complaint(starting + result_line("99999999999999999999", "1", "2"), eight_ranks) ==
          "T: line 2: size is '99999999999999999999', expected a whole number, not negative");
    // sizes of nothing are no results, whatever their times
    CHECK(
        complaint(starting + result_line("0", "0.1", "0"), eight_ranks).starts_with("T: holds no measured collective"));
  }
}

TEST_SUITE("collective records: XLA") {
  TEST_CASE("an entry's size is the full tensor, its time the size over the throughput") {
    struct row {
      std::string entry;
      sw::collective kind;
      std::int64_t ranks, size;
    };
    const auto entry = [](const std::string& op, const std::string& type, const std::string& shape,
                          const std::string& groups) {
      return "instruction { opcode: \"" + op + "\" shape { element_type: " + type + " " + shape + " } " + groups +
             " } network_throughput_bytes_per_sec: 2000000";
    };
    const std::string four = "collective_device_list { num_devices_per_group: 4 }";
    for (const row& r : {
             row{entry("all-gather", "F32", "dimensions: 256", four), sw::collective::all_gather, 4, 1024},
             row{entry("all-reduce", "BF16", "dimensions: 16 dimensions: 16", four), sw::collective::all_reduce, 4,
                 512},
             row{entry("all-reduce", "F64", "dimensions: [16, 4]", four), sw::collective::all_reduce, 4, 512},
             row{entry("reduce-scatter", "S8", "dimensions: 100", four), sw::collective::reduce_scatter, 4, 400},
             row{entry("all-to-all", "F8E4M3FN", "dimensions: 100", four), sw::collective::all_to_all, 4, 100},
             row{entry("all-gather", "C64", "dimensions: 2",
                       "replica_groups { replica_ids: 0 replica_ids: 1 } "
                       "replica_groups { replica_ids: 2 replica_ids: 3 }"),
                 sw::collective::all_gather, 2, 16},
             row{entry("all-gather", "U16", "dimensions: 2", "replica_groups { replica_ids: [0, 1, 2] }"),
                 sw::collective::all_gather, 3, 4},
         }) {
      CAPTURE(r.entry);
      const auto rows = records_of(xla_entry(r.entry));
      REQUIRE(rows.size() == 1);
      CHECK(rows[0].measurement.kind == r.kind);
      CHECK(rows[0].measurement.group == sw::group_shape{r.ranks, 1});
      CHECK(rows[0].measurement.size.count() == r.size);
      CHECK(rows[0].measurement.time_us == doctest::Approx(static_cast<double>(r.size) / 2));
      CHECK(rows[0].system == "sm_90");
      CHECK(rows[0].placement == "xla");
    }
  }

  TEST_CASE("other instructions, entries without a measurement and groups of one are passed over") {
    const auto count = [](const std::string& entry) {
      return records_of(xla_entry(entry) + xla_entry(xla_good)).size();
    };
    CHECK(count(xla_good) == 2);
    CHECK(count(changed(xla_good, "all-gather", "dot")) == 1);
    CHECK(count(changed(xla_good, "network_throughput_bytes_per_sec: 1000000", "clock_cycles: 5")) == 1);
    CHECK(count(changed(xla_good, "network_throughput_bytes_per_sec: 1000000",
                        "network_throughput_bytes_per_sec: 0")) == 1);
    CHECK(count(changed(xla_good, "num_devices_per_group: 4", "num_devices_per_group: 1")) == 1);
    CHECK(count(changed(xla_good, "dimensions: 256", "dimensions: 0")) == 1);
  }

  TEST_CASE("comments end with their line or with the text, and signs in quotes are text") {
    const std::string good = xla_entry(xla_good);
    CHECK(records_of("# a { comment\n" + good + "# the end").size() == 1);
    CHECK(records_of("#\n##\n" + good + "#").size() == 1);
    CHECK(records_of("entries{key:\"sm_90\"value{entries{" + xla_good + "}}}").size() == 1);
    CHECK(records_of(changed(good, "\"sm_90\"", "\"{#}\"")).front().system == "{#}");
    CHECK(complaint("entries { key: \"open\n }") == "T: line 1: a text does not end on its line");
    CHECK(complaint("entries {\n\n# x\n a b").starts_with("T: line 4: found 'b' after 'a'"));
  }

  TEST_CASE("what the text format does not allow is told with its line") {
    for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
             {"entries {\n key: \"a\"", "T: line 2: the text ends inside of 'entries'"},
             {"entries { } }", "T: line 1: '}' closes nothing"},
             {"entries { a-b: 1 }", "T: line 1: found 'a-b', expected the name of a field"},
             {"entries { a b }", "T: line 1: found 'b' after 'a', expected ':' or '{'"},
             {"entries { a: }", "T: line 1: 'a' has no value"},
             {"entries { a: [1, 2 }", "T: line 1: the list 'a' does not end"},
             {xla_entry(changed(xla_good, "F32", "F33")), "T: line 1: no element type is called 'F33'"},
             {xla_entry(changed(xla_good, "256", "many")),
              "T: line 1: dimensions is 'many', expected a whole number, not negative"},
             {xla_entry(changed(xla_good, "256", "68719476736 dimensions: 2")), "T: line 1: the shape is too large"}}) {
      CAPTURE(text);
      const std::string found = complaint(text);
      CHECK(found == words);
    }
    std::string deep = "entries ";
    for (int i = 0; i < 40; ++i) deep += "{ a ";
    CHECK(complaint(deep) == "T: line 1: messages are nested more than 32 deep");
  }
}

TEST_SUITE("xml_tree") {
  TEST_CASE("elements, attributes in either quotes and entities are read; comments and declarations passed over") {
    const std::string text =
        "<?xml version=\"1.0\"?>\n<!DOCTYPE x>\n<!-- <a> -->\n<root a='1' b=\"&lt;&amp;&gt;&quot;&apos;\">text\n"
        "  <x:y-z.0 /><child\n  c = \"d'e\"></child  ></root>\n<!-- after -->";
    auto input = sw::text_input::of_memory("T", text, 4);
    const sw::detail::xml_tree tree(input);
    CHECK(tree[0].name == "root");
    CHECK(tree[0].line == 4);
    REQUIRE(tree[0].children.size() == 2);
    CHECK(*sw::detail::xml_tree::find(tree[0], "a") == "1");
    CHECK(*sw::detail::xml_tree::find(tree[0], "b") == "<&>\"'");
    CHECK(sw::detail::xml_tree::find(tree[0], "c") == nullptr);
    CHECK(tree[tree[0].children[0]].name == "x:y-z.0");
    CHECK(tree[tree[0].children[1]].line == 5);
    CHECK(tree.required(tree[tree[0].children[1]], "c") == "d'e");
  }

  TEST_CASE("numbers are whole, decimal or behind 0x, within their limits") {
    auto input = sw::text_input::of_memory("T", "<e/>");
    const sw::detail::xml_tree tree(input);
    for (const auto& [text, value] :
         std::vector<std::pair<const char*, std::optional<std::int64_t>>>{{"0", 0},
                                                                          {"7", 7},
                                                                          {"-5", -5},
                                                                          {"100", 100},
                                                                          {"0x1f", 31},
                                                                          {"0x1F", 31},
                                                                          {"0x64", 100},
                                                                          {"101", std::nullopt},
                                                                          {"-6", std::nullopt},
                                                                          {"", std::nullopt},
                                                                          {"0x", std::nullopt},
                                                                          {"1.0", std::nullopt},
                                                                          {"1 ", std::nullopt},
                                                                          {" 1", std::nullopt},
                                                                          {"+1", std::nullopt},
                                                                          {"x1f", std::nullopt},
                                                                          {"99999999999999999999", std::nullopt}}) {
      CAPTURE(std::string(text));
      std::optional<std::int64_t> found;
      const std::string words = refused([&] { return found = tree.whole(tree[0], "n", text, -5, 100); });
      CHECK(found == value);
      if (!value) CHECK(words == "T: line 1: <e> n=\"" + std::string(text) + "\" is not a whole number from -5 to 100");
    }
    for (const auto& [text, value] : std::vector<std::pair<const char*, std::optional<double>>>{{"0", 0.0},
                                                                                                {"2.5", 2.5},
                                                                                                {"1e1", 10.0},
                                                                                                {"10.5", std::nullopt},
                                                                                                {"-1", std::nullopt},
                                                                                                {"nan", std::nullopt},
                                                                                                {"inf", std::nullopt},
                                                                                                {"1x", std::nullopt},
                                                                                                {"", std::nullopt}}) {
      CAPTURE(std::string(text));
      std::optional<double> found;
      const std::string words = refused([&] { return found = tree.decimal(tree[0], "d", text, 10); });
      CHECK(found == value);
      if (!value) CHECK(words == "T: line 1: <e> d=\"" + std::string(text) + "\" is not a number from 0 on");
    }
  }

  TEST_CASE("64 elements may stand in each other, not 65; 16 MiB may be read, not more") {
    const auto nested = [](int depth) {
      std::string text;
      for (int i = 0; i < depth; ++i) text += "<a>";
      for (int i = 0; i < depth; ++i) text += "</a>";
      return refused([&] {
        auto input = sw::text_input::of_memory("T", text);
        return sw::detail::xml_tree(input)[0].name;
      });
    };
    CHECK(nested(64).empty());
    CHECK(nested(65) == "T: line 1: elements are nested deeper than 64");
    std::string long_text = "<a/>" + std::string((std::size_t{1} << 24) - 4, ' ');
    const auto read = [&] {
      return refused([&] {
        auto input = sw::text_input::of_memory("T", long_text);
        return sw::detail::xml_tree(input)[0].name;
      });
    };
    CHECK(read().empty());
    long_text += ' ';
    CHECK(read() == "T: line 1: the text is longer than 16 MiB");
  }
}

TEST_SUITE("damaged files") {
  struct format {
    const char* name;
    std::string text;
    std::function<void(sw::text_input&)> read;
  };
  const std::vector<format> formats{
      {"topology",
       "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\"><pci busid=\"a\" "
       "link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" sm=\"80\" rank=\"0\"><nvlink target=\"b\" "
       "count=\"4\" tclass=\"0x068000\"/></gpu></pci><nic><net name=\"m\" speed=\"200000\" latency=\"1.5\" "
       "coll=\"1\"/></nic></cpu></system>",
       [](sw::text_input& in) { static_cast<void>(sw::nccl_node_of(sw::read_nccl_topology(in))); }},
      {"graphs",
       "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" nchannels=\"2\" speedintra=\"20\" speedinter=\"10\" "
       "latencyinter=\"0.5\"><channel><net dev=\"0\"/><gpu dev=\"0\" rank=\"0\"/><gpu dev=\"1\" rank=\"1\"/></channel>"
       "</graph></graphs>",
       [](sw::text_input& in) { static_cast<void>(sw::read_nccl_graphs(in)); }},
      {"rules", "# rows\nallreduce,0,65536,tree,ll,2,1,8,-1,-1\nallgather,0,9223372036854775807,ring,simple,4,-1,-1\n",
       [](sw::text_input& in) { static_cast<void>(sw::read_nccl_rules(in)); }},
      {"shares", "kind,nodes,size_bytes,efficiency\nnvlink,1,1024,0.5\nata,2,4096,1\n",
       [](sw::text_input& in) { static_cast<void>(sw::read_link_shares(in)); }},
      {"csv", csv_head + "all_gather,2,16,8,1.5\nall_reduce,1,2,16,2\n",
       [](sw::text_input& in) { static_cast<void>(sw::read_collective_records(in, {})); }},
      {"nccl-tests",
       starting + "#  Rank 0 on a device 0\n#  Rank 1 on a device 1\n" + result_line("1024", "15.5", "16"),
       [](sw::text_input& in) { static_cast<void>(sw::read_collective_records(in, {})); }},
      {"xla", xla_entry(xla_good), [](sw::text_input& in) { static_cast<void>(sw::read_collective_records(in, {})); }},
      {"nccl-tests JSON",
       R"({"args": ["./all_reduce_perf", "-b", "8"], "results": [{"size": 8, "out_of_place": {"time": 1.5}}]})",
       [](sw::text_input& in) { static_cast<void>(sw::read_nccl_tests_json(in, eight_ranks)); }},
      {"device",
       R"({"format": "shardweave.device", "version": 1, "name": "m", "collectives": [{"op": "all_gather",
"ranks_per_node": 2, "nodes": 1, "bytes": [8, 16], "time_us": [1, 2.5]}], "compute": {"memory": {"peak": 0.8}}})",
       [](sw::text_input& in) { static_cast<void>(sw::read_device(in)); }},
      {"config",
       R"({"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
"intermediate_size": 128, "vocab_size": 256, "tie_word_embeddings": false, "rope_theta": 10000.0, "rms_norm_eps": 1e-05})",
       [](sw::text_input& in) { static_cast<void>(sw::read_llama_config(in, "m")); }},
  };
  const auto message = [](const format& f, const std::string& text) {
    return refused([&] {
      auto input = sw::text_input::of_memory("T", text, 11);
      return f.read(input), 0;
    });
  };

  TEST_CASE("a text cut anywhere is read or refused in one line that begins with its name") {
    for (const format& f : formats) {
      CAPTURE(std::string(f.name));
      CHECK(message(f, f.text).empty());
      std::size_t refusals = 0;
      for (std::size_t size = 0; size < f.text.size(); ++size) {
        const std::string words = message(f, f.text.substr(0, size));
        if (words.empty()) continue;
        ++refusals;
        CHECK(words.starts_with("T: "));
        CHECK(is_one_line(words));
      }
      CHECK(refusals > 5);
    }
  }

  TEST_CASE("whatever byte is changed, the text is read or refused in one line") {
    sw::random_source random(17);
    for (const format& f : formats) {
      CAPTURE(std::string(f.name));
      for (int round = 0; round < 400; ++round) {
        std::string text = f.text;
        for (std::size_t i = 0; i <= random.below(3); ++i) {
          char& c = text[random.below(text.size())];
          constexpr std::string_view signs = "{}[]<>\"',:;=/#-+.0123456789eE \n\t\r";
          c = random.chance(0.5) ? signs[random.below(signs.size())] : static_cast<char>(random.below(256));
        }
        const std::string words = message(f, text);
        CAPTURE(words);
        if (!words.empty()) CHECK((words.starts_with("T: ") && is_one_line(words) && words.size() < 400));
      }
    }
  }
}

}  // namespace record_texts_tests
