#include <shardweave/core/phase.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/step/detail/peaks_of_parts.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace peaks_of_parts_tests {
namespace {

sw::schedule in_order(const sw::task_graph& g) {
  sw::schedule s;
  s.order.resize(g.size());
  std::iota(s.order.begin(), s.order.end(), sw::task_index{0});
  return s;
}

/// Three layers: each gives a value of so many bytes, which the next one and its backward part read; the backward part
/// of a layer makes a gradient of the input, which the one before it reads, and one of the parameters, which stays.
struct layered {
  sw::task_graph tasks;
  std::vector<std::uint32_t> layer;
};
layered three_layers(const std::vector<std::int64_t>& values, std::int64_t gradient, std::int64_t of_parameters) {
  sw::task_graph_builder b;
  layered all;
  const auto add = [&](const std::string& name, sw::phase when, std::uint32_t layer, std::vector<sw::task_index> inputs,
                       std::vector<std::int64_t> sizes, sw::task_role role = sw::task_role::none) {
    sw::task_record t{.name = name, .op = "mm", .kind = sw::task_kind::compute, .inputs = std::move(inputs)};
    t.when = when;
    t.role = role;
    for (const std::int64_t size : sizes)
      t.outputs.push_back(sw::output_record{sw::bytes(size), b.add_storage(sw::bytes(size)), "u8", {size}});
    all.layer.push_back(layer);
    return b.add_task(t);
  };
  std::vector<sw::task_index> forward, gradients;
  for (std::uint32_t l = 0; l < 3; ++l)
    forward.push_back(add("f", sw::phase::forward, l,
                          l == 0 ? std::vector<sw::task_index>() : std::vector{forward.back()}, {values[l]}));
  sw::task_index last = sw::no_index;
  for (std::uint32_t l = 3; l-- > 0;) {
    std::vector<sw::task_index> inputs{forward[l]};
    if (last != sw::no_index) inputs.push_back(last);
    gradients.push_back(add("w", sw::phase::backward, l, inputs, {of_parameters}, sw::task_role::gradient));
    last = add("b", sw::phase::backward, l, inputs, {gradient});
  }
  sw::task_record out{.name = "output", .op = "output", .kind = sw::task_kind::output, .inputs = gradients};
  all.layer.push_back(sw::no_index);
  b.add_task(out);
  all.tasks = std::move(b).build();
  return all;
}
}  // namespace

TEST_SUITE("peaks_of_parts") {
  TEST_CASE("the larger of both parts is the peak of the whole, whatever the layers and the period") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(60); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 12});
      sw::random_source random(seed);
      const auto layers = static_cast<std::uint32_t>(1 + random.below(6));
      std::vector<std::uint32_t> layer;
      for (sw::task_index t = 0; t < g.size(); ++t)
        layer.push_back(random.chance(0.1) ? sw::no_index : static_cast<std::uint32_t>(random.below(layers)));
      const auto peak = static_cast<double>(sw::simulate(g).peak.count());
      for (std::uint32_t period = 1; period <= layers; ++period) {
        const auto found = sw::detail::peaks_of(g, in_order(g), layer, layers, period, false);
        CHECK(std::max(found.early, found.late) == peak);
      }
    }
  }

  TEST_CASE(
      "one part ends where the first layers begin their backward part, the other begins where the last have ended it") {
    const layered some = three_layers({100, 40, 10}, 7, 1000);
    const auto peaks = [&](std::uint32_t period, bool stay) {
      return sw::detail::peaks_of(some.tasks, in_order(some.tasks), some.layer, 3, period, stay);
    };
    // the last layer holds all values and one gradient, the one before it two values and two gradients, the first its
    // own value and two; each leaves a gradient of parameters, which count unless they stay anyway
    CHECK(peaks(1, true).early == 100 + 40 + 10 + 7);
    CHECK(peaks(1, true).late == 100 + 40 + 7 + 7);
    CHECK(peaks(1, false).early == 100 + 40 + 7 + 7 + 2 * 1000);
    CHECK(peaks(1, false).late == 100 + 7 + 7 + 3 * 1000);
    // with all layers alike the two are one
    CHECK(peaks(3, true).early == peaks(3, true).late);
    CHECK(peaks(3, true).early == 100 + 40 + 10 + 7);
    CHECK(peaks(3, false).early == 100 + 3 * 1000 + 7 + 7);
  }
}

}  // namespace peaks_of_parts_tests
