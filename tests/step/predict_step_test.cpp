#include <shardweave/core/error.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/step/predict_step.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstdint>
#include <stop_token>

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

  TEST_CASE("attention by its parts takes the scores of all pairs through memory") {
    sw::stated_step s = small(2);
    const sw::predicted_step fused = predict(s);
    s.framework.attention_by = sw::attention_form::plain;
    const sw::predicted_step plain = predict(s);
    const double scores = 4 * 8 * 1024. * 1024 * 2;  // bytes in 16 bits
    CHECK(ms(plain.last - fused.last) >
          2 * 6 * scores / 3.35e12 * 1e3);  // two layers, written and read thrice at least
    CHECK(static_cast<double>((plain.peak - fused.peak).count()) > scores);
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

  TEST_CASE("gradients that stay are whole where they are reduced once a step, and parts where ZeRO-2 scatters each") {
    // counted by hand: wq, wk, wv, wo, w1, w2, w3 and two norms in each of two layers, embedding, output, the last norm
    const std::int64_t whole = 2 * (4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024) + 2 * 32000 * 1024 + 1024;
    const sw::compute_profile compute = sw::find_preset("h100").compute();
    const auto adding = [&](std::int64_t elements) {  // two are read, one is written
      return sw::from_microseconds(compute.memory_time(sw::bytes(3 * 4 * elements)));
    };
    const auto stated = [](const char* layout) {
      sw::stated_step s = small(2);
      s.layout = sw::training_layout::parse(layout);
      s.micro_batch = 1;  // so little that not all communication hides
      s.micro_batches = 3;
      return s;
    };
    for (const char* layout : {"dp=8", "zero1=8"}) {
      const sw::predicted_step once = predict(stated(layout));
      CHECK(once.gradients.count() == 4 * whole);
      CHECK(once.optimizer.accumulation == adding(whole));
      CHECK(once.micro_batch < once.last);
    }
    for (const char* layout : {"zero2=8", "fsdp=8"}) {
      const sw::predicted_step each = predict(stated(layout));
      CHECK(each.gradients.count() == 4 * whole / 8);
      CHECK(each.optimizer.accumulation == adding(whole / 8));
      CHECK(each.micro_batch == each.last);
    }
    const sw::predicted_step one = predict(stated("zero1=8")), two = predict(stated("zero2=8"));
    CHECK(two.last == one.last);  // what is reduced with the last micro-batch is the same
    CHECK(two.peak == one.peak);
    CHECK(one.memory - two.memory == sw::bytes(4 * whole - 4 * whole / 8));
    // gathered after the step, in 16 bits
    const sw::any_collectives links = sw::nccl_smooth(sw::find_device("h100"));
    const auto gathering =
        sw::from_microseconds(links.estimate(sw::collective::all_gather, sw::bytes(2 * whole), {8, 1}).time_us);
    CHECK(one.optimizer.gathering == gathering);
    CHECK(two.optimizer.gathering == gathering);
    CHECK(predict(stated("fsdp=8")).optimizer.gathering == sw::nanoseconds());

    // what a framework does in another way: FSDP without a reduction of each, ZeRO-2 all the same
    sw::stated_step s = stated("fsdp=8");
    s.framework.reduces_each_micro_batch = false;
    CHECK(predict(s).gradients.count() == 4 * whole);
    s = stated("zero2=8");
    s.framework.reduces_each_micro_batch = false;
    CHECK(predict(s).gradients.count() == 4 * whole / 8);
    CHECK(predict(s).micro_batch == predict(s).last);
    s = stated("zero1=8");
    s.framework.reduces_each_micro_batch = true;
    CHECK(predict(s).gradients == two.gradients);
    // one buffer from step to step is of what is added up in it
    s = stated("zero1=8");
    s.micro_batches = 1;
    CHECK(predict(s).gradients == sw::bytes());
    s.framework.gradients_stay = true;
    CHECK(predict(s).gradients.count() == 4 * whole);
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

}  // namespace
}  // namespace predict_step_tests
