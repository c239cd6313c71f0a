// What the settings of bucketing and scheduling earn: every row changes one, on the captured task graphs and on random
// ones. Three ways, from the quickest on: `greedy` with `prefetch`, `benefit` with `prefetch` within the peak of the
// original order, and a short search from there; and the bound on orders with the buckets of the second.
#include "benchmarks/tables/scheduled.hpp"
#include "benchmarks/tables/table.hpp"
#include "support/random_tasks.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace {

struct settings {
  sw::greedy merge;
  sw::prefetch order;
  std::vector<sw::bytes> caps = sw::benefit<>{}.caps;
  sw::search<> improve{.changes = 3000, .runs = 12, .rebucket = true};
  sw::makespan_bound_options bound;

  /// What is meant where a graph's largest collective does not ask for more.
  sw::bytes in_flight() const { return order.in_flight.value_or(sw::gibibytes(2)); }
  /// The same for graphs that are smaller by so much.
  void scale_down(std::int64_t sizes, std::size_t counts) {
    merge.fsdp_only = merge.fsdp_only.value_or(false);
    merge.cap = merge.cap / sizes;
    for (sw::bytes& cap : caps) cap = cap / sizes;
    order.in_flight = in_flight() / (sizes * 10);
    order.compute_ahead /= counts;
  }
};

struct change {
  const char* name;
  void (*make)(settings&);
};

constexpr change changes[] = {
    {"nothing", [](settings&) {}},
    {"greedy::cap halved", [](settings& s) { s.merge.cap = s.merge.cap / 2; }},
    {"greedy::cap doubled", [](settings& s) { s.merge.cap = s.merge.cap * 2; }},
    {"greedy::needs_gain off", [](settings& s) { s.merge.needs_gain = false; }},
    {"greedy::fsdp_only off", [](settings& s) { s.merge.fsdp_only = false; }},
    {"prefetch::in_flight halved", [](settings& s) { s.order.in_flight = s.in_flight() / 2; }},
    {"prefetch::in_flight doubled", [](settings& s) { s.order.in_flight = s.in_flight() * 2; }},
    {"prefetch::compute_ahead a quarter", [](settings& s) { s.order.compute_ahead /= 4; }},
    {"prefetch::compute_ahead halved", [](settings& s) { s.order.compute_ahead /= 2; }},
    {"prefetch::compute_ahead doubled", [](settings& s) { s.order.compute_ahead *= 2; }},
    {"benefit::caps none", [](settings& s) { s.caps.clear(); }},
    {"benefit::caps the middle one", [](settings& s) { s.caps = {s.caps[2]}; }},
    {"benefit::caps the middle three",
     [](settings& s) {
       s.caps = {s.caps[1], s.caps[2], s.caps[3]};
     }},
    {"search::rebucket off", [](settings& s) { s.improve.rebucket = false; }},
    {"search::changes none", [](settings& s) { s.improve.changes = 0; }},
    {"search::changes halved", [](settings& s) { s.improve.changes /= 2; }},
    {"search::changes doubled", [](settings& s) { s.improve.changes *= 2; }},
    {"search::runs none", [](settings& s) { s.improve.runs = 0; }},
    {"search::runs halved", [](settings& s) { s.improve.runs /= 2; }},
    {"search::runs doubled", [](settings& s) { s.improve.runs *= 2; }},
    {"makespan_bound_options::reach none", [](settings& s) { s.bound.reach = 0; }},
    {"makespan_bound_options::reach halved", [](settings& s) { s.bound.reach /= 2; }},
    {"makespan_bound_options::reach doubled", [](settings& s) { s.bound.reach *= 2; }}};

/// What the three ways and the bound give on one graph, and what they take.
struct found {
  double quick, planned, searched, bound, quick_peak, seconds;
};

found run(const sw::task_graph& g, settings s) {
  const auto ends = [&](const sw::schedule& made) { return sw::simulate(g, made, {.validate = false}); };
  const sw::bytes peak = sw::simulate(g).peak;
  found f{};
  const double start = tables::thread_seconds();
  const sw::timeline quick = ends(s.order(g, s.merge(g)));
  f.quick = tables::ms(quick.end_to_end);
  f.quick_peak = static_cast<double>(quick.peak.count());
  s.order.memory = s.improve.memory = peak;
  s.improve.start = s.order;
  const sw::schedule planned = sw::benefit<>{s.order, peak, s.caps, s.merge}.plan(g);
  f.planned = tables::ms(ends(planned).end_to_end);
  f.bound = tables::ms(sw::makespan_bound(g, planned.buckets, s.bound).value());
  constexpr std::uint64_t seeds = 3;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed)
    f.searched += tables::ms(ends(s.improve.improve(g, planned, {.seed = seed})).end_to_end) / seeds;
  f.seconds = tables::thread_seconds() - start;
  return f;
}

/// Geometric means of the ratios to what no change gives, and the worst of the quick way, in per cent.
std::vector<std::string> cells(const char* name, const std::vector<found>& all, const std::vector<found>& plain) {
  const auto mean = [&](double found::*of) {
    double sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) sum += std::log(all[i].*of / plain[i].*of);
    return 100 * (std::exp(sum / static_cast<double>(all.size())) - 1);
  };
  double worst = 0, seconds = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    worst = std::max(
        {worst, all[i].quick / plain[i].quick, all[i].planned / plain[i].planned, all[i].searched / plain[i].searched});
    seconds += all[i].seconds;
  }
  return {name,
          tables::number(mean(&found::quick)),
          tables::number(mean(&found::quick_peak)),
          tables::number(mean(&found::planned)),
          tables::number(mean(&found::searched)),
          tables::number(100 * (worst - 1)),
          tables::number(mean(&found::bound)),
          tables::number(seconds)};
}

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(asked, {"graphs", "changed", "greedy + prefetch %", "its peak %", "benefit + prefetch %",
                            "searched %", "worst of these %", "bound %", "CPU s"});
  const auto rows = [&](const std::string& name, const std::vector<sw::task_graph>& graphs, bool small) {
    std::vector<found> plain;
    for (const change& c : changes) {
      std::vector<found> all;
      for (const sw::task_graph& g : graphs) {
        settings s;
        c.make(s);
        if (small) s.scale_down(sw::mebibytes(25).count() / 60, 10);
        all.push_back(run(g, s));
      }
      if (plain.empty()) plain = all;
      out.row(name, [&] { return cells(c.name, all, plain); });
    }
  };
  std::vector<sw::task_graph> captured, drawn;
  for (const auto& file : asked.files("tasks"))
    if (tables::short_name(file).find("derived") == std::string::npos) captured.push_back(sw::read_task_graph(file));
  if (!captured.empty()) rows(std::to_string(captured.size()) + " captured", captured, false);
  if (!asked.asks_for("random")) return 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed)
    drawn.push_back(random_tasks(seed, {.blocks = 20 + seed % 10 * 20, .groups = 1 + seed % 3}));
  rows("1,000 random", drawn, true);
}
