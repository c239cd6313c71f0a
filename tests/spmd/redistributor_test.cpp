#include "simulated_mesh.hpp"
#include "spmd/redistributors.hpp"
#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/redistributor.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace redistributor_tests {
namespace {

using namespace redistributors;
using namespace shardweave;
using shardweave_test::is_small_scale;

/// Second definition of the price of one change, straight from the table of the documentation.
double price(const tensor& x, const sharding& at, std::size_t d, dim_placement to, const device_mesh& mesh,
             const device_profile& device) {
  double local = static_cast<double>(element_size(x.type));
  std::vector<double> shape(x.shape.begin(), x.shape.end());
  for (std::size_t m = 0; m < mesh.rank(); ++m)
    if (at[m].is_sharded()) shape[at[m].dim()] = std::ceil(shape[at[m].dim()] / static_cast<double>(mesh.extent(m)));
  for (const double extent : shape) local *= extent;
  const auto copy = [&](double size) {
    return std::max(7.0, 2 * size / (3.35 * 1024 * 1024 * 1024 * 1024) * 1e6 / 0.7);
  };
  const auto run = [&](collective kind, double size) {
    return node_table<>(device)
        .estimate(kind, bytes(static_cast<std::int64_t>(size)), mesh.group_along(d, device.devices_per_node))
        .time_us;
  };
  const double n = static_cast<double>(mesh.extent(d));
  const dim_placement from = at[d];
  if (from.is_replicated()) return to.is_sharded() ? 0 : infinity;
  if (to.is_partial()) return infinity;
  if (from.is_partial() && to.is_replicated()) return run(collective::all_reduce, local);
  if (from.is_partial()) return run(collective::reduce_scatter, local) + (to.dim() != 0 ? copy(local) : 0);
  if (to.is_replicated()) return run(collective::all_gather, local * n) + (from.dim() != 0 ? copy(local * n) : 0);
  return run(collective::all_to_all, local) + (from.dim() != 0 ? copy(local) : 0) + (to.dim() != 0 ? copy(local) : 0);
}

/// The cheapest ways of at most `steps` changes from each of the layouts, which are all there are, to each: every
/// change is priced once, and ways grow by one change at the front.
std::vector<std::vector<double>> cheapest(const tensor& x, const std::vector<sharding>& layouts,
                                          const device_mesh& mesh, const device_profile& device, int steps) {
  const std::size_t n = layouts.size();
  std::vector<std::vector<double>> change(n, std::vector<double>(n, infinity)), best = change;
  for (std::size_t from = 0; from < n; ++from) {
    best[from][from] = 0;
    for (std::size_t d = 0; d < mesh.rank(); ++d)
      for (std::size_t k = 0; k <= x.rank(); ++k) {
        const sharding& at = layouts[from];
        const dim_placement p = k == x.rank() ? dim_placement() : dim_placement::shard(k);
        const auto to = std::ranges::find(layouts, at.with(d, p));
        if (p == at[d] || to == layouts.end()) continue;
        // exact for the nesting in mesh order: nothing cuts inside of what is changed
        bool inside = false;
        for (std::size_t later = d + 1; later < mesh.rank(); ++later)
          inside = inside || (at[later].is_sharded() && (at[later] == at[d] || at[later] == p));
        if (!inside) change[from][static_cast<std::size_t>(to - layouts.begin())] = price(x, at, d, p, mesh, device);
      }
  }
  while (steps-- > 0) {
    const auto shorter = best;
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t next = 0; next < n; ++next)
        if (change[from][next] < infinity)
          for (std::size_t to = 0; to < n; ++to)
            if (to != from) best[from][to] = std::min(best[from][to], change[from][next] + shorter[next][to]);
  }
  return best;
}

}  // namespace

TEST_SUITE("redistributor") {
  TEST_CASE("a plan in strict nesting turns every layout into the one asked for, exactly") {
    random_source random(3);
    for (const char* text : {"2", "3", "2x2", "2x3", "2x2x2", "2x2x2x2"}) {
      if (is_small_scale && std::string_view(text).starts_with("2x2")) continue;
      const device_mesh mesh = device_mesh::parse(text);
      auto plans = h100(text, {.strict_nesting = true});
      const tensor x{mesh.rank() == 4   ? std::vector<std::int64_t>{16, 9}
                     : mesh.rank() == 3 ? std::vector<std::int64_t>{8, 9}
                                        : std::vector<std::int64_t>{6, 7, 4}};
      interpreter::array whole = interpreter::zeros(x.shape);
      for (auto& e : whole.data) e = random.unit();
      std::vector<sharding> layouts = all_shardings(x, mesh);
      if (mesh.rank() == 4) {  // of some two hundred, twelve
        for (std::size_t i = 0; i < 12; ++i) std::swap(layouts[i], layouts[i + random.below(layouts.size() - i)]);
        layouts.resize(12);
      }
      for (const sharding& from : layouts)
        for (const sharding& to : layouts) {
          const redistribution plan = plans.plan(x, from, to);
          CAPTURE(from.to_string());
          CAPTURE(to.to_string());
          bool makes_partial = false;
          for (std::size_t d = 0; d < mesh.rank(); ++d)
            makes_partial = makes_partial || (to[d].is_partial() && !from[d].is_partial());
          CHECK((plan.cost_us == infinity) == makes_partial);
          CHECK(plans.cost(x, from, to) == plan.cost_us);
          if (makes_partial) {
            CHECK(plan.steps.empty());
            continue;
          }
          simulated::pieces held = simulated::distribute(whole, from, mesh, random);
          double sum = 0;
          for (const redistribution_step& step : plan.steps) {
            CHECK(static_cast<std::int64_t>(held[0].data.size()) * 4 == step.before.count());
            simulated::carry_out(step, held, mesh);
            CHECK(static_cast<std::int64_t>(held[0].data.size()) * 4 == step.after.count());
            sum += step.cost_us;
          }
          CHECK(sum == doctest::Approx(plan.cost_us));
          const auto together = simulated::collect(held, to, mesh);
          REQUIRE(together.has_value());
          CHECK(simulated::close(*together, whole));
          if (!to.has_partial()) {
            const simulated::pieces expected = simulated::distribute(whole, to, mesh, random);
            for (std::size_t rank = 0; rank < held.size(); ++rank) CHECK(simulated::close(held[rank], expected[rank]));
          }
        }
    }
  }

  TEST_CASE("otherwise some order of the nested cuts makes every plan exact") {
    random_source random(5);
    for (const char* text : {"2x2", "2x3", "2x2x2"}) {
      if (is_small_scale && std::string_view(text) != "2x2") continue;
      const device_mesh mesh = device_mesh::parse(text);
      auto plans = h100(text);
      const tensor x{mesh.rank() == 3 ? std::vector<std::int64_t>{8, 9}
                     : is_small_scale ? std::vector<std::int64_t>{4, 6, 2}
                                      : std::vector<std::int64_t>{12, 6, 4}};
      interpreter::array whole = interpreter::zeros(x.shape);
      for (auto& e : whole.data) e = random.unit();
      for (const sharding& from : all_shardings(x, mesh))
        for (const sharding& to : all_shardings(x, mesh)) {
          const redistribution plan = plans.plan(x, from, to);
          if (plan.cost_us == infinity || to.has_partial()) continue;
          CAPTURE(from.to_string());
          CAPTURE(to.to_string());
          bool exact = false;
          auto first = simulated::mesh_order(mesh);
          do {
            simulated::pieces held = simulated::distribute(whole, from, mesh, random, first);
            for (const redistribution_step& step : plan.steps) simulated::carry_out(step, held, mesh);
            auto last = simulated::mesh_order(mesh);
            do {
              const simulated::pieces expected = simulated::distribute(whole, to, mesh, random, last);
              bool equal = true;
              for (std::size_t rank = 0; equal && rank < held.size(); ++rank)
                equal = simulated::close(held[rank], expected[rank]);
              exact = exact || equal;
            } while (!exact && std::next_permutation(last.begin(), last.end()));
          } while (!exact && std::next_permutation(first.begin(), first.end()));
          CHECK(exact);
        }
    }
  }

  TEST_CASE("no way of up to six steps is cheaper") {
    const device_profile device = find_device("h100");
    for (const tensor& x : {tensor{{16, 24}, dtype::bf16}, tensor{{1 << 12, 1 << 14}, dtype::bf16}}) {
      if (is_small_scale && x.shape[0] == 16) continue;
      for (const char* text : {"8", "4x2", "2x4"}) {
        if (is_small_scale && std::string_view(text) == "2x4") continue;
        const device_mesh mesh = device_mesh::parse(text);
        auto plans = h100(text, {.strict_nesting = true});
        const std::vector<sharding> layouts = all_shardings(x, mesh);
        const auto best = cheapest(x, layouts, mesh, device, 6);
        for (std::size_t from = 0; from < layouts.size(); ++from)
          for (std::size_t to = 0; to < layouts.size(); ++to) {
            CAPTURE(text);
            CAPTURE(layouts[from].to_string());
            CAPTURE(layouts[to].to_string());
            if (best[from][to] == infinity)
              CHECK(plans.cost(x, layouts[from], layouts[to]) == infinity);
            else
              CHECK(plans.cost(x, layouts[from], layouts[to]) == doctest::Approx(best[from][to]).epsilon(1e-12));
          }
      }
    }
  }

  TEST_CASE("costs on links inside a node are the published ones") {
    const tensor x{{16, 8192, 4096}, dtype::bf16};
    const tensor w{{14336, 4096}, dtype::bf16};
    auto mesh = h100("8x8");
    const auto cost = [](auto& plans, const tensor& t, const char* from, const char* to) {
      return plans.cost(t, spec(from), spec(to));
    };
    const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-6); };
    CHECK(cost(mesh, x, "RS(0)", "RR") == near(2755.2331));
    for (const auto& [from, to] :
         {std::pair{"S(0)S(2)", "S(0)R"}, {"S(0)S(1)", "S(0)R"}, {"S(0)P", "S(0)S(1)"}, {"S(0)P", "S(0)S(2)"}})
      CHECK(cost(mesh, x, from, to) == near(474.7653));
    CHECK(cost(mesh, x, "S(0)S(2)", "S(0)S(1)") == near(120.1784));
    CHECK(cost(mesh, x, "S(0)S(1)", "S(0)S(2)") == near(120.1784));
    CHECK(cost(mesh, x, "S(0)P", "S(0)R") == near(533.6881));
    CHECK(cost(mesh, x, "S(0)R", "S(0)P") == infinity);
    for (const auto& [from, to] : {std::pair{"RR", "S(0)S(1)"}, {"S(0)R", "S(0)S(1)"}, {"RR", "RR"}})
      CHECK(cost(mesh, x, from, to) == 0);
    CHECK(cost(mesh, w, "RS(0)", "S(0)S(0)") == 0);

    auto node = h100("8");
    CHECK(cost(node, x, "S(0)", "R") == near(2755.2331));
    CHECK(cost(node, x, "P", "S(0)") == near(2755.2331));
    CHECK(cost(node, x, "S(0)", "S(1)") == near(507.3157));
    CHECK(cost(node, x, "S(1)", "S(2)") == near(611.4268));
    CHECK(cost(node, x, "P", "R") == near(4052.5050));

    // in one step 3588.1222; moving the cut to the first dimension before gathering saves copying the whole
    const device_mesh eight = device_mesh::parse("8");
    const std::vector<sharding> layouts = all_shardings(x, eight);
    const auto in_one_step = cheapest(x, layouts, eight, find_device("h100"), 1);
    const auto at = [&](const char* text) {
      return static_cast<std::size_t>(std::ranges::find(layouts, spec(text)) - layouts.begin());
    };
    CHECK(in_one_step.at(at("S(1)")).at(at("R")) == near(3588.1222));
    CHECK(in_one_step.at(at("P")).at(at("S(1)")) == near(3588.1222));
    CHECK(cost(node, x, "S(1)", "R") == near(507.3157 + 2755.2331));
    CHECK(cost(node, x, "P", "S(1)") == near(2755.2331 + 507.3157));
  }

  TEST_CASE("one step per mesh dimension reproduces AutoParallel's published costs on 8 nodes") {
    const device_profile device = find_device("h100");
    const tensor x{{16, 8192, 4096}, dtype::bf16};
    const tensor y{{1024, 128, 4096}, dtype::bf16};  // as large, and may be cut in 64 along its first dimension
    const tensor w{{14336, 4096}, dtype::bf16};
    const auto costs = [&](const char* mesh, bool search) {
      return redistributor(device_mesh::parse(mesh), roofline{device}, autoparallel_formula(device),
                           {.search = search});
    };
    struct anchor {
      const tensor& value;
      const char* ways;  ///< "from>to", all at this cost
      double cost;
    };
    auto fixed = costs("8x8", false);
    auto searched = costs("8x8", true);
    for (const anchor& a :
         std::vector<anchor>{{x, "S(0)R>RR", 19664.5389},
                             {x, "RS(0)>RR", 2755.2331},
                             {x, "S(0)S(2)>S(0)R S(0)S(1)>S(0)R S(0)P>S(0)S(1) S(0)P>S(0)S(2)", 474.7653},
                             {x, "S(0)S(2)>S(0)S(1) S(0)S(1)>S(0)S(2)", 120.1784},
                             {x, "S(0)P>S(0)R", 533.6881},
                             {y, "S(0)P>S(0)S(0)", 370.6541},
                             {y, "PP>S(0)S(0) S(0)S(0)>RR", 5306.4004},
                             {x, "PP>S(0)S(2)", 6139.2895},
                             {x, "PP>RR", 42002.2298},
                             {y, "S(0)S(0)>RS(0)", 2551.1674},
                             {x, "S(0)R>S(1)R", 2649.6246},
                             {x, "S(2)P>S(0)S(1)", 3124.3899},
                             {y, "RS(0)>S(0)S(0) RR>S(0)S(1) S(0)R>S(0)S(1)", 0},
                             {x, "S(0)R>S(0)P RR>RP", infinity},
                             {w, "S(0)S(0)>RS(0) S(0)S(1)>RS(1) PS(0)>S(0)S(0) PS(1)>S(0)S(1)", 364.1943},
                             {w, "S(0)S(0)>RR PP>S(0)S(0)", 692.2667},
                             {w, "S(0)R>RR", 2245.5714},
                             {w, "PR>RR", 5023.8224},
                             {w, "PS(0)>RS(0)", 991.7717}}) {
      std::istringstream words(a.ways);
      for (std::string word; words >> word;) {
        CAPTURE(word);
        const sharding from = spec(word.substr(0, word.find('>')));
        const sharding to = spec(word.substr(word.find('>') + 1));
        const double found = fixed.cost(a.value, from, to);
        if (a.cost == infinity)
          CHECK(found == infinity);
        else
          CHECK(found == doctest::Approx(a.cost).epsilon(1e-6));
        CHECK(fixed.plan(a.value, from, to).cost_us == found);
        CHECK(searched.cost(a.value, from, to) <= found);
      }
    }
    tensor strided = x;
    strided.contiguous = false;
    CHECK(fixed.cost(strided, spec("S(0)R"), spec("RR")) == doctest::Approx(19768.6500).epsilon(2e-7));

    auto node = costs("8", false);
    for (const auto& [from, to, cost] : {std::tuple{"S(0)", "R", 2755.2331},
                                         {"P", "S(0)", 2755.2331},
                                         {"S(1)", "R", 3588.1222},
                                         {"P", "S(1)", 3588.1222},
                                         {"S(0)", "S(1)", 507.3157},
                                         {"S(1)", "S(2)", 611.4268},
                                         {"P", "R", 4052.5050}})
      CHECK(node.cost(x, spec(from), spec(to)) == doctest::Approx(cost).epsilon(2e-7));
  }

  TEST_CASE("uneven pieces travel padded to the largest") {
    auto plans = h100("8");
    const tensor uneven{{10, 64}};  // pieces of 2 rows, on 8 devices as good as 16 rows
    const tensor even{{16, 64}};
    CHECK(plans.cost(uneven, spec("S(0)"), spec("R")) == plans.cost(even, spec("S(0)"), spec("R")));
    const redistribution plan = plans.plan(uneven, spec("S(0)"), spec("R"));
    REQUIRE(plan.steps.size() == 1);
    CHECK(plan.steps[0].before == bytes(2 * 64 * 4));
    CHECK(plan.steps[0].after == bytes(10 * 64 * 4));
  }

  TEST_CASE("every kind of partial result is put together at one price, and stays what it is on the way") {
    auto plans = h100("2x4");
    const tensor x{{64, 64}};
    for (const char* kind : {"P", "P(avg)", "P(max)", "P(min)", "P(mask)"}) {
      const std::string two = std::string(kind) + kind;
      CHECK(plans.cost(x, spec(two), spec("RR")) == plans.cost(x, spec("PP"), spec("RR")));
      CHECK(plans.cost(x, spec(two), spec("S(0)" + std::string(kind))) == plans.cost(x, spec("PP"), spec("S(0)P")));
      for (const char* other : {"P", "P(avg)", "P(max)", "P(min)", "P(mask)"})
        if (std::string(other) != kind)
          CHECK(plans.cost(x, spec(std::string(kind) + "R"), spec(std::string(other) + "R")) == infinity);
      for (const redistribution_step& step : plans.plan(x, spec(two), spec("RS(1)")).steps)
        if (step.from.is_partial()) CHECK(step.from == spec(two)[0]);
    }
  }

  TEST_CASE("a slice makes what follows smaller") {
    auto plans = h100("2x4");
    const tensor x{{4096, 4096}, dtype::f32};
    const redistribution plan = plans.plan(x, spec("S(0)R"), spec("RS(1)"));
    REQUIRE(plan.steps.size() == 2);
    CHECK_FALSE(plan.steps[0].op.has_value());
    CHECK(plan.steps[0].mesh_dim == 1);
    CHECK(plan.steps[1].op == collective::all_gather);
    CHECK(plan.steps[1].before == bytes(4096 * 4096 * 4 / 8));
    CHECK(plan.steps[1].after == bytes(4096 * 4096 * 4 / 4));
    CHECK(plan.steps[1].from == dim_placement::shard(0));
  }

  TEST_CASE("an undone cut keeps the kind of partial result of the rest") {
    auto plans = h100("2x4");
    const redistribution plan = plans.plan({{64, 64}}, spec("P(max)S(0)"), spec("P(max)R"));
    REQUIRE(plan.steps.size() == 1);
    CHECK(plan.steps[0].op == collective::all_gather);
    const redistribution reduce = plans.plan({{64, 64}}, spec("P(max)S(0)"), spec("RS(0)"));
    REQUIRE(reduce.steps.size() == 1);
    CHECK(reduce.steps[0].from == dim_placement::partial(partial_kind::max));
    CHECK(plans.cost(tensor{{64, 64}}, spec("P(max)S(0)"), spec("PS(0)")) == infinity);
  }

  TEST_CASE("a tensor that is not contiguous is copied before its first collective only") {
    auto plans = h100("8x8");
    const tensor x{{16, 8192, 4096}, dtype::bf16};
    tensor strided = x;
    strided.contiguous = false;
    const double copy = plans.compute().memory_time(bytes(2 * (std::int64_t{1} << 27)));
    CHECK(plans.cost(strided, spec("RS(0)"), spec("RR")) ==
          doctest::Approx(plans.cost(x, spec("RS(0)"), spec("RR")) + copy));
    CHECK(plans.cost(strided, spec("RR"), spec("RS(0)")) == 0);
  }

  TEST_CASE("a mesh dimension of one device costs nothing") {
    auto plans = h100("1x8");
    const tensor x{{64, 64}};
    CHECK(plans.cost(x, spec("S(1)R"), spec("RR")) == 0);
    CHECK(plans.cost(x, spec("PR"), spec("S(1)R")) == 0);
  }

  TEST_CASE("going along ways to many meets the steps of each, those that they share once") {
    for (const bool searched : {true, false}) {
      auto plans = h100("2x4", {.search = searched});
      const tensor x{{16, 16, 16}, dtype::bf16, false};
      const std::vector<sharding> all = all_shardings(x, plans.mesh());
      const std::uint32_t value = plans.value_number(x);
      std::size_t numbers = 0;
      for (const char* partial : {"P(max)R", "P(max)S(1)", "P(max)P(max)"})
        for (const sharding& from : {spec(partial), all[3], all[7], all.back()}) {
          std::size_t asked = 0;
          using steps = std::vector<redistribution_step>;
          const auto met = plans.along_ways(value, from, all, steps{}, [&](steps so_far, std::uint32_t step) {
            ++asked;
            numbers = std::max<std::size_t>(numbers, step + 1);
            so_far.push_back(plans.step(value, step));
            return so_far;
          });
          REQUIRE(met.size() == all.size());
          std::size_t together = 0;
          for (std::size_t i = 0; i < all.size(); ++i) {
            const redistribution plan = plans.plan(x, from, all[i]);
            CAPTURE(from.to_string());
            CAPTURE(all[i].to_string());
            REQUIRE(met[i].has_value() == std::isfinite(plan.cost_us));
            if (!met[i]) continue;
            REQUIRE(met[i]->size() == plan.steps.size());
            together += plan.steps.size();
            for (std::size_t k = 0; k < plan.steps.size(); ++k) {
              const redistribution_step &a = (*met[i])[k], &b = plan.steps[k];
              CHECK((a.op == b.op && a.mesh_dim == b.mesh_dim && a.from == b.from && a.to == b.to));
              CHECK((a.before == b.before && a.after == b.after && a.cost_us == b.cost_us));
            }
          }
          if (searched) CHECK(asked < together);
        }
      CHECK(numbers > 0);
      if (searched) CHECK(numbers < 200);  // a step that is met again has the number that it had
    }
  }

  TEST_CASE("a reshard of anything that needs a collective is never free") {
    auto plans = h100("2x4");
    const tensor x{{16, 16, 16}};
    for (const sharding& from : all_shardings(x, plans.mesh()))
      for (const sharding& to : all_shardings(x, plans.mesh())) {
        bool only_slices = true;
        for (std::size_t d = 0; d < 2; ++d) only_slices = only_slices && (from[d] == to[d] || from[d].is_replicated());
        CAPTURE(from.to_string());
        CAPTURE(to.to_string());
        if (!only_slices) CHECK(plans.cost(x, from, to) > 0);
      }
  }
}

}  // namespace redistributor_tests
