#include "step/small_step.hpp"
#include <shardweave/step/stated_step.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace sw = shardweave;

namespace stated_step_tests {
namespace {
using namespace small_step;
}  // namespace

TEST_SUITE("stated_step") {
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
}

}  // namespace stated_step_tests
