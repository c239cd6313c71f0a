#include "solve/linear/linear_models.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/solve/backend/any_backend.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string_view>

namespace any_backend_tests {
namespace {

namespace sw = shardweave;

struct counts_calls {
  static constexpr std::string_view name = "counts_calls";
  std::shared_ptr<std::size_t> calls;

  sw::backend_outcome solve(const sw::linear_model& model, const sw::backend_limits& limits) const {
    ++*calls;
    return {.objective = limits.gap, .iterations = model.rows.size(), .nodes = model.columns.size()};
  }
};

struct breaks_down {
  static constexpr std::string_view name = "breaks_down";
  sw::backend_outcome solve(const sw::linear_model&, const sw::backend_limits&) const {
    sw::refuse(sw::error_category::backend, "it broke");
  }
};

static_assert(sw::integer_backend<sw::any_backend>);

}  // namespace

TEST_SUITE("any_backend") {
  TEST_CASE("it has the name of what it holds, and hands model and limits on") {
    const auto calls = std::make_shared<std::size_t>(0);
    const sw::any_backend backend(counts_calls{calls});
    CHECK(backend.name == "counts_calls");
    const auto out = backend.solve(linear_models::textbook(), {.gap = 0.25});
    CHECK(out.nodes == 2);         // columns
    CHECK(out.iterations == 3);    // rows
    CHECK(out.objective == 0.25);  // the gap
    CHECK(*calls == 1);
    CHECK(backend.solve(linear_models::textbook()).objective == 0);
  }
  TEST_CASE("copies hold one of their own, which are all asked alike; what a backend throws comes out") {
    const auto calls = std::make_shared<std::size_t>(0);
    sw::any_backend one(counts_calls{calls});
    const sw::any_backend copy = one;
    one = sw::any_backend(breaks_down{});
    CHECK(one.name == "breaks_down");
    CHECK(copy.name == "counts_calls");
    CHECK_NOTHROW(static_cast<void>(copy.solve({})));
    CHECK(*calls == 1);
    CHECK_THROWS_WITH_AS(static_cast<void>(one.solve({})), "it broke", sw::error);
  }
}

}  // namespace any_backend_tests
