#include "step/small_step.hpp"
#include <shardweave/step/detail/dropped_values.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace sw = shardweave;

namespace dropped_values_tests {
namespace {
using namespace small_step;
}  // namespace

TEST_SUITE("dropped_values") {
  TEST_CASE("of shared parameters nothing gathered stays for the backward part, whatever is made again") {
    sw::stated_step s = small(9), more = small(10);
    s.recompute = more.recompute = sw::recompute_rule::full;
    const double layer = 4 * 1024. * 1024 + 3 * 1024. * 4096, input = 4 * 1024. * 1024 * 2;
    const auto slope = static_cast<double>((predict(more).peak - predict(s).peak).count());
    CHECK(slope > 4 * layer / 8 + 0.99 * input);            // its parameters, and its input
    CHECK(slope < 8 * layer / 8 + 1.01 * input + 100'000);  // its gradients, too; no copy of 2 bytes of everything
    s.framework.gradients_stay = more.framework.gradients_stay = true;
    const auto without = static_cast<double>((predict(more).peak - predict(s).peak).count());
    CHECK(without == doctest::Approx(4 * layer / 8 + input).epsilon(0.01));
    s.framework.keeps_last_gathered = true;
    CHECK(predict(s).last <= predict(small(9)).last * 2);
    CHECK(predict(s).peak.count() > 0);
  }

  TEST_CASE("a compiler keeps less than what the backward part reads") {
    sw::stated_step s = small(5), more = small(6);
    const auto kept = [&] { return static_cast<double>((predict(more).peak - predict(s).peak).count()); };
    s.framework.gradients_stay = more.framework.gradients_stay = true;
    const double fused = kept();
    s.framework.compiles = more.framework.compiles = false;
    const double eager = kept();
    // silu's result at least: it is made of the first product, which is kept
    CHECK(eager - fused >= 4 * 1024. * 4096 * 2);
    // what products and attention read is kept: their inputs, and its three with what it gives
    CHECK(fused >= 4 * 1024. * 2 * (2 * 1024 + 4 * 1024 + 3 * 4096));
  }

  TEST_CASE("shared parameters that are not gathered again stay whole from the forward to the backward part") {
    sw::stated_step s = small(6);
    s.framework.keeps_last_gathered = true;
    const sw::predicted_step again = predict(s);
    s.gathers_again = false;
    const sw::predicted_step stays = predict(s);
    const std::int64_t layer = 2 * (4 * 1024 * 1024 + 3 * 1024 * 4096);  // bytes
    // at the end of the forward part all layers are there, where but the last one, and one on its way, are gathered
    // again
    CHECK((stays.peak - again.peak).count() > 3 * layer);
    CHECK((stays.peak - again.peak).count() < 6 * layer);
    CHECK(stays.last <= again.last);
    CHECK(stays.state == again.state);
    CHECK(stays.gradients == again.gradients);
    s.layout = sw::training_layout::parse("zero2=8");  // which has parameters in f32 beside what it computes with
    CHECK(predict(s).peak > stays.peak);
  }
}

}  // namespace dropped_values_tests
