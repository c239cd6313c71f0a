#include <shardweave/io/iopddl.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/trws.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/scale.hpp>
#include <support/shared_data.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace reference_tests {
namespace {

/// Under sanitizers some of the smaller ones, which are enough to see wrong accesses.
std::vector<std::filesystem::path> reference_files() {
  std::vector<std::filesystem::path> files;
  if (const auto folder = shared_data("placement"))
    for (const auto& entry : std::filesystem::directory_iterator(*folder))
      if (entry.path().extension() == ".gz" || entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (shardweave_test::is_small_scale)
    std::erase_if(files, [](const auto& file) {
      return std::filesystem::file_size(file) > (file.extension() == ".gz" ? 90'000 : 1'400'000);
    });
  return shardweave_test::some_of(files);
}

}  // namespace

TEST_SUITE("reference problems") {
  TEST_CASE("assignments that others found cost what they say and keep every constraint, stated and compiled") {
    for (const auto& file : reference_files()) {
      CAPTURE(file.filename().string());
      const auto stated = std::make_shared<const sw::placement_description<double>>(sw::read_placement(file));
      const auto& d = *stated;
      REQUIRE(d.reference.has_value());
      const auto& reference = *d.reference;
      const double expected = reference.without_savings.value_or(reference.objective);
      CHECK(reference.without_savings.has_value() == !d.overlap.empty());

      const auto found = sw::evaluate(d, reference.choice);
      CHECK_MESSAGE(found.violations.empty(), (found.violations.empty() ? "" : found.violations.front()));
      CHECK(std::abs(found.objective - expected) <= 1e-6 * expected);
      CHECK(found.objective == found.parts.total());
      CHECK(found.parts.compute > 0);
      CHECK(found.budgets.size() == d.constraints.budgets.size());

      // one strategy aside, some constraint or the price must notice
      auto aside = reference.choice;
      for (std::size_t v = 0; v < aside.size(); ++v)
        if (d.vertices[v].compute.size() > 1) {
          aside[v] = (aside[v] + 1) % static_cast<sw::strategy>(d.vertices[v].compute.size());
          const auto other = sw::evaluate(d, aside);
          CHECK((!other.is_feasible() || other.objective >= found.objective * (1 - 1e-9) || !d.overlap.empty()));
          break;
        }

      const auto problem = sw::compile(stated);
      const auto& p = problem.compact();
      const auto labels = problem.labels_of(reference.choice);
      REQUIRE(labels.has_value());
      CHECK(p.keeps_rows(*labels));
      CHECK(std::abs(p.cost(*labels) - expected) <= 1e-6 * expected);
      CHECK(problem.lift(*labels) == reference.choice);
      CHECK(p.size() <= d.vertices.size());
      CHECK(p.tables().size() <= p.edges().size());
    }
  }

  TEST_CASE("message passing proves the optimum of problems whose budgets are tight") {
    for (const std::string name :
         {"tiny2-2d-4x2", "llama3-1b-1d-64", "llama3-1b-1d-64-untied", "llama3-1b-1d-64-march"}) {
      CAPTURE(name);
      if (shardweave_test::is_small_scale && name != "llama3-1b-1d-64") continue;
      const auto file = shared_data("placement/" + name + ".json.gz");
      if (!file) continue;
      const auto problem = sw::compile(sw::read_placement(*file));
      const auto answer = sw::trws{}.solve(problem);
      const double expected = problem.description()->reference->objective;
      CHECK(answer.status == sw::solve_status::optimal);
      CHECK(std::abs(answer.objective - expected) <= 1e-9 * expected);
      CHECK(std::abs(answer.lower_bound - expected) <= 2e-9 * expected);
    }
  }

  TEST_CASE(
      "without the couplings that AutoParallel leaves out the optimum is the one it claims, and costs more than that") {
    if (shardweave_test::skipped_at_small_scale()) return;
    const auto file = shared_data("placement/llama3-8b-2d-8x8.json.gz");
    if (!file) return;
    auto stated = sw::read_placement(*file);
    // The feed-forward parts of all layers but the last are tied to the first one, what follows from them backward of
    // all but the first to the last one. An edge between two that are tied to others joins nothing there, since those
    // they are tied to are joined; but these are not: the consumer takes what the last layer's part offers.
    const auto is_forward = [&](const sw::tie& group) {
      return stated.vertices[group.vertices.front()].phase == "forward";
    };
    constexpr std::size_t layers = 32;
    std::uint32_t first = ~0U, last = 0;  // vertices of the feed-forward part of the first layer
    for (const sw::tie& group : stated.constraints.ties)
      if (is_forward(group) && group.vertices.size() == layers - 1) {
        first = std::min(first, group.vertices.front());
        last = std::max(last, group.vertices.front());
      }
    std::map<std::uint32_t, std::uint32_t> of_last_layer;  // for those of layers between
    std::set<std::uint32_t> tied_to_last;
    auto relaxed = stated;
    for (sw::tie& group : relaxed.constraints.ties) {
      if (is_forward(group) && group.vertices.size() == layers && group.vertices.front() >= first &&
          group.vertices.front() <= last) {
        for (std::size_t l = 1; l + 1 < layers; ++l) of_last_layer[group.vertices[l]] = group.vertices.back();
        group.vertices.pop_back();
      }
      if (!is_forward(group) && group.vertices.size() == layers - 1)
        tied_to_last.insert(std::next(group.vertices.begin()), group.vertices.end());  // backward the last comes first
    }
    std::size_t lost = 0;
    for (auto& e : relaxed.edges) {
      const auto other = of_last_layer.find(e.from);
      if (other == of_last_layer.end() || !tied_to_last.contains(e.to)) continue;
      e.from = other->second;
      ++lost;
    }
    CHECK(lost == 780);
    const auto claimed = sw::trws{}.solve(sw::compile(relaxed));
    CHECK(claimed.status == sw::solve_status::optimal);
    CHECK(claimed.objective == doctest::Approx(547760.6002).epsilon(1e-9));
    stated.constraints = relaxed.constraints;  // the couplings stand as ties in the file
    const auto real = sw::evaluate(stated, claimed.choice);
    CHECK(real.is_feasible());
    CHECK(real.objective == doctest::Approx(556213.7927).epsilon(1e-9));
    CHECK(real.objective > stated.reference->objective * 1.003);
  }

  TEST_CASE("the contest's example costs 445 with its limit and 415 without") {
    const auto file = shared_data("iopddl/example.json");
    if (!file) return;
    auto d = sw::read_iopddl(*file);
    const auto with_limit = sw::exhaustive{}.solve(sw::compile(d));
    CHECK(with_limit.status == sw::solve_status::optimal);
    CHECK(with_limit.objective == 445);
    CHECK(with_limit.choice == sw::assignment{0, 0, 2, 1, 0});
    CHECK(sw::evaluate(d, with_limit.choice).budgets.at(0).used == 50);
    CHECK(shardweave_test::brute_force(d).objective == 445);

    const auto over = sw::evaluate(d, sw::assignment{0, 0, 1, 1, 0});
    CHECK(over.objective == 415);
    CHECK(over.budgets.at(0).used == 55);
    CHECK(over.violations.size() == 1);

    d.constraints.budgets.clear();
    const auto free = sw::exhaustive{}.solve(sw::compile(d));
    CHECK(free.objective == 415);
    CHECK(free.choice == sw::assignment{0, 0, 1, 1, 0});
    CHECK(shardweave_test::brute_force(d).objective == 415);
    CHECK(shardweave_test::brute_force(d).feasible == 12);
  }
}

}  // namespace reference_tests
