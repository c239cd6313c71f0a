// Any text is read as a certificate or refused; what is read is written and read again to the same text, and whatever
// it says, nothing that it proves of a small problem is above that problem's optimum, or above the end of an order of a
// small task graph, or of a plan of a small step.
#include <shardweave/io/order_certificate.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/step/check_step_certificate.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <support/small_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace certificate_fuzz {
namespace {

/// Optimum 3, by the second strategies of both.
template <class Cost>
sw::placement_description<Cost> small() {
  sw::placement_description<Cost> d;
  d.vertices.push_back({.name = "a", .compute = {1, 2}});
  d.vertices.push_back({.name = "b", .compute = {4, 1}});
  d.tables.push_back(std::make_shared<const sw::cost_table<Cost>>(
      sw::cost_table<Cost>::from_entries(2, 2, std::vector<Cost>{0, 3, 3, 0})));
  d.edges.push_back({.from = 0, .to = 1, .communication = 0});
  d.constraints.budgets.push_back({.name = "memory", .high = 6, .terms = {{0, {4, 1}, {}}, {1, {1, 5}, {}}}});
  return d;
}

template <class Cost>
std::string written(const sw::placement_certificate<Cost>& c) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_certificate(out, c); });
}

template <class Cost>
void try_as(std::string_view text) {
  try {
    auto input = sw::text_input::of_memory("input", text, 1 + text.size() / 3);
    const auto c = sw::read_placement_certificate<Cost>(input);
    const std::string first = written(c);
    auto again = sw::text_input::of_memory("again", first, 64);
    if (written(sw::read_placement_certificate<Cost>(again)) != first) std::abort();
    const auto verdict = sw::check_certificate(small<Cost>(), c);
    if (verdict.accepted && (c.infeasible || c.lower_bound > 3 || verdict.bound > 3)) std::abort();
  } catch (const sw::error&) {
  }
}

/// Two gathers that may be launched as one, each with work before and after it, and a scatter of another group.
sw::task_graph small_step() {
  using small_tasks::gather, small_tasks::scatter, small_tasks::wait_for, small_tasks::work;
  sw::task_graph_builder b;
  b.device.dram_bytes_per_ns = 4;
  for (std::uint32_t c = 0; c < 2; ++c) b.add_group({.id = c, .size = 4});
  b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(2), sw::bytes(8)},
                                 {sw::nanoseconds(9), sw::nanoseconds(11)}));
  const auto a = b.add_task(work("a", 5)), c = b.add_task(work("b", 7));
  const auto first = b.add_task(gather("first", 9, {a}, 2)), second = b.add_task(gather("second", 10, {c}, 3));
  const auto x = b.add_task(work("x", 4, {b.add_task(wait_for("w", first))}));
  const auto y = b.add_task(work("y", 6, {b.add_task(wait_for("w", second)), x}));
  b.add_task(wait_for("w", b.add_task(scatter("third", 20, {y}, 8, 1))));
  return std::move(b).build();
}

void try_as_order(std::string_view text) {
  static const sw::task_graph g = small_step();
  const auto end_with = [](const std::vector<sw::bucket>& buckets) {
    return sw::simulate(g, {.order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, .buckets = buckets}).end_to_end;
  };
  try {
    auto input = sw::text_input::of_memory("input", text, 1 + text.size() / 3);
    const sw::order_certificates all = sw::read_order_certificates(input);
    const auto written_as = [](const sw::order_certificates& c) {
      return sw::json_string([&](sw::json_writer& out) { sw::write_certificate(out, c); });
    };
    const std::string first = written_as(all);
    auto again = sw::text_input::of_memory("again", first, 64);
    if (written_as(sw::read_order_certificates(again)) != first) std::abort();
    for (const sw::order_certificate& c : all.proofs) {
      const sw::order_verdict verdict = sw::check_certificate(g, c);
      if (!verdict.accepted) continue;
      std::vector<sw::bucket> buckets;
      if (c.buckets && !c.buckets->empty()) {  // of this graph there is but one, here in one of two ways
        buckets = {sw::make_bucket(g, c.buckets->front().members)};
        buckets.front().coalesced = c.buckets->front().coalesced;
      }
      if (verdict.bound < c.lower_bound || verdict.bound > end_with(buckets)) std::abort();
    }
  } catch (const sw::error&) {
  }
}

/// Three vertices in a row, whose plans do one thing after the other, and hold no more than 5 bytes at once.
constexpr std::string_view small_step_text = R"({"format":"shardweave.placement","version":1,
  "vertices":[{"compute":[3,5]},{"compute":[2,4]},{"compute":[1,1]}],"edges":[{"from":0,"to":1},{"from":1,"to":2}],
  "work":{"channels":3,"limits":[5],"times":[[3,5],[2,4],[1,1]],"vertices":[0,1,2],"matrices":[[0,4,4,0],[3,1,1,2]],
    "tables":[{"loads":[null,0,1],"chain":0}],
    "edges":[{"from":0,"to":1,"tables":0,"share":0},{"from":1,"to":2,"tables":0,"share":1}]}})";

struct small_training {
  sw::step_problem problem;
  double best = std::numeric_limits<double>::infinity();  ///< of the plans that keep to the limit

  small_training() {
    auto input = sw::text_input::of_memory("step", small_step_text);
    problem = sw::read_step_problem(input);
    const sw::step_work& work = *problem.work;
    for (unsigned choice = 0; choice < 8; ++choice) {
      const auto of = [&](std::uint32_t v) { return static_cast<sw::strategy>(choice >> v & 1U); };
      double end = 0, held = 0;
      for (std::uint32_t v = 0; v < 3; ++v) end += work.times[work.times_of[v]][of(v)];
      for (const sw::work_edge& e : work.edges) {
        end += work.chain(e, of(e.from), of(e.to));
        held += work.load(e, 2, of(e.from), of(e.to));
      }
      if (held <= work.limits.front()) best = std::min(best, end);
    }
  }
};

void try_as_step(std::string_view text) {
  static const small_training step;
  try {
    auto input = sw::text_input::of_memory("input", text, 1 + text.size() / 3);
    const sw::step_certificate c = sw::read_step_certificate(input);
    const auto written_as = [](const sw::step_certificate& any) {
      return sw::json_string([&](sw::json_writer& out) { sw::write_certificate(out, any); });
    };
    const std::string first = written_as(c);
    auto again = sw::text_input::of_memory("again", first, 64);
    if (written_as(sw::read_step_certificate(again)) != first) std::abort();
    const auto verdict = sw::check_certificate(step.problem.description, *step.problem.work, c);
    if (verdict.accepted &&
        (c.placement.infeasible || c.placement.lower_bound > step.best || verdict.bound > step.best))
      std::abort();
  } catch (const sw::error&) {
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_as<double>(text);
  try_as<std::int64_t>(text);
  try_as_order(text);
  try_as_step(text);
  return 0;
}

}  // namespace certificate_fuzz
