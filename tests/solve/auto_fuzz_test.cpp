#include "small_problems.hpp"
#include "suite.hpp"
#include <shardweave/solve/auto_solver.hpp>

#include <doctest/doctest.h>
#include <support/skipped.hpp>
#include <support/temporary_folder.hpp>
#include <support/wcsp_file.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

namespace sw = shardweave;

namespace auto_fuzz_tests {
namespace {

/// A share of the problems in a run of all tests; as many as SHARDWEAVE_FUZZ_PROBLEMS says on request.
std::size_t problems_to_try() {
  const char* asked = std::getenv("SHARDWEAVE_FUZZ_PROBLEMS");
  return asked != nullptr ? std::strtoull(asked, nullptr, 10) : shardweave_test::sized<std::size_t>(2000, 100);
}

struct fuzz_figures {
  std::size_t problems = 0, feasible = 0, binding = 0, proven = 0, infeasible = 0;
  [[nodiscard]] std::string text() const {
    return std::to_string(problems) + " problems with budgets: " + std::to_string(feasible) +
           " feasible, budgets binding in " + std::to_string(binding) + ", " + std::to_string(proven) +
           " proven optimal, " + std::to_string(infeasible) + " proven infeasible";
  }
};

/// The default solver on a problem as a user states it, all features in turn, budgets always.
template <class Cost>
void fuzz_stated(std::uint64_t seed, fuzz_figures& figures) {
  // bits 5 and 6 are budgets over all vertices and over live ones
  auto features =
      shardweave_test::problem_features::combination(static_cast<unsigned>(seed % 32 + 32 * (1 + seed / 32 % 3)));
  features.max_vertices = 3 + seed % 6;
  features.max_assignments = 600;
  const auto stated = shardweave_test::draw_problem<Cost>(seed, features);
  if (stated.description.constraints.budgets.empty()) return;
  const auto best = shardweave_test::brute_force(stated);
  const std::string about = "stated problem, seed " + std::to_string(seed);
  INFO(about);
  ++figures.problems;
  figures.feasible += best.objective.has_value();
  auto relaxed = stated;
  relaxed.description.constraints.budgets.clear();
  const auto free = shardweave_test::brute_force(relaxed);
  figures.binding += free.objective != best.objective;
  std::optional<sw::placement_problem<Cost>> problem;
  try {
    problem = sw::compile(stated.description);
  } catch (const sw::error&) {
    CHECK_FALSE(best.objective.has_value());
    ++figures.infeasible;
    return;
  }
  const auto answer = sw::auto_solver{}.solve(*problem, {.seed = seed});
  shardweave_test::detail::check_answer(stated, best, answer, 1e-8);
  figures.proven += answer.status == sw::solve_status::optimal;
  figures.infeasible += answer.status == sw::solve_status::infeasible;
}

/// The same on compact problems with many rows, lower limits and pairings, whole numbers compared exactly.
void fuzz_compact(std::uint64_t seed, fuzz_figures& figures) {
  const sw::compact_problem<std::int64_t> compact =
      shardweave_test::draw_small<std::int64_t>(seed, {.variables = 2 + seed % 5,
                                                       .density = 0.2 * static_cast<double>(seed % 4),
                                                       .forbidden = seed % 3 == 0 ? 0.3 : 0,
                                                       .rows = static_cast<std::uint32_t>(1 + seed % 7),
                                                       .lower_limits = seed % 4 == 0 ? 0.5 : 0,
                                                       .paired = seed % 5 == 0 ? 0.3 : 0});
  const auto best = shardweave_test::brute_optimum_of(compact);
  const std::string about = "compact problem, seed " + std::to_string(seed);
  INFO(about);
  ++figures.problems;
  figures.feasible += best.has_value();
  figures.binding += shardweave_test::brute_optimum_of(compact, false) != best;
  const auto answer = sw::auto_solver{}.solve(sw::placement_problem<std::int64_t>(compact), {.seed = seed});
  if (!best) {
    CHECK_FALSE(answer.has_assignment());
  } else {
    CHECK(answer.status != sw::solve_status::infeasible);
    CHECK(answer.lower_bound <= static_cast<double>(*best));
    if (answer.has_assignment()) {
      CHECK(shardweave_test::naive_rows(compact, answer.choice));
      CHECK(shardweave_test::naive_cost(compact, answer.choice) == answer.objective);
      CHECK(answer.objective >= *best);
      if (answer.status == sw::solve_status::optimal) CHECK(answer.objective == *best);
    }
  }
  figures.proven += answer.status == sw::solve_status::optimal;
  figures.infeasible += answer.status == sw::solve_status::infeasible;
}

/// What a command prints.
std::string printed_by(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return text;
}

/// The optimum by toulbar2, a solver of constraint networks; nothing if it proves that there is none.
struct referee {
  bool answered = false;
  std::optional<std::int64_t> optimum;

  referee(const std::filesystem::path& file, std::int64_t shift) {
    const std::string words = printed_by("toulbar2 " + file.string() + " -timer=60 2>&1");
    constexpr std::string_view found = "Optimum: ", none = "No solution";
    if (const auto at = words.find(found); at != std::string::npos) {
      answered = true;
      optimum = std::strtoll(words.c_str() + at + found.size(), nullptr, 10) + shift;
    }
    answered = answered || words.find(none) != std::string::npos;
  }
};

}  // namespace

TEST_SUITE("auto_solver") {
  TEST_CASE("the default solver agrees with brute force on small problems with budgets") {
    fuzz_figures stated, compact;
    const std::size_t most = problems_to_try();
    std::uint64_t seed = 1'000'000;
    for (; stated.problems + compact.problems < most; ++seed) {
      fuzz_stated<double>(seed, stated);
      fuzz_stated<std::int64_t>(seed, stated);
      fuzz_compact(seed, compact);
      fuzz_compact(seed + 500'000'000, compact);
    }
    for (const fuzz_figures& figures : {stated, compact}) {
      MESSAGE(figures.text());
      CHECK(figures.feasible > figures.problems / 2);
      CHECK(figures.binding > figures.problems / 20);
      CHECK(figures.proven + figures.infeasible >= figures.problems * 9 / 10);
    }
  }
  TEST_CASE("the default solver agrees with toulbar2, which shares nothing with it") {
    if (std::system("command -v toulbar2 >/dev/null 2>&1") != 0) {
      shardweave_test::skipped("toulbar2 is not installed");
      return;
    }
    const temporary_folder folder;
    std::size_t feasible = 0, impossible = 0, binding = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(60); ++seed) {
      const auto compact = shardweave_test::draw_small<std::int64_t>(
          seed, {.variables = 4 + seed % 5,
                 .most_labels = 4,
                 .density = 0.1 * static_cast<double>(seed % 5),
                 .forbidden = seed % 3 == 0 ? 0.4 : 0.1,
                 .rows = static_cast<std::uint32_t>(seed % 4 == 0 ? 0 : seed % 9),
                 .lower_limits = seed % 5 == 0 ? 0.5 : 0,
                 .paired = seed % 5 == 1 ? 0.3 : 0});
      const auto network = shardweave_test::wcsp_of(compact);
      const referee judged(folder.write("a.wcsp", network.text), network.shift);
      CAPTURE(seed);
      REQUIRE(judged.answered);
      const auto answer = sw::auto_solver{}.solve(sw::placement_problem<std::int64_t>(compact), {.seconds = 20});
      if (!judged.optimum) {
        CHECK_FALSE(answer.has_assignment());
        ++impossible;
        continue;
      }
      ++feasible;
      CHECK(answer.lower_bound <= static_cast<double>(*judged.optimum));
      REQUIRE(answer.has_assignment());
      CHECK(answer.objective >= *judged.optimum);
      if (answer.status == sw::solve_status::optimal) CHECK(answer.objective == *judged.optimum);
      CHECK(answer.status == sw::solve_status::optimal);
      binding += !compact.rows().empty();
    }
    MESSAGE(feasible << " problems with an optimum, " << binding << " of them with budgets, " << impossible
                     << " without");
    CHECK(feasible > shardweave_test::at_scale(40));
  }
}

}  // namespace auto_fuzz_tests
