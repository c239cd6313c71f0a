// Backward steps of layers that shard parameters over one group and reduce over another, from 1 000 to 100 000 tasks:
// processor seconds of bucketing and scheduling, and by how much a tenfold graph takes longer.
#include "benchmarks/tables/table.hpp"
#include "examples/support/schedulers.hpp"
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/simulate_machine.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace {

/// Some 50 tasks per layer: four parameters, each gathered and used, and its gradient scattered; one reduction.
class layers {
 public:
  explicit layers(std::size_t count) {
    b_.device.dram_bytes_per_ns = 3350;
    for (std::uint32_t g = 0; g < 2; ++g) {
      b_.add_group({.id = g, .name = g == 0 ? "dp" : "tp", .size = g == 0 ? 64 : 8});
      for (const sw::collective op :
           {sw::collective::all_gather, sw::collective::reduce_scatter, sw::collective::all_reduce})
        b_.add_table(sw::duration_table(op, g, {sw::bytes(1 << 10), sw::bytes(1 << 20), sw::bytes(1 << 24)},
                                        {sw::nanoseconds(20'000), sw::nanoseconds(50'000), sw::nanoseconds(600'000)}));
    }
    std::vector<sw::task_index> weights;
    for (std::size_t i = 0; i < 4 * count; ++i) weights.push_back(add("primals", "input", {}, 0, 1 << 18));
    value_ = add("tangents", "input", {}, 0, 1 << 22);
    for (const sw::task_index w : weights) add_block(w, ends_.size() % 4 == 3);
    ends_.push_back(value_);
    add("output", "output", ends_, 0, 0);
  }
  [[nodiscard]] sw::task_graph graph() && { return std::move(b_).build(); }

 private:
  sw::task_index add(const std::string& op, const char* kind, std::vector<sw::task_index> inputs, std::int64_t takes,
                     std::int64_t size) {
    sw::task_record t{.name = op,
                      .op = op,
                      .kind = *sw::task_kind_from(kind),
                      .duration = sw::nanoseconds(takes),
                      .inputs = std::move(inputs)};
    if (size > 0) t.outputs = {{sw::bytes(size), b_.add_storage(sw::bytes(size)), "bf16", {}}};
    return b_.add_task(t);
  }
  sw::task_index communicate(sw::collective op, std::uint32_t group, sw::task_index from, std::int64_t in,
                             std::int64_t out, std::int64_t takes) {
    sw::task_record t{.name = std::string(sw::name_of(op)),
                      .op = std::string(sw::name_of(op)),
                      .kind = sw::task_kind::collective,
                      .duration = sw::nanoseconds(takes),
                      .inputs = {from},
                      .outputs = {{sw::bytes(out), b_.add_storage(sw::bytes(out)), "bf16", {}}},
                      .is_fsdp = group == 0};
    t.collective = sw::collective_record{
        op, group, sw::bytes(in), sw::bytes(out), "bf16", op == sw::collective::all_gather ? "none" : "sum"};
    const sw::task_index launched = b_.add_task(t);
    sw::task_record w{.name = "wait", .op = "wait", .kind = sw::task_kind::wait, .inputs = {launched}};
    w.completes = launched;
    w.outputs = {{sw::bytes(out), b_.add_storage(sw::bytes(out)), "bf16", {}}};
    return b_.add_task(w);
  }
  void add_block(sw::task_index weight, bool reduces) {
    const auto cast = add("prims.convert_element_type", "other", {weight}, 500, 1 << 17);
    const auto full =
        add("aten.view", "view", {communicate(sw::collective::all_gather, 0, cast, 1 << 17, 1 << 23, 40'000)}, 0, 0);
    const auto scaled = add("aten.mul.Tensor", "other", {value_}, 3'000, 1 << 22);
    value_ = add("aten.mm", "compute", {scaled, full}, 60'000, 1 << 22);
    const auto gradient = add("aten.mm", "compute", {scaled, value_}, 30'000, 1 << 23);
    const auto wide = add("prims.convert_element_type", "other", {gradient}, 900, 1 << 23);
    ends_.push_back(add("aten.view", "view",
                        {communicate(sw::collective::reduce_scatter, 0, wide, 1 << 23, 1 << 17, 45'000)}, 0, 0));
    if (reduces) value_ = communicate(sw::collective::all_reduce, 1, value_, 1 << 22, 1 << 22, 30'000);
  }

  sw::task_graph_builder b_;
  sw::task_index value_ = 0;
  std::vector<sw::task_index> ends_;
};

constexpr std::size_t sizes[] = {1'000, 10'000, 30'000, 100'000};

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(asked, {"pass", "tasks", "CPU s", "ns per task", "peak MiB"});
  const std::pair<const char*, const char*> ways[] = {{"none", "in_order"},
                                                      {"greedy", "prefetch"},
                                                      {"benefit", "prefetch"},
                                                      {"topological_span", "overlap"},
                                                      {"torch_overlap_only", "torch_overlap_only"},
                                                      {"torch_default", "torch_default"},
                                                      {"best_known", "best_known"}};
  for (const auto& [bucketing, scheduler] : ways)
    for (const std::size_t tasks : sizes) {
      const std::string name =
          std::string(bucketing) == scheduler ? scheduler : std::string(bucketing) + " + " + scheduler;
      if (asked.asks_for(name))
        out.row(name, [&, bucketing = bucketing, scheduler = scheduler] {
          const sw::task_graph g = layers(tasks / 50).graph();
          const double seconds = tables::median_seconds(3, [&] {
            static_cast<void>(programs::planned({bucketing, scheduler}, g, {}));
          });
          return std::vector<std::string>{std::to_string(g.size()), tables::number(seconds, 4),
                                          tables::number(1e9 * seconds / static_cast<double>(g.size()), 0), "peak"};
        });
    }
  if (!asked.asks_for("simulate")) return 0;
  const sw::machine slow(sw::launch_costs::each(sw::nanoseconds(6'000), sw::nanoseconds(10'000)),
                         sw::uniform_interference{.compute = {1.2}, .collective = 1.1});
  const auto simulated = [&](const char* name, std::size_t tasks, const auto& run) {
    out.row(name, [&] {
      const sw::task_graph g = layers(tasks / 50).graph();
      const sw::schedule order = sw::in_order{}(g, {});
      const double seconds = tables::median_seconds(9, [&] { run(g, order); });
      return std::vector<std::string>{std::to_string(g.size()), tables::number(seconds, 4),
                                      tables::number(1e9 * seconds / static_cast<double>(g.size()), 0), "peak"};
    });
  };
  for (const std::size_t tasks : sizes)
    simulated("simulate", tasks, [](const auto& g, const auto& s) { static_cast<void>(sw::simulate(g, s)); });
  for (const std::size_t tasks : sizes)
    simulated("simulate on a machine", tasks,
              [&](const auto& g, const auto& s) { static_cast<void>(sw::simulate(g, s, slow)); });
}
