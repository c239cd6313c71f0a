// A proof about any tiny problem, found with any effort, is accepted; none that claims more than trying every
// assignment allows is, be it spoiled, raised or drawn at random.
#include "chosen_problem.hpp"
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>

#include <support/judged_answer.hpp>
#include <support/random_certificate.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

namespace sw = shardweave;

namespace proofs_fuzz {
namespace {

using fuzz::choices;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

/// What is accepted is true.
template <class Cost>
void check(const shardweave_test::judged_problem<Cost>& problem, const sw::placement_certificate<Cost>& c,
           const char* which) {
  if (!sw::check_certificate(problem.stated.description, c).accepted) return;
  if (c.infeasible) {
    expect(!problem.best.objective, std::string(which) + " proof that nothing is feasible, and something is");
  } else if (problem.best.objective && std::numeric_limits<Cost>::is_integer) {
    expect(c.lower_bound <= *problem.best.objective, std::string(which) + " proof of too much, in whole numbers");
  } else {
    expect(problem.holds(static_cast<double>(c.lower_bound)), std::string(which) + " proof of too much");
  }
}

template <class Cost>
void try_problem(choices& from) {
  constexpr std::array<std::size_t, 4> steps{60, 0, 3, 400}, nodes{2000, 0, 1, 5};
  constexpr std::array<std::size_t, 3> works{1U << 20, 0, 200};
  const sw::certify_options options{
      .steps = from.one_of(steps), .nodes = from.one_of(nodes), .work = from.one_of(works)};
  const std::size_t knows = from.below(3);
  const auto seed = static_cast<std::uint64_t>(from.below(256));
  const shardweave_test::judged_problem<Cost> problem(fuzz::problem_chooser<Cost>(from).run());
  const auto& d = problem.stated.description;
  const std::optional<Cost>& best = problem.best.objective;

  sw::placement_certificate<Cost> drawn = shardweave_test::draw_certificate(d, seed);
  if (const auto proven = sw::proven_by(d, drawn); proven.accepted) {
    drawn.infeasible = sw::is_forbidden(proven.bound);
    if (!drawn.infeasible) drawn.lower_bound = proven.bound;
    if (!shardweave_test::narrows(drawn))
      expect(sw::check_certificate(d, drawn).accepted, "what is proven is refused once it is claimed");
    check(problem, drawn, "a drawn");
  }
  std::optional<sw::placement_problem<Cost>> compiled;
  try {
    compiled = sw::compile(d);
  } catch (const sw::error& e) {
    expect(e.category() == sw::error_category::constraint && !best, e.what());
    if (const auto c = sw::certify_infeasible(d)) check(problem, *c, "a");
    return;
  }
  Cost known = sw::forbidden<Cost>;
  if (best && knows > 0) known = knows == 1 ? *best : *best + Cost(3);
  auto c = sw::certify_placement(*compiled, known, options);
  expect(sw::check_certificate(d, c).accepted, "its own proof is refused");
  check(problem, c, "a");
  auto spoiled = c;
  if (!spoiled.multipliers.empty() && !spoiled.cases.empty()) shardweave_test::spoil(spoiled, seed);
  check(problem, spoiled, "a spoiled");
  if (!best) return;
  for (auto* raised : {&c, &spoiled}) {
    raised->infeasible = false;
    raised->lower_bound = *best + static_cast<Cost>(1 + 4 * problem.slack(static_cast<double>(*best)));
    check(problem, *raised, "a raised");
    raised->infeasible = true;
    check(problem, *raised, "an");
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  choices from(data, size);
  from.maybe() ? try_problem<std::int64_t>(from) : try_problem<double>(from);
  return 0;
}

}  // namespace proofs_fuzz
