#include "io/nccl_texts.hpp"
#include <shardweave/cost/nccl_tuner.hpp>
#include <shardweave/io/read_nccl_graphs.hpp>
#include <shardweave/io/text_input.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace read_nccl_graphs_tests {
namespace {

using namespace shardweave;
using namespace nccl_texts;
namespace sw = shardweave;

}  // namespace

TEST_SUITE("read_nccl_graphs") {
  nccl_known_layout graphs_of(std::string_view text) {
    auto input = text_input::of_memory("g.xml", text, 11);
    return read_nccl_graphs(input);
  }

  TEST_CASE("channels of a file stand in for the closed form") {
    const nccl_known_layout known = read_nccl_graphs(nccl_corpus("nccl_graphs/four.xml"));
    CHECK(known.ranks_per_node == 4);
    CHECK(known.several);
    CHECK(known.network_latency_us == doctest::Approx(5));
    CHECK(known.layout.ring == nccl_paths{3, 11, 10});
    CHECK(known.layout.tree == nccl_paths{2, 22, 9});
    CHECK(known.layout.nvls == nccl_paths{});
    CHECK_FALSE(known.layout.tree_enters_at_one);
    const device_profile h100 = find_device("h100");
    const nccl_tuner with(h100, {.layouts = {known}});
    const nccl_tuner without(h100);
    using enum nccl_algorithm;
    const auto pair = [](const nccl_tuner& t, group_shape g, nccl_algorithm a) {
      return t.logged(collective::all_reduce, g, a, nccl_protocol::simple);
    };
    // 3 channels of 10 GB/s over three nodes of four ranks; 18 steps in nodes and 4 between them
    CHECK(pair(with, {4, 3}, ring).second == doctest::Approx(3 * 10 * 12 / 22.0));
    CHECK(pair(with, {4, 3}, ring).first == doctest::Approx(8.4 + 18 * 3.4 + 4 * (14 + 2 * 5)));
    CHECK(pair(with, {4, 3}, tree).second == doctest::Approx(2 * 9 * .92 / 2));  // enters at two devices
    CHECK(pair(with, {4, 3}, nvls_tree).second == 0);
    CHECK(with.layout({4, 3}).channels == 4);
    // other groups keep theirs
    CHECK(pair(with, {8, 3}, ring) == pair(without, {8, 3}, ring));
    CHECK(pair(with, {4, 1}, ring) == pair(without, {4, 1}, ring));
  }

  TEST_CASE("what is wrong with channels is named with its line") {
    const auto file = [](const std::string& inside) { return "<graphs version=\"1\">\n" + inside + "</graphs>"; };
    const std::vector<std::pair<std::string, const char*>> wrong{
        {"<system version=\"1\"/>", "g.xml: line 1: <system> is not the <graphs> of an NCCL graph file"},
        {"<graphs version=\"3\"/>", "g.xml: line 1: <graphs> has version 3; version 1 can be read"},
        {file(""), "g.xml: line 1: <graphs> holds no ring (graph 0) with channels"},
        {file("<graph id=\"0\" nchannels=\"2\" speedintra=\"1\"/>"),
         "g.xml: line 2: <graph> lacks attribute speedinter"},
        {file("<graph id=\"0\" nchannels=\"2\" speedintra=\"0\" speedinter=\"1\"/>"),
         "g.xml: line 2: <graph> has channels of no speed"},
        {file("<graph id=\"0\" nchannels=\"2\" speedintra=\"1\" speedinter=\"1\"/>"),
         "g.xml: line 2: <graph> holds no <channel>"},
        {file("<graph id=\"0\" nchannels=\"2\" speedintra=\"1\" speedinter=\"1\">\n<channel/></graph>"),
         "g.xml: line 3: <channel> holds no <gpu>"},
        {file("<graph id=\"0\" nchannels=\"many\"/>"),
         "g.xml: line 2: <graph> nchannels=\"many\" is not a whole number from 0 to 1024"},
    };
    for (const auto& [text, message] : wrong) {
      CAPTURE(text);
      CHECK_THROWS_WITH_AS(graphs_of(text), message, error);
    }
  }
}

}  // namespace read_nccl_graphs_tests
