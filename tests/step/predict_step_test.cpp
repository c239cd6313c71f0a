#include "step/small_step.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/step/predict_step.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstdint>
#include <stop_token>

namespace sw = shardweave;

namespace predict_step_tests {
namespace {
using namespace small_step;
}  // namespace

TEST_SUITE("predict_step") {
  TEST_CASE("two depths tell what every layer adds") {
    // four are simulated as they are, and the line goes through them
    const sw::predicted_step three = predict(small(3)), four = predict(small(4)), nine = predict(small(9));
    CHECK(ms(nine.last) == doctest::Approx(ms(three.last) + 6 * (ms(four.last) - ms(three.last))).epsilon(1e-6));
    // all of eight are simulated where no smaller number of layers is alike those before it
    for (const bool stay : {false, true}) {
      sw::stated_step s = small(8);
      s.framework.gradients_stay = stay;
      const sw::predicted_step line = predict(s);
      s.recompute_every = 8;  // of nothing
      const sw::predicted_step whole = predict(s);
      CHECK(ms(line.last) == doctest::Approx(ms(whole.last)).epsilon(1e-3));
      CHECK(static_cast<double>(line.peak.count()) ==
            doctest::Approx(static_cast<double>(whole.peak.count())).epsilon(1e-3));
    }
  }

  TEST_CASE("a rule for the first of every 0 layers is refused") {
    sw::stated_step s = small(2);
    s.recompute = sw::recompute_rule::full;
    s.recompute_every = 0;
    const auto refusal = [&] {
      return shardweave_test::refusal_of([&] { return predict(s); }, sw::error_category::input);
    };
    CHECK(refusal() == "values are made again in one of every 0 layers, expected at least 1");
    s.kept_products = {"wq"};
    CHECK(refusal() == "values are made again in one of every 0 layers, expected at least 1");
    s.recompute_every = 1;
    s.layout = sw::training_layout::parse("fsdp=8,ep=8");
    CHECK(refusal() == "layout fsdp=8,ep=8 shares out experts, but the model has none");
  }

  TEST_CASE("a step is its micro-batches and the optimizer") {
    sw::stated_step s = small(2);
    s.micro_batches = 3;
    const sw::predicted_step each = predict(s);
    CHECK(each.step == (each.micro_batch + each.optimizer.accumulation) * 2 + each.last + each.optimizer.all());
    CHECK(each.micro_batch == each.last);
    CHECK(each.optimizer.all() > sw::nanoseconds());
    s.framework.reduces_each_micro_batch = false;  // as `set_requires_gradient_sync(False)` has it
    const sw::predicted_step once = predict(s);
    CHECK(once.last == each.last);
    CHECK(once.micro_batch <= each.micro_batch);
    CHECK(each.state.count() == small(2).model.parameter_count() / 8 * 8);
  }

  TEST_CASE("computation is never below its operations at full rate, and checkpointing adds a forward part") {
    sw::stated_step s = small(2);
    const sw::predicted_step none = predict(s);
    const double tokens = 4 * 1024;
    const double matrices = 2 * (4 * 1024. * 1024 + 3 * 1024. * 4096) + 32000. * 1024;
    const double least = 6 * tokens * matrices / 989e12 * 1e3;
    CHECK(ms(none.last) > least);
    CHECK(ms(none.last) < 4 * least);
    s.recompute = sw::recompute_rule::full;
    const sw::predicted_step full = predict(s);
    CHECK(ms(full.last) > ms(none.last) + (least - 6 * tokens * 32000. * 1024 / 989e12 * 1e3) / 3 * .5);
    CHECK(full.peak < none.peak);
    s.recompute = sw::recompute_rule::selective_op;
    const sw::predicted_step some = predict(s);
    CHECK(some.last > none.last);
    CHECK(some.last < full.last);
    s.recompute = sw::recompute_rule::full;
    s.recompute_every = 2;
    const sw::predicted_step every = predict(s);
    CHECK(every.last > none.last);
    CHECK(every.last < full.last);
  }

  TEST_CASE("after a stop nothing is predicted") {
    std::stop_source stop;
    stop.request_stop();
    const auto device = sw::find_preset("h100");
    const sw::any_collectives prices = sw::nccl_smooth(sw::nccl_node_of(device.profile));
    CHECK(shardweave_test::refusal_of(
              [&] { return sw::predict_step(small(2), device.compute(), prices, {.stop = stop.get_token()}); },
              sw::error_category::stopped) == "a stop came before the step was predicted");
  }

  TEST_CASE("what makes no sense is refused") {
    sw::stated_step s = small(2);
    s.micro_batches = 0;
    CHECK_THROWS_WITH_AS((void)predict(s), "a step has 0 micro-batches of 4 sequences, expected at least 1 of 1",
                         sw::error);
    s = small(2);
    s.model.hidden_size = 0;
    CHECK_THROWS_AS((void)predict(s), sw::error);
  }
}

}  // namespace predict_step_tests
