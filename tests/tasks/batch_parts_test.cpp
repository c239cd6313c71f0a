#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/batch_parts.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace batch_parts_tests {

namespace sw = shardweave;

using tasks = std::vector<char>;
using value = std::uint64_t;

constexpr value prime = (value{1} << 31U) - 1;

value mixed(value a, value b) {
  value x = a * 0x9e3779b97f4a7c15ULL + b;
  x ^= x >> 29U;
  x *= 0xbf58476d1ce4e5b9ULL;
  return (x ^ (x >> 32U)) % prime;
}

/// What each task gives, in numbers below a prime: what is additive multiplies the sum of what it is given of the batch
/// by a number that is its own and that of its other arguments; a wait gives what its collective gave; all else mixes
/// its arguments so that nothing else gives the same.
struct values_of {
  const sw::task_graph& g;
  const tasks& additive;
  const std::vector<bool>& of_batch;  ///< by task: whether it needs something of the batch

  [[nodiscard]] value operator()(sw::task_index t, const std::vector<value>& arguments) const {
    value number = mixed(17, t), sum = 0;
    for (std::size_t a = 0; a < arguments.size(); ++a)
      if (additive[t] != 0 && of_batch[g.inputs(t)[a]])
        sum = (sum + arguments[a]) % prime;
      else
        number = mixed(number, arguments[a]);
    return additive[t] != 0 && of_batch[t] ? sum * (number % prime) % prime : number;
  }
};

/// A random graph whose tasks have random roles, and what of it is of the batch and additive.
struct drawn {
  sw::task_graph g;
  tasks input_of_batch, additive;
  std::vector<bool> of_batch;

  explicit drawn(std::uint64_t seed) : g(random_tasks(seed, {.blocks = 16})) {
    sw::random_source random(seed + 77);
    input_of_batch.resize(g.size());
    additive.resize(g.size());
    of_batch.resize(g.size());
    std::vector<sw::task_tags> tags;
    for (sw::task_index t = 0; t < g.size(); ++t) {
      tags.push_back(g.tags(t));
      const sw::task_index c = g.completes(t);
      if (g.kind(t) == sw::task_kind::input) {
        of_batch[t] = random.chance(0.5);
        input_of_batch[t] = of_batch[t] ? 1 : 0;
      } else if (g.kind(t) != sw::task_kind::output) {
        additive[t] = random.chance(0.7) ? 1 : 0;
        tags[t].role = random.chance(0.7) ? sw::task_role::gradient : sw::task_role::activation;
        if (c != sw::no_index) {
          additive[t] = additive[c];
          tags[t].role = tags[c].role;
        }
      }
      for (const sw::task_index p : g.inputs(t)) of_batch[t] = of_batch[t] || of_batch[p];
    }
    g = g.with_tags(tags);
  }
};

sw::nanoseconds sum_time(sw::bytes size) { return sw::nanoseconds(3 * size.count()); }

TEST_SUITE("batch parts") {
  TEST_CASE("a batch in parts returns what each part gives, and of gradients their sum") {
    std::size_t summed = 0, late = 0, shared = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CAPTURE(seed);
      const drawn d(seed);
      const unsigned parts = 2 + static_cast<unsigned>(seed % 3);
      const auto use = sw::uses_of_parts(d.g, d.input_of_batch, d.additive);
      const auto made = sw::with_batch_parts(d.g, use, parts, sum_time);
      const values_of value_of{d.g, d.additive, d.of_batch};

      // each part by itself
      std::vector<std::vector<value>> of_part(parts, std::vector<value>(d.g.size()));
      for (unsigned i = 0; i < parts; ++i)
        for (sw::task_index t = 0; t < d.g.size(); ++t) {
          std::vector<value> arguments;
          for (const sw::task_index p : d.g.inputs(t)) arguments.push_back(of_part[i][p]);
          if (d.input_of_batch[t] != 0) arguments.push_back(i);  // another value in each part
          of_part[i][t] = d.input_of_batch[t] != 0 ? mixed(mixed(17, t), i) : value_of(t, arguments);
        }

      // all of them as one graph
      std::vector<value> now(made.tasks.size());
      std::vector<unsigned> part_of(made.tasks.size());
      for (unsigned i = 0; i < parts; ++i)
        for (sw::task_index t = 0; t < d.g.size(); ++t) part_of[made.copies[i][t]] = i;
      for (sw::task_index t = 0; t < made.tasks.size(); ++t) {
        const sw::task_index from = made.original[t];
        for (const sw::task_index p : made.tasks.inputs(t)) REQUIRE(p < t);
        std::vector<value> arguments;
        for (const sw::task_index p : made.tasks.inputs(t)) arguments.push_back(now[p]);
        if (std::ranges::binary_search(made.sums, t)) {
          REQUIRE(arguments.size() == 2);
          now[t] = (arguments[0] + arguments[1]) % prime;
        } else if (d.input_of_batch[from] != 0) {
          now[t] = mixed(mixed(17, from), part_of[t]);
        } else if (made.tasks.kind(t) != sw::task_kind::output) {
          REQUIRE(arguments.size() == d.g.inputs(from).size());
          now[t] = value_of(from, arguments);
        }
      }

      // what is returned
      for (sw::task_index t = 0; t < d.g.size(); ++t) {
        summed += use[t] == sw::part_use::of_part && now[made.copies[0][t]] == of_part[0][t] ? 1U : 0U;
        late += use[t] == sw::part_use::of_sum ? 1U : 0U;
        shared += use[t] == sw::part_use::shared ? 1U : 0U;
        if (d.g.kind(t) != sw::task_kind::output) continue;
        std::vector<value> expected, found;
        for (const sw::task_index p : d.g.inputs(t)) {
          if (!d.of_batch[p]) {
            expected.push_back(of_part[0][p]);
          } else if (d.g.role(p) == sw::task_role::gradient) {
            value sum = 0;
            for (unsigned i = 0; i < parts; ++i) sum = (sum + of_part[i][p]) % prime;
            expected.push_back(sum);
          } else {
            for (unsigned i = 0; i < parts; ++i) expected.push_back(of_part[i][p]);
          }
        }
        for (const sw::task_index p : made.tasks.inputs(made.copies[0][t])) found.push_back(now[p]);
        CHECK(found == expected);
      }
    }
    CHECK(summed > 1000);
    CHECK(late > 200);
    CHECK(shared > 200);
  }

  TEST_CASE("of random graphs: work is that of all parts, sums added; storages are apart; no order beats the bound") {
    std::size_t sums = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      CAPTURE(seed);
      const drawn d(seed);
      const unsigned parts = 2 + static_cast<unsigned>(seed % 2);
      const auto use = sw::uses_of_parts(d.g, d.input_of_batch, d.additive);
      const auto made = sw::with_batch_parts(d.g, use, parts, sum_time);
      std::map<std::string, std::int64_t> expected, found;
      const auto channel = [](const sw::task_graph& g, sw::task_index t) {
        return g.is_collective(t) ? std::to_string(g.collective(t).group) : std::string("compute");
      };
      std::int64_t inputs = 0;
      for (sw::task_index t = 0; t < d.g.size(); ++t) {
        const bool is_of_part = use[t] == sw::part_use::of_part;
        CHECK(is_of_part == (made.copies[0][t] != made.copies[1][t]));
        if (d.g.kind(t) != sw::task_kind::output) CHECK((use[t] == sw::part_use::shared) != d.of_batch[t]);
        expected[channel(d.g, t)] += d.g.duration(t).count() * (is_of_part ? parts : 1);
        if (d.g.completes(t) != sw::no_index) {
          CHECK(use[t] == use[d.g.completes(t)]);
          for (unsigned i = 0; i < parts; ++i)
            CHECK(made.tasks.completes(made.copies[i][t]) == made.copies[i][d.g.completes(t)]);
        }
        if (d.input_of_batch[t] == 0) continue;
        for (std::size_t i = 0; i < d.g.output_count(t); ++i)
          if (d.g.storages()[d.g.output_storage(t, i)].device == sw::storage_device::gpu)
            inputs += d.g.output(t, i).size.count();
      }
      for (sw::task_index t = 0; t < made.tasks.size(); ++t) {
        if (!std::ranges::binary_search(made.sums, t)) {
          found[channel(made.tasks, t)] += made.tasks.duration(t).count();
          continue;
        }
        ++sums;
        std::int64_t size = 0;
        for (std::size_t i = 0; i < made.tasks.output_count(t); ++i) size += made.tasks.output(t, i).size.count();
        CHECK(made.tasks.duration(t).count() == 3 * size);
      }
      CHECK(found == expected);
      CHECK(made.tasks.memory_baseline().count() == d.g.memory_baseline().count() + inputs * (parts - 1));
      // what two parts give lies in two places
      for (sw::task_index t = 0; t < d.g.size(); ++t)
        if (use[t] == sw::part_use::of_part && d.g.kind(t) != sw::task_kind::view)
          for (std::size_t i = 0; i < d.g.output_count(t); ++i)
            CHECK(made.tasks.output_storage(made.copies[0][t], i) != made.tasks.output_storage(made.copies[1][t], i));
      for (const sw::schedule& order : {sw::in_order{}(made.tasks, {}), sw::prefetch{}(made.tasks, {})}) {
        sw::validate_schedule(made.tasks, order);
        CHECK(sw::simulate(made.tasks, order).end_to_end >= sw::makespan_bound(made.tasks).value());
      }
    }
    CHECK(sums > 50);
  }

  /// x -> p -> c, w -> q -> output: a product, a collective that nothing else of the part hides, a product.
  TEST_CASE("two parts hide each other's collective, in the order in which they stand already") {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .name = "tp", .size = 2});
    const auto add = [&](const char* name, sw::task_kind kind, std::int64_t time, std::vector<sw::task_index> inputs) {
      sw::task_record t{.name = name, .op = name, .kind = kind, .duration = sw::nanoseconds(time)};
      t.inputs = std::move(inputs);
      t.outputs = {{sw::bytes(7), b.add_storage(sw::bytes(7)), "f32", {}}};
      if (kind == sw::task_kind::collective)
        t.collective = sw::collective_record{
            .op = sw::collective::all_reduce, .group = 0, .bytes_in = sw::bytes(7), .bytes_out = sw::bytes(7)};
      if (kind == sw::task_kind::wait) t.completes = t.inputs.front();
      return b.add_task(t);
    };
    const auto x = add("x", sw::task_kind::input, 0, {});
    const auto p = add("p", sw::task_kind::compute, 10, {x});
    const auto c = add("c", sw::task_kind::collective, 10, {p});
    const auto w = add("w", sw::task_kind::wait, 0, {c});
    const auto q = add("q", sw::task_kind::compute, 10, {w});
    add("out", sw::task_kind::output, 0, {q});
    const sw::task_graph g = std::move(b).build();
    tasks of_batch(g.size());
    of_batch[x] = 1;
    const auto made = sw::with_batch_parts(g, sw::uses_of_parts(g, of_batch, tasks(g.size())), 2, sum_time);
    CHECK(sw::simulate(g).end_to_end.count() == 30);
    CHECK(sw::simulate(made.tasks, sw::exact{}(made.tasks, {})).end_to_end.count() == 40);
    CHECK(sw::simulate(made.tasks, sw::in_order{}(made.tasks, {})).end_to_end.count() == 40);
    CHECK(made.tasks.name_of(made.copies[1][p]) == "p.part2");
  }

  TEST_CASE("what makes no sense is refused") {
    const drawn d(3);
    auto use = sw::uses_of_parts(d.g, d.input_of_batch, d.additive);
    const auto in = [&](unsigned parts) { return sw::with_batch_parts(d.g, use, parts, sum_time); };
    CHECK_THROWS_WITH_AS(static_cast<void>(in(1)), "batch parts: a batch is done in 1, expected 2 or more", sw::error);
    CHECK_THROWS_AS(static_cast<void>(sw::uses_of_parts(d.g, tasks(2), d.additive)), sw::error);
    for (sw::task_index t = 0; t < d.g.size(); ++t)
      if (d.g.completes(t) != sw::no_index && use[t] == sw::part_use::of_part) {
        use[t] = sw::part_use::of_sum;
        CHECK_THROWS_AS(static_cast<void>(in(2)), sw::error);
        break;
      }
    use.resize(1);
    CHECK_THROWS_AS(static_cast<void>(in(2)), sw::error);
  }

  TEST_CASE("a collective whose wait is of a part is, too") {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .size = 4});
    b.add_task({.name = "x", .op = "input", .kind = sw::task_kind::input});
    b.add_task(small_tasks::gather("c", 10, {}, 10));
    b.add_task(small_tasks::work("user", 5, {1}));
    sw::task_record w = small_tasks::wait_for("w", 1);
    w.inputs.push_back(0);
    b.add_task(w);
    const sw::task_graph g = std::move(b).build();
    const std::vector<char> of_batch{1, 0, 0, 0}, additive(4);
    const auto use = sw::uses_of_parts(g, of_batch, additive);
    CHECK(use == std::vector<sw::part_use>(4, sw::part_use::of_part));
    CHECK_NOTHROW((void)sw::with_batch_parts(g, use, 2, [](sw::bytes) { return sw::nanoseconds(1); }));
  }
}

}  // namespace batch_parts_tests
