// What 32 layers make again or lend to the host to fit a device: published optima beside ours, and the processor
// seconds of all policies of a layer and of the choice. With --plots FOLDER it draws time over memory, as far as it
// goes.
#include "benchmarks/tables/log_plot.hpp"
#include "benchmarks/tables/table.hpp"
#include "support/llama_layer.hpp"
#include <shardweave/io/atomic_file.hpp>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sw = shardweave;

namespace {

double ms(sw::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

std::string name_of(const shardweave_test::published_choice& one) {
  std::string text = tables::number(one.usable, 0) + " GiB, " + (one.scale == 1 ? "8,192" : "16,384") + " tokens";
  if (one.loss > 20) text += ", eager loss";
  if (one.rate > 0) text += ", " + tables::number(one.rate, 0) + " GB/s to the host";
  return text;
}

/// More time than if everything were kept, over the device's memory, both as the choices have it and by usual rules.
void draw(const std::filesystem::path& folder) {
  tables::log_plot plot("32 layers of LLaMA-3 8B, 16,384 tokens: what less memory costs",
                        "GiB of the device that a plan may use", "ms more than if everything were kept");
  using namespace shardweave_test::llama_layer_values;
  const auto layer = shardweave_test::llama_layer();
  for (const double rate : {0.0, 25.0, 50.0}) {
    shardweave_test::published_choice choice{0, 3.425, 0, 1, rate};
    const auto policies = sw::block_policies(layer, choice.rates());
    std::vector<tables::plotted_point> line;
    for (choice.usable = 22; choice.usable <= 80; choice.usable += 2) {
      const sw::chosen_policies best = shardweave_test::choose_for_32(policies, choice.rows());
      if (best.is_proven() && best.time.count() > 0)
        line.push_back({static_cast<double>(shardweave_test::gib(choice.usable).count()), ms(best.time)});
    }
    plot.line(rate == 0 ? "chosen" : "chosen, " + tables::number(rate, 0) + " GB/s", line);
  }
  // a rule keeps the same in every layer, whatever the memory: one dot where it just fits
  const auto rule = [&](const char* name, const std::vector<std::uint32_t>& kept) {
    std::vector<sw::retention> choice(values, sw::retention::recompute);
    for (const std::uint32_t value : kept) choice[value] = sw::retention::keep;
    const std::vector<sw::block_policy> only{sw::price_policy(shardweave_test::llama_layer(1, false), choice)};
    shardweave_test::published_choice fits{8, 3.425, 0, 1, 0};
    while (shardweave_test::choose_for_32(only, fits.rows()).policy.empty()) fits.usable += 0.25;
    plot.dots(name, {{static_cast<double>(shardweave_test::gib(fits.usable).count()), 32 * ms(only[0].time)}});
  };
  rule("layers as a whole", {x});
  rule("selective_op", {x, q0, v, o, a1});
  sw::atomic_file out(folder / "memory_frontier.svg");
  out.write(plot.svg());
  out.commit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--plots") {
    draw(argv[2]);
    return 0;
  }
  const tables::request asked(argc, argv);
  tables::table table(asked, {"32 layers of LLaMA-3 8B", "published", "chosen", "proven", "lent", "policies",
                              "of a layer in", "chosen in"});
  for (const shardweave_test::published_choice& one : shardweave_test::published_choices) {
    if (!asked.asks_for(name_of(one))) continue;
    table.row(name_of(one), [&] {
      const double start = tables::thread_seconds();
      const auto policies = sw::block_policies(shardweave_test::llama_layer(one.scale), one.rates());
      const double listed = tables::thread_seconds();
      const sw::chosen_policies best = shardweave_test::choose_for_32(policies, one.rows());
      const double chosen = tables::thread_seconds();
      return std::vector<std::string>{tables::number(one.known, 1) + " ms",
                                      tables::number(ms(best.time)) + " ms",
                                      best.is_proven() ? "yes" : "no",
                                      tables::number(static_cast<double>(best.offloaded.count()) / (1 << 30)) + " GiB",
                                      std::to_string(policies.size()),
                                      tables::number(listed - start) + " s",
                                      tables::number(chosen - listed) + " s"};
    });
  }
}
