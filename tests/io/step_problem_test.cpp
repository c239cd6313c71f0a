#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/temporary_folder.hpp>
#include <support/tiny_steps.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace step_problem_tests {
namespace {

std::string text_of(const auto& description, const auto& work) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_step_problem(out, description, work); });
}
sw::step_problem read(std::string_view text) {
  auto input = sw::text_input::of_memory("problem.json", text, 1 + text.size() / 2);
  return sw::read_step_problem(input);
}

}  // namespace

TEST_SUITE("step_problem") {
  TEST_CASE("work reads back to the same, and says what is wrong with it") {
    sw::random_source random(5);
    for (int i = 0; i < 20; ++i) {
      const auto model = tiny_steps::random_model(random);
      const auto d = sw::describe(model.graph, model);
      const auto work = sw::describe_work(model.graph, model);
      const std::string text = text_of(d, work);
      const sw::step_problem again = read(text);
      REQUIRE(again.work.has_value());
      CHECK(text_of(again.description, *again.work) == text);
      CHECK(again.work->shares == work.shares);
      for (const sw::work_edge& e : work.edges)
        for (sw::strategy a = 0; a < work.times[work.times_of[e.from]].size(); ++a)
          for (sw::strategy b = 0; b < work.times[work.times_of[e.to]].size(); ++b)
            CHECK(again.work->chain(e, a, b) == work.chain(e, a, b));
      std::string wrong = text;
      const std::size_t at = wrong.find("\"share\":0");
      REQUIRE(at != std::string::npos);
      wrong.replace(at, 9, "\"share\":4000000000");
      CHECK_THROWS_WITH_AS(static_cast<void>(read(wrong)),
                           "problem.json: work: a share's number is above that of the last edge", sw::error);
    }
  }
  TEST_CASE("each number of the work that does not fit is named") {
    const std::string right = R"({"format":"shardweave.placement","version":1,
      "vertices":[{"compute":[1,2]},{"compute":[1]},{"compute":[1]}],"edges":[{"from":0,"to":1}],
      "work":{"channels":3,"limits":[5],"times":[[1,2],[3]],"vertices":[0,1,1],"matrices":[[1,2],[7]],
        "tables":[{"loads":[0,null,0],"chain":0},{"loads":[1,1,null]}],
        "edges":[{"from":0,"to":1,"tables":0,"share":0},{"from":1,"to":2,"tables":1,"share":1,"since":0}]}})";
    const sw::step_problem problem = read(right);
    REQUIRE(problem.work.has_value());
    CHECK(problem.work->limits == std::vector<double>{5});
    CHECK(problem.work->edges[1].since == 0);
    CHECK(problem.work->chain(problem.work->edges[0], 1, 0) == 2);
    CHECK(read(text_of(problem.description, *problem.work)).work->edges[1].since == 0);
    const auto refusal_of = [&](const std::string& found, const std::string& in_its_place) {
      std::string wrong = right;
      REQUIRE(wrong.find(found) != std::string::npos);
      wrong.replace(wrong.find(found), found.size(), in_its_place);
      return shardweave_test::refusal_of([&] { return read(wrong); }, sw::error_category::input);
    };
    CHECK(refusal_of("[5]", "[5,5,5]") ==
          "problem.json: work: 3 limits for 3 channels, one of which is the compute stream");
    CHECK(refusal_of("[[1,2],[3]]", "[[1,-2],[3]]") == "problem.json: work: a time is negative or not a number");
    CHECK(refusal_of("[[1,2],[7]]", "[[1,2],[-7]]") == "problem.json: work: a time is negative or not a number");
    CHECK(refusal_of("[0,1,1]", "[0,1,2]") == "problem.json: work: vertex 2 names times 2 of 2");
    CHECK(refusal_of("\"to\":2", "\"to\":3") ==
          "problem.json: work: edge 1 names a vertex or tables that are not there");
    CHECK(refusal_of("\"from\":1", "\"from\":9") ==
          "problem.json: work: edge 1 names a vertex or tables that are not there");
    CHECK(refusal_of("\"tables\":1", "\"tables\":2") ==
          "problem.json: work: edge 1 names a vertex or tables that are not there");
    CHECK(refusal_of("\"since\":0", "\"since\":3") ==
          "problem.json: work: edge 1 names a vertex or tables that are not there");
    CHECK(refusal_of("\"since\":0", "\"since\":4294967295")
              .ends_with("since is 4294967295, expected a whole number from 0 to 4294967294"));
    CHECK(refusal_of("\"tables\":1", "\"tables\":0") == "problem.json: work: edge 1 has tables of another size");
    CHECK(refusal_of("\"chain\":0", "\"chain\":2") ==
          "problem.json: work: tables 0 name matrix 2, which is not there or of another size");
    CHECK(refusal_of("[1,1,null]", "[1,0,null]") ==
          "problem.json: work: tables 1 name matrix 0, which is not there or of another size");
    const std::string two_ways = R"([0,null,0],"otherwise":[[0,null,null],[null,0,0]])";
    std::string more = right;
    more.replace(more.find("[0,null,0]"), 10, two_ways);
    const sw::step_problem ways = read(more);
    CHECK(ways.work->tables[0].ways() == 3);
    CHECK(ways.work->load(ways.work->edges[0], 2, 1, 0, 0) == 2);
    CHECK(ways.work->load(ways.work->edges[0], 2, 1, 0, 1) == 0);
    CHECK(ways.work->load(ways.work->edges[0], 1, 1, 0, 2) == 2);
    CHECK(text_of(read(text_of(ways.description, *ways.work)).description, *ways.work) ==
          text_of(ways.description, *ways.work));
    CHECK(refusal_of("[0,null,0]", R"([0,null,0],"otherwise":[[0,null]])") ==
          "problem.json: work: tables 0 have 2 loads for 3 channels");
    CHECK(refusal_of("[1,1,null]", "[1,1]") == "problem.json: work: tables 1 have 2 loads for 3 channels");
  }
  TEST_CASE("files of problems and certificates are written and read by their names") {
    const temporary_folder folder;
    sw::random_source random(3);
    const auto model = tiny_steps::random_model(random);
    const auto d = sw::describe(model.graph, model);
    const auto work = sw::describe_work(model.graph, model);
    sw::write_step_problem(folder / "problem.json.gz", d, work);
    const sw::step_problem again = sw::read_step_problem(folder / "problem.json.gz");
    REQUIRE(again.work.has_value());
    CHECK(text_of(again.description, *again.work) == text_of(d, work));
    auto with_late = work;
    with_late.late = {{0, {1, 2}}};
    sw::write_step_problem(folder / "late.json", d, with_late);
    const sw::step_problem late = sw::read_step_problem(folder / "late.json");
    REQUIRE(late.work->late.size() == 1);
    CHECK(late.work->late[0].vertices == std::vector<std::uint32_t>{1, 2});
    for (const auto& [wrong, where] :
         std::vector<std::pair<std::vector<sw::late_work>, const char*>>{{{{0, {2, 1}}}, "late 0"},
                                                                         {{{0, {1, 1}}}, "late 0"},
                                                                         {{{0, {1}}, {0, {2}}}, "late 1"},
                                                                         {{{0, {1}}, {1, {1}}}, "late 1"},
                                                                         {{{99, {1}}}, "late 0"},
                                                                         {{{0, {99}}}, "late 0"}}) {
      with_late.late = wrong;
      sw::write_step_problem(folder / "late.json", d, with_late);
      CHECK_THROWS_WITH_AS(static_cast<void>(sw::read_step_problem(folder / "late.json")),
                           doctest::Contains((where + std::string(" names an edge or vertices")).c_str()), sw::error);
    }
    // claims of all kinds: a channel with what is held above a limit, a path, a path and then a channel
    sw::step_certificate c{
        .claims = {{.channel = 1, .edges = {3}, .price = 0.25, .held = 4},
                   {.first = 2, .edges = {0}},
                   {.channel = 0, .first = 1, .edges = {5}, .has_head = true, .head = {2, 4}, .later = {6, 7}},
                   {.channel = 0, .first = 1, .has_head = true, .later = {2}, .waits = {3, 4}}},
        .weights = {5, 7, 9, 11}};
    c.placement.lower_bound = 2;
    c.placement.multipliers.emplace_back();
    c.placement.cases.push_back({.multipliers = 0});
    sw::write_certificate(folder / "proof.json", c);
    CHECK(sw::read_step_certificate(folder / "proof.json").claims == c.claims);
    std::string text = temporary_folder::read(folder / "proof.json");
    const std::string first = "\"first\":2,";
    REQUIRE(text.find(first) != std::string::npos);
    const auto wrong = folder.write("wrong.json", text.erase(text.find(first), first.size()));
    CHECK_THROWS_AS(static_cast<void>(sw::read_step_certificate(wrong)), sw::error);
    // no work, and no certificate at all
    sw::write_placement(folder / "plain.json", d);
    CHECK(!sw::read_step_problem(folder / "plain.json").work.has_value());
    auto plain = sw::text_input::of_memory("plain.json", R"({"format":"shardweave.certificate"})", 9);
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::certificate_subject(plain)),
                         "plain.json: is no certificate: it has no field 'of'", sw::error);
  }
  TEST_CASE("a certificate of a step reads back to the same") {
    sw::step_certificate c{.claims = {{.channel = 1, .edges = {3, 1}}, {.first = 2, .edges = {0}}, {.channel = 0}},
                           .weights = {5, 7, 1 << 20},
                           .weight_bits = 21};
    c.placement.lower_bound = 1.0 / 3;
    c.placement.multipliers.emplace_back();
    c.placement.cases.push_back({.multipliers = 0});
    const auto text = [](const sw::step_certificate& one) {
      return sw::json_string([&](sw::json_writer& out) { sw::write_certificate(out, one); });
    };
    const std::string first = text(c);
    auto input = sw::text_input::of_memory("proof.json", first, 7);
    const sw::step_certificate again = sw::read_step_certificate(input);
    CHECK(again.claims == c.claims);
    CHECK(again.weights == c.weights);
    CHECK(text(again) == first);
    auto subject = sw::text_input::of_memory("proof.json", first, 7);
    CHECK(sw::certificate_subject(subject) == "step");
  }
}

}  // namespace step_problem_tests
