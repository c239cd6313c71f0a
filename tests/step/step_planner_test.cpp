#include <shardweave/core/control.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/step/step_planner.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <span>

namespace {

namespace sw = shardweave;

struct plan {
  float step = 0;
};
struct complete {
  plan operator()(std::span<const sw::strategy>, const sw::solve_control&) const { return {}; }
  plan improved(const plan& known, std::size_t, const sw::solve_control&) const { return known; }
};
struct changes_itself : complete {
  plan operator()(std::span<const sw::strategy>, const sw::solve_control&) { return {}; }
};
struct improves_to_another : complete {
  float improved(const plan& known, std::size_t, const sw::solve_control&) const { return known.step; }
};
struct does_not_improve {
  plan operator()(std::span<const sw::strategy>, const sw::solve_control&) const { return {}; }
};
struct never_ends : complete {
  struct placed {};
  placed operator()(std::span<const sw::strategy>, const sw::solve_control&) const { return {}; }
  placed improved(const placed& known, std::size_t, const sw::solve_control&) const { return known; }
};

}  // namespace

TEST_SUITE("step planner") {
  TEST_CASE("plans have an end, and better ones are of the same kind; several threads may ask") {
    CHECK(sw::step_planner<complete>);
    CHECK_FALSE(sw::step_planner<changes_itself>);
    CHECK_FALSE(sw::step_planner<improves_to_another>);
    CHECK_FALSE(sw::step_planner<does_not_improve>);
    CHECK_FALSE(sw::step_planner<never_ends>);
  }
}
