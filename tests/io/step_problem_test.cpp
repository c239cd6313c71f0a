#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/tiny_steps.hpp>

#include <string>
#include <string_view>

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
