#include <shardweave/core/error.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/step/predict_step.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace sw = shardweave;

namespace predict_step_tests {
namespace {

sw::stated_step small(std::int64_t layers) {
  sw::stated_step s;
  s.model = {.name = "small",
             .hidden_size = 1024,
             .num_hidden_layers = layers,
             .num_attention_heads = 8,
             .num_key_value_heads = 8,
             .intermediate_size = 4096,
             .vocab_size = 32000};
  s.sequence = 1024;
  s.micro_batch = 4;
  s.layout = sw::training_layout::parse("fsdp=8");
  return s;
}

sw::predicted_step predict(const sw::stated_step& s) {
  static const sw::compute_profile compute = sw::find_preset("h100").compute();
  static const sw::any_collectives links = sw::nccl_smooth(sw::find_device("h100"));
  return sw::predict_step(s, compute, links);
}
double ms(sw::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

TEST_SUITE("predict_step") {
  TEST_CASE("two depths tell what every layer adds") {
    // three are simulated as they are, and the line goes through them
    const sw::predicted_step two = predict(small(2)), three = predict(small(3)), nine = predict(small(9));
    CHECK(ms(nine.last) == doctest::Approx(ms(two.last) + 7 * (ms(three.last) - ms(two.last))).epsilon(1e-6));
    CHECK(nine.peak.count() ==
          doctest::Approx(static_cast<double>((two.peak + (three.peak - two.peak) * 7).count())).epsilon(1e-6));
  }

  TEST_CASE("a step is its micro-batches and the optimizer") {
    sw::stated_step s = small(2);
    s.micro_batches = 3;
    const sw::predicted_step each = predict(s);
    CHECK(each.step == each.micro_batch * 2 + each.last + each.optimizer.all());
    CHECK(each.micro_batch == each.last);
    CHECK(each.optimizer.all() > sw::nanoseconds());
    s.framework.reduces_each_micro_batch = false;
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

  TEST_CASE("without a compiler, with a slow host, or with a loss in f32 a step takes longer") {
    sw::stated_step s = small(2);
    const sw::predicted_step compiled = predict(s);
    s.framework.compiles = false;
    const sw::predicted_step eager = predict(s);
    CHECK(eager.last > compiled.last);
    s.framework.launches = sw::launch_costs::each(sw::nanoseconds(100'000));
    CHECK(predict(s).last > eager.last);
    CHECK(predict(s).starved > sw::nanoseconds());
    s = small(2);
    s.framework.loss = sw::training_loss::float32;
    CHECK(predict(s).last > compiled.last);
    CHECK(predict(s).peak > compiled.peak);
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

}  // namespace
}  // namespace predict_step_tests
