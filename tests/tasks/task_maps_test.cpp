#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/report/graphviz.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>
#include <shardweave/tasks/task_maps.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace task_maps_tests {
namespace {
struct node {
  sw::task_kind kind = sw::task_kind::other;
  sw::nanoseconds duration = {};
  int channel = 0;
  sw::bucket_key key = {};
  sw::transfer_size size = {};
  std::vector<sw::stored_piece> pieces = {};
  std::string name = {};
  sw::task_role role = sw::task_role::none;
  std::optional<sw::phase> when = std::nullopt;
  int ranks = 8;
};
using listed = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, node>;
using linked = boost::adjacency_list<boost::listS, boost::listS, boost::bidirectionalS, node>;

template <class G>
auto maps(G& g) {
  return sw::task_maps(get(&node::kind, g), get(&node::duration, g), get(&node::channel, g), get(&node::key, g),
                       get(&node::size, g), get(&node::pieces, g));
}
/// The same with all that may be told besides.
template <class G>
auto told_maps(G& g) {
  return sw::task_maps(get(&node::kind, g), get(&node::duration, g), get(&node::channel, g), get(&node::key, g),
                       get(&node::size, g), get(&node::pieces, g),
                       sw::task_notes()
                           .with_names(get(&node::name, g))
                           .with_roles(get(&node::role, g))
                           .with_phases(get(&node::when, g))
                           .with_group_sizes(get(&node::ranks, g)));
}
/// Two gathers on channel 1 that one product needs.
template <class G>
G two_gathers() {
  G g;
  const sw::bucket_key key{sw::collective::all_gather, "bf16", "none"};
  const auto gather = [&](std::uint64_t piece) {
    return add_vertex(node{sw::task_kind::collective,
                           sw::nanoseconds(10),
                           1,
                           key,
                           {sw::bytes(4), sw::bytes(8)},
                           {{piece, sw::bytes(8)}}},
                      g);
  };
  const auto a = gather(70), b = gather(80);
  const auto wa = add_vertex(node{.kind = sw::task_kind::wait}, g),
             wb = add_vertex(node{.kind = sw::task_kind::wait}, g);
  const auto mm = add_vertex(node{.kind = sw::task_kind::compute, .duration = sw::nanoseconds(5)}, g);
  add_edge(a, wa, g);
  add_edge(b, wb, g);
  add_edge(wb, mm, g);
  add_edge(wa, mm, g);
  add_edge(wa, mm, g);
  return g;
}
}  // namespace

TEST_SUITE("make_task_graph") {
  static_assert(sw::task_maps_of<decltype(maps(std::declval<const listed&>())), listed>);
  static_assert(!sw::task_maps_of<int, listed>);

  TEST_CASE_TEMPLATE("any Boost graph with its maps is a task graph", G, listed, linked) {
    const G g = two_gathers<G>();
    const sw::task_graph t = sw::make_task_graph(g, maps(g));
    REQUIRE(t.size() == 5);
    CHECK(t.groups().size() == 2);
    CHECK(t.collective(1).group == 1);
    CHECK(t.collective(1).bytes_out == sw::bytes(8));
    CHECK(t.completes(2) == 0);
    CHECK(t.completes(3) == 1);
    std::vector<sw::task_index> inputs(t.inputs(4).begin(), t.inputs(4).end());
    std::sort(inputs.begin(), inputs.end());
    CHECK(inputs == std::vector<sw::task_index>{2, 2, 3});
    CHECK(t.storages().size() == 2);
    CHECK(sw::simulate(t).end_to_end == sw::nanoseconds(25));
  }
  TEST_CASE_TEMPLATE("names, roles, phases and group sizes come along, if there are maps of them", G, listed, linked) {
    G g = two_gathers<G>();
    const sw::task_graph plain = sw::make_task_graph(g, maps(g));
    CHECK(plain.name_of(4) == "4");
    CHECK(plain.tags(0) == sw::task_tags{});
    CHECK(plain.groups()[1].size == 0);
    const auto [first, last] = vertices(g);
    g[*first].name = "layer.wq";
    g[*first].role = sw::task_role::parameter;
    g[*first].when = sw::phase::backward;
    const sw::task_graph t = sw::make_task_graph(g, told_maps(g));
    CHECK(t.name_of(0) == "layer.wq");
    CHECK(t.name_of(1).empty());
    CHECK(t.tags(0) == sw::task_tags{.role = sw::task_role::parameter, .when = sw::phase::backward});
    CHECK(t.tags(1) == sw::task_tags{});
    CHECK(t.groups()[1].size == 8);
    CHECK(sw::graphviz(t).find("layer.wq") != std::string::npos);
    // the collective of that role alone is one of sharded parameters
    CHECK(sw::fsdp_tags(t) == std::vector<bool>{true, false, false, false, false});
    g[*std::next(first)].ranks = 4;
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::make_task_graph(g, told_maps(g))),
                         "task 1 () states that group 1 has 4 ranks, expected 8 as a collective before it", sw::error);
    static_cast<void>(last);
  }
  TEST_CASE_TEMPLATE("a channel that has no number of a group is refused", G, listed, linked) {
    G g = two_gathers<G>();
    auto& channel = g[*vertices(g).first].channel;
    const auto refusal = [&](std::vector<sw::duration_table> tables = {}) {
      return shardweave_test::refusal_of([&] { return sw::make_task_graph(g, maps(g), tables); },
                                         sw::error_category::input);
    };
    for (const int wrong : {-1, 1 << 20, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
      channel = wrong;
      CHECK(refusal() == "task 0 (0) names channel " + std::to_string(wrong) + ", expected 0 to 1048575");
    }
    channel = (1 << 20) - 1;
    CHECK(sw::make_task_graph(g, maps(g)).groups().size() == std::size_t{1} << 20);
    channel = 0;
    CHECK(refusal().empty());
    CHECK(
        refusal({sw::duration_table(sw::collective::all_gather, sw::no_index, {sw::bytes(4)}, {sw::nanoseconds(1)})}) ==
        "the duration table of all_gather names channel 4294967295, expected 0 to 1048575");
  }
  TEST_CASE_TEMPLATE("a graph that says nothing of parameters has buckets of all that it has", G, listed, linked) {
    const G g = two_gathers<G>();
    const std::vector<sw::duration_table> tables{
        sw::duration_table(sw::collective::all_gather, 1, {sw::bytes(4)}, {sw::nanoseconds(12)})};
    CHECK(sw::bucket_collectives(g, sw::greedy{}, maps(g), tables).buckets.size() == 1);
    const auto none = sw::bucket_collectives(g, sw::greedy{.fsdp_only = true}, maps(g), tables);
    CHECK(none.buckets.empty());
    REQUIRE(none.decisions.size() == 2);
    CHECK(none.decisions[1] == sw::decision{.reason = sw::decision_reason::other_role, .subject = 1});
  }
  TEST_CASE_TEMPLATE("bucketing takes a graph and its maps", G, listed, linked) {
    const G g = two_gathers<G>();
    const std::vector<sw::duration_table> tables{
        sw::duration_table(sw::collective::all_gather, 1, {sw::bytes(4)}, {sw::nanoseconds(12)})};
    const auto merged = sw::bucket_collectives(g, sw::greedy{.fsdp_only = false}, maps(g), tables);
    REQUIRE(merged.buckets.size() == 1);
    CHECK(merged.buckets[0].members == std::vector<sw::task_index>{0, 1});
    const auto priced_not = sw::bucket_collectives(g, sw::greedy{.fsdp_only = false}, maps(g), {});
    CHECK(priced_not.buckets.empty());
    REQUIRE(priced_not.decisions.size() == 2);
    CHECK(priced_not.decisions[0].reason == sw::decision_reason::unpriced);
  }
}

}  // namespace task_maps_tests
