#include "support/shared_data.hpp"
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/overlap/eligibility.hpp>
#include <shardweave/overlap/forms.hpp>
#include <shardweave/overlap/prices.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/overlap/savings_tracker.hpp>
#include <shardweave/overlap/window.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace extracted_tests {
namespace {

namespace sw = shardweave;

/// A real problem and what the scans say of it.
struct extracted {
  sw::placement_description<double> stated;
  sw::compressed_graph graph;
  std::vector<sw::hiding> listed;         ///< what the file says, by edge
  std::vector<bool> derived;              ///< from parameters
  std::set<std::uint32_t> outputs;        ///< plain outputs, no gradients
  std::vector<double> compute, transfer;  ///< of the reference, by vertex and edge
};

/// Under sanitizers only one of each kind, and none that is large.
bool is_left_out(std::string_view name) {
  return shardweave_test::is_small_scale && !name.starts_with("tiny2") &&
         name != "llama3-1b-2layer-2d-8x8-overlap-tail";
}

std::optional<extracted> load(const std::string& name) {
  const auto path = shared_data("placement/" + name + ".json.gz");
  if (!path) return std::nullopt;
  extracted x{sw::read_placement(*path), {}, {}, {}, {}, {}, {}};
  const auto& d = x.stated;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (const auto& e : d.edges) ends.emplace_back(e.from, e.to);
  x.graph = sw::compressed_graph(d.vertices.size(), ends);
  x.listed.resize(ends.size());
  for (const auto& h : d.overlap) x.listed[h.edge] = x.listed[h.edge] | h.direction;
  x.derived = sw::derived_from(x.graph, [&](std::uint32_t v) { return !d.vertices[v].memory.empty(); });
  for (const auto& p : d.constraints.pairs)
    if (p.why != "grad_param_constraint") x.outputs.insert(p.a), x.outputs.insert(p.b);
  const auto& choice = d.reference.value().choice;
  for (std::size_t v = 0; v < choice.size(); ++v) x.compute.push_back(d.vertices[v].compute[choice[v]]);
  for (const auto& e : d.edges)
    x.transfer.push_back(e.communication == sw::no_table ? 0
                                                         : (*d.tables[e.communication])(choice[e.from], choice[e.to]));
  return x;
}

std::vector<std::uint32_t> positions_of(const extracted& x) {
  std::vector<std::uint32_t> order(x.graph.vertex_count());
  for (std::uint32_t v = 0; v < order.size(); ++v) order[v] = v;
  return order;
}

template <class Form>
std::vector<sw::hideable<double>> demands_in(const extracted& x, const Form& form) {
  const auto places = sw::hiding_places(
      x.graph, positions_of(x), [&](std::uint32_t v) { return x.compute[v] > 0; },
      [&](const auto& e) { return x.listed[e.index]; }, form);
  return sw::demands_of(places, [&](std::size_t e) { return x.transfer[e]; });
}

}  // namespace

TEST_SUITE("eligibility of extracted problems") {
  TEST_CASE("the three edge sets are found again, edge by edge") {
    const auto sets = {std::pair("tiny2-1d-8-overlap", 842),
                       std::pair("llama3-1b-1d-64-overlap", 6204),
                       std::pair("tiny2-1d-8-overlap-gradients", 515),
                       std::pair("llama3-1b-1d-64-overlap-gradients", 3791),
                       std::pair("llama3-1b-2layer-2d-8x8-overlap-gradients", 515),
                       std::pair("llama3-1b-1d-64-overlap-tail", 619),
                       std::pair("llama3-1b-2layer-2d-8x8-overlap-tail", 87)};
    for (const auto& [name, count] : sets) {
      if (is_left_out(name)) continue;
      const auto x = load(name);
      if (!x) return;
      CAPTURE(name);
      const auto is_output = [&](std::uint32_t v) { return x->graph.out(v).empty(); };
      const auto is_gradient = [&](std::uint32_t v) { return is_output(v) && !x->outputs.contains(v); };
      const auto single_input = [&](std::uint32_t v) { return x->graph.in(v).size() == 1; };
      const std::string text(name);
      const auto feeding = text.ends_with("-tail")        ? sw::feeding_only(x->graph, is_gradient, single_input)
                           : text.ends_with("-gradients") ? sw::feeding_only(x->graph, is_gradient)
                                                          : sw::feeding_only(x->graph, is_output);
      const auto found = sw::hiding_of_edges(x->graph, x->derived, feeding);
      CHECK(found == x->listed);
      int later = 0;
      for (const sw::hiding h : found) later += sw::allows(h, sw::hiding::later) ? 1 : 0;
      CHECK(later == count);
    }
  }

  TEST_CASE("the references save what they are said to save, and prices prove it") {
    for (const char* name : {"tiny2-1d-8-overlap", "llama3-1b-1d-64-overlap", "tiny2-1d-8-overlap-gradients",
                             "llama3-1b-1d-64-overlap-gradients", "llama3-1b-1d-64-overlap-tail",
                             "llama3-1b-2layer-2d-8x8-overlap-gradients", "llama3-1b-2layer-2d-8x8-overlap-tail"}) {
      if (is_left_out(name)) continue;
      const auto x = load(name);
      if (!x) return;
      CAPTURE(name);
      const auto original = demands_in(*x, sw::inclusive_form{.twice = true});
      const double saved = sw::hide(x->compute, original).total;
      const auto& reference = *x->stated.reference;
      CHECK(reference.without_savings.value() - saved == doctest::Approx(reference.objective).epsilon(1e-7));
      CHECK(sw::savings_bound(sw::best_prices(x->compute, original), x->compute, original) ==
            doctest::Approx(saved).epsilon(1e-12));
      CHECK(sw::savings_tracker(x->compute, original).total() == doctest::Approx(saved).epsilon(1e-12));

      const double once = sw::hide(x->compute, demands_in(*x, sw::inclusive_form{})).total;
      const double strict = sw::hide(x->compute, demands_in(*x, sw::strict_form{})).total;
      const double honest = sw::hide(x->compute, demands_in(*x, sw::windows_form{})).total;
      CHECK(once <= saved * (1 + 1e-12));
      CHECK(strict <= once * (1 + 1e-12));
      CHECK(honest < strict);
      // casts of parameters and gradients move with their communication: wider windows, but nothing hides behind them
      const auto single_input = [&](std::uint32_t v) { return x->graph.in(v).size() == 1; };
      const auto last = sw::feeding_only(
          x->graph, [&](std::uint32_t v) { return x->graph.out(v).empty(); }, single_input);
      const auto works = [&](std::uint32_t v) { return x->compute[v] > 0 && !x->derived[v] && !last[v]; };
      const auto places =
          sw::hiding_places(x->graph, positions_of(*x), works, [&](const auto& e) { return x->listed[e.index]; });
      std::vector<double> left(x->compute);
      for (std::uint32_t v = 0; v < left.size(); ++v) left[v] = works(v) ? left[v] : 0;
      const auto moved = sw::hide(left, sw::demands_of(places, [&](std::size_t e) { return x->transfer[e]; }));
      CHECK(moved.total < saved);
      for (std::uint32_t v = 0; v < left.size(); ++v) CHECK((works(v) || moved.spent[v] == 0));
    }
  }

  TEST_CASE("most of what the widest set saves is fiction") {
    // every communication counts as hidden behind what comes after it, whatever waits for it
    const auto x = load("tiny2-1d-8-overlap");
    if (!x) return;
    CHECK(sw::hide(x->compute, demands_in(*x, sw::inclusive_form{.twice = true})).total > 2183);
    CHECK(sw::hide(x->compute, demands_in(*x, sw::windows_form{})).total < 0.5 * 2183);
  }
}

}  // namespace extracted_tests
