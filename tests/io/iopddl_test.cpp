#include "io/refused.hpp"
#include "support/contest_example.hpp"
#include "support/shared_data.hpp"
#include <shardweave/io/iopddl.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/evaluate.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace sw = shardweave;
namespace json = boost::json;

namespace iopddl_tests {
namespace {

const std::string& example = shardweave_test::contest_example;

sw::placement_description<std::int64_t> read(const std::string& text) {
  auto input = sw::text_input::of_memory("T", text);
  return sw::read_iopddl(input);
}

std::string message(const std::string& text) {
  return refused([&] { return read(text); });
}

std::string whole_text(const std::filesystem::path& path) {
  sw::text_input input(path);
  std::string text;
  for (auto piece = input.next(); !piece.empty(); piece = input.next()) text += piece;
  return text;
}

/// Compares with the document as Boost's own tree of values has it.
void check_against_document(const sw::placement_description<std::int64_t>& d, const std::string& text) {
  const json::value document = json::parse(text);
  const json::object& problem = document.as_object().at("problem").as_object();
  const json::object& nodes = problem.at("nodes").as_object();
  const json::object& edges = problem.at("edges").as_object();
  const auto cost = [](const json::value& v) {
    const auto c = v.to_number<std::int64_t>();
    return c >= sw::iopddl_forbidden ? sw::forbidden<std::int64_t> : c;
  };
  CHECK(d.name == std::string(problem.at("name").as_string()));
  const json::array& unary = nodes.at("costs").as_array();
  REQUIRE(d.vertices.size() == unary.size());
  std::size_t different = 0;
  for (std::size_t v = 0; v < unary.size(); ++v) {
    REQUIRE(d.vertices[v].compute.size() == unary[v].as_array().size());
    for (std::size_t s = 0; s < d.vertices[v].compute.size(); ++s)
      different += d.vertices[v].compute[s] != cost(unary[v].as_array()[s]);
  }
  const json::array& ends = edges.at("nodes").as_array();
  const json::array& costs = edges.at("costs").as_array();
  REQUIRE(d.edges.size() == ends.size());
  for (std::size_t e = 0; e < ends.size(); ++e) {
    different += d.edges[e].from != ends[e].as_array()[0].to_number<std::uint32_t>();
    different += d.edges[e].to != ends[e].as_array()[1].to_number<std::uint32_t>();
    different += d.edges[e].transition != sw::no_table;
    const auto& table = *d.tables.at(d.edges[e].communication);
    REQUIRE(table.rows() * table.columns() == costs[e].as_array().size());
    for (std::size_t a = 0; a < table.rows(); ++a)
      for (std::size_t b = 0; b < table.columns(); ++b)
        different += table(a, b) != cost(costs[e].as_array()[a * table.columns() + b]);
  }
  REQUIRE(d.constraints.budgets.size() == 1);
  const sw::budget& memory = d.constraints.budgets[0];
  CHECK(memory.name == "memory");
  CHECK(memory.high == problem.at("usage_limit").to_number<double>());
  REQUIRE(memory.terms.size() == unary.size());
  for (std::size_t v = 0; v < unary.size(); ++v) {
    const sw::budget_term& term = memory.terms[v];
    const json::array& interval = nodes.at("intervals").as_array()[v].as_array();
    different += term.vertex != v;
    different +=
        *term.live != sw::live_interval{interval[0].to_number<std::int64_t>(), interval[1].to_number<std::int64_t>()};
    for (std::size_t s = 0; s < term.usage.size(); ++s)
      different += term.usage[s] != nodes.at("usages").as_array()[v].as_array()[s].to_number<double>();
  }
  CHECK(different == 0);
}

}  // namespace

TEST_SUITE("read_iopddl") {
  TEST_CASE("the contest's example is read in full") {
    const auto d = read(example);
    check_against_document(d, example);
    CHECK(sw::evaluate(d, std::vector<sw::strategy>{0, 0, 2, 1, 0}).objective == 445);
    CHECK(sw::evaluate(d, std::vector<sw::strategy>{0, 0, 2, 1, 0}).is_feasible());
    const auto over = sw::evaluate(d, std::vector<sw::strategy>{0, 0, 1, 1, 0});
    CHECK(over.parts.total() == 415);
    CHECK(over.budgets.at(0).used == 55);
    CHECK(over.violations.size() == 1);
  }

  TEST_CASE("keys come in any order, and fields that nobody knows are passed over") {
    const json::value document = json::parse(example);
    const json::object& p = document.at("problem").as_object();
    const auto s = [](const json::value& v) { return json::serialize(v); };
    const std::string turned =
        "{\"x\":[{}],\"problem\":{\"usage_limit\":50,\"edges\":{\"costs\":" + s(p.at("edges").at("costs")) +
        ",\"nodes\":" + s(p.at("edges").at("nodes")) +
        "},\"more\":1e3,\"nodes\":{\"usages\":" + s(p.at("nodes").at("usages")) +
        ",\"costs\":" + s(p.at("nodes").at("costs")) + ",\"intervals\":" + s(p.at("nodes").at("intervals")) +
        "},\"name\":\"example\"}}";
    check_against_document(read(turned), example);
  }

  TEST_CASE("a file without a limit has no budget") {
    const auto d = read(changed(example, ",\n  \"usage_limit\": 50", ""));
    CHECK(d.constraints.budgets.empty());
    CHECK(sw::evaluate(d, std::vector<sw::strategy>{0, 0, 1, 1, 0}).is_feasible());
  }

  TEST_CASE("costs of 10^17 and above are forbidden, however they are written") {
    for (const char* cost : {"100000000000000000", "1000000000000000000", "1e18", "9223372036854775808", "1e30"}) {
      const auto d = read(changed(example, "[85, 75]", std::string("[85, ") + cost + "]"));
      CHECK(sw::is_forbidden(d.vertices[3].compute[1]));
    }
    CHECK(read(changed(example, "[85, 75]", "[85, 99999999999999999]")).vertices[3].compute[1] == 99999999999999999);
  }

  TEST_CASE("equal matrices are stored once, but not under two shapes") {
    const auto d = read(R"({"problem": {"name": "", "nodes": {"intervals": [[0,1],[0,1],[0,1],[0,1]],
        "costs": [[1,2],[1,2,3],[1,2],[1,2,3]], "usages": [[0,0],[0,0,0],[0,0],[0,0,0]]},
        "edges": {"nodes": [[0,1],[1,0],[2,3],[3,2]], "costs": [[1,2,3,4,5,6],[1,2,3,4,5,6],[1,2,3,4,5,6],[6,5,4,3,2,1]]}}})");
    CHECK(d.tables.size() == 3);
    CHECK(d.edges[0].communication == d.edges[2].communication);
    CHECK((*d.tables[d.edges[0].communication])(1, 0) == 4);
    CHECK((*d.tables[d.edges[1].communication])(1, 0) == 3);
    CHECK((*d.tables[d.edges[3].communication])(2, 1) == 1);
  }

  TEST_CASE("what does not fit together is refused in one line") {
    CHECK(message(changed(example, "[[0, 1],", "[[0, 1, 2],")) ==
          "T: line 5, byte 285: problem.edges.nodes[0] joins 3 vertices, expected 2: other edges are not supported");
    CHECK(message(changed(example, "[[0, 1],", "[[0, 9],")) ==
          "T: edge 0 names vertex 9, but there are only 5 vertices");
    CHECK(message(changed(example, "[30, 40]", "[30, 40, 50]")) ==
          "T: edge 0 (0 -> 1) has 3 costs, expected 1 x 2 as its ends have strategies");
    CHECK(message(changed(example, "[[30, 70],", "["))
              .ends_with("problem.nodes has 5 costs, 4 intervals and 5 usages, expected equally many"));
    CHECK(message(changed(example, "[60, 20, 30], [70, 60]", "[60, 20, 30]"))
              .ends_with("problem.edges has 5 nodes and 4 costs, expected equally many"));
    CHECK(message(changed(example, "[[15],", "[[],")).ends_with("problem.nodes.costs[0] has no strategies"));
    CHECK(message(changed(example, "[30, 70]", "[30]"))
              .ends_with("problem.nodes.intervals[0] has 1 numbers, expected 2: first and end"));
    CHECK(message(changed(example, "[[10],", "[[-10],"))
              .starts_with("T: the usage -10 of strategy 0 of vertex 0 in budget 'memory' is negative"));
    CHECK(message(changed(example, "[[10],", "[[10, 10],")) ==
          "T: budget 'memory' has 2 usages for the 1 strategy of vertex 0");
    CHECK(message(changed(example, "[[15],", "[[1.5],"))
              .ends_with("problem.nodes.costs[0][0] is 1.5, expected a whole number"));
    CHECK(message(changed(example, "[[15],", "[[NaN],"))
              .ends_with("not JSON in problem.nodes.costs[0][0]: syntax error at 'N'"));
    CHECK(message(changed(example, "[[0, 1],", "[[-1, 0],"))
              .ends_with("problem.edges.nodes[0][0] is -1, expected a whole number from 0 to 4294967295"));
    CHECK(message(changed(example, "\"name\"", "\"title\"")).ends_with("problem has no field 'name'"));
    CHECK(message("{\"problems\": {}}") == "T: line 1, byte 16: the text has no field 'problem'");
  }

  TEST_CASE("a text cut anywhere is refused in one line") {
    for (std::size_t size = 0; size < example.size(); size += 3) {
      CAPTURE(size);
      CHECK(is_one_line(message(example.substr(0, size))));
    }
  }

  TEST_CASE("the contest's instances have the sizes that are known of them") {
    struct known {
      const char* name;
      std::size_t vertices, edges, strategies, matrices, entries;
    };
    // thousands of entries are published: the sizes of matrices after equal ones were joined
    for (const known& k : {known{"B", 816, 1096, 10'188, 402, 101}, known{"G", 816, 1023, 10'071, 448, 113},
                           known{"P", 65'335, 100'547, 182'682, 1184, 22}}) {
      const auto path = shared_data(std::string("iopddl/asplos-2025-iopddl-") + k.name + ".json.gz");
      if (!path) return;
      if (shardweave_test::is_small_scale && k.vertices > 1000) continue;
      CAPTURE(k.name);
      const auto d = sw::read_iopddl(*path, {.strict = true});
      CHECK(d.name == std::string("asplos-2025-iopddl-") + k.name);
      CHECK(d.vertices.size() == k.vertices);
      CHECK(d.edges.size() == k.edges);
      std::size_t strategies = 0, entries = 0;
      for (const auto& v : d.vertices) strategies += v.compute.size();
      for (const auto& t : d.tables) entries += t->rows() * t->columns();
      CHECK(strategies == k.strategies);
      CHECK(d.tables.size() == k.matrices);
      CHECK((entries + 500) / 1000 == k.entries);
    }
  }

  TEST_CASE("an instance is read number by number as another parser reads it") {
    const auto path = shared_data("iopddl/asplos-2025-iopddl-G.json.gz");
    if (!path) return;
    check_against_document(sw::read_iopddl(*path), whole_text(*path));
  }
}

}  // namespace iopddl_tests
