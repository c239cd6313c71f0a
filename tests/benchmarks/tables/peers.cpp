// Captured task graphs: our default, and some seconds of search, against the best that PyTorch's and AutoParallel's
// passes made of them, within the peak memory of the original order. Peers are taken twice: with the copies that they
// counted themselves, which cost more than the file format's, and with the file format's; and the lower one decides.
//
// With the durations of fused operations, for which nothing is recorded, the peers are those passes as this library has
// them, under their names.
#include "benchmarks/tables/scheduled.hpp"
#include "benchmarks/tables/table.hpp"
#include "benchmarks/tables/upstream_passes.hpp"
#include <shardweave/io/tasks.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <cmath>

namespace sw = shardweave;
using tables::ms;

namespace {

/// The geometric mean of what was noted.
struct ratios {
  double logarithms = 0;
  int count = 0;
  void note(double ratio) {
    logarithms += std::log(ratio);
    ++count;
  }
  [[nodiscard]] std::string mean() const { return count == 0 ? "-" : tables::number(std::exp(logarithms / count), 4); }
};

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  const double seconds = asked.limit(10);
  tables::table out(asked,
                    {"graph", "durations", "default ms", "default CPU s", "search ms", "best peer ms", "it",
                     "by our copies ms", "it", "default / lower", "search / lower", "peak GiB", "original peak GiB"});
  ratios of_default, of_search;
  for (const auto& file : asked.files("tasks"))
    for (const bool fused : {false, true}) {
      const std::string name = tables::short_name(file);
      sw::task_graph g = sw::read_task_graph(file);
      auto passes = tables::upstream_passes(file, g);
      if (fused) {
        g = g.with_durations(g.fused_durations());
        passes.clear();
        for (const char* peer : {"torch_default", "torch_no_prebucket", "torch_overlap_only",
                                 "autoparallel_span_buckets", "autoparallel_size_buckets"}) {
          const double end = static_cast<double>(sw::simulate(g, tables::scheduled(g, peer, peer)).end_to_end.count());
          passes.push_back({.name = peer, .end_to_end = end, .end_by_our_rule = end});
        }
      }
      const auto& recorded = tables::first_to_end(passes, [](const auto& p) { return p.end_to_end; });
      const auto& by_rule = tables::first_to_end(passes, [](const auto& p) { return p.end_by_our_rule; });
      const double lower = std::min(recorded.end_to_end, by_rule.end_by_our_rule) / 1e6;
      const sw::bytes memory = sw::simulate(g).peak;
      sw::schedule known;
      const double taken = tables::median_seconds(3, [&] { known = tables::scheduled(g, "best_known", "best_known"); });
      const sw::timeline usual = sw::simulate(g, known);
      const sw::timeline searched =
          sw::simulate(g, tables::scheduled(g, "benefit", "search", memory, {.seconds = seconds}));
      if (!fused && name.find("derived") == std::string::npos &&
          (name.find("-bw") != std::string::npos || name.find("deepseek") != std::string::npos)) {
        of_default.note(ms(usual.end_to_end) / lower);
        of_search.note(ms(searched.end_to_end) / lower);
      }
      const auto gib = [](sw::bytes b) { return tables::number(static_cast<double>(b.count()) / (1 << 30)); };
      out.row(name, [&] {
        return std::vector<std::string>{fused ? "fused" : "measured",
                                        tables::number(ms(usual.end_to_end)),
                                        tables::number(taken, 2),
                                        tables::number(ms(searched.end_to_end)),
                                        tables::number(recorded.end_to_end / 1e6),
                                        recorded.name,
                                        tables::number(by_rule.end_by_our_rule / 1e6),
                                        by_rule.name,
                                        tables::number(ms(usual.end_to_end) / lower, 4),
                                        tables::number(ms(searched.end_to_end) / lower, 4),
                                        gib(std::max(usual.peak, searched.peak)),
                                        gib(memory)};
      });
    }
  out.row("geometric mean, captured backward and MoE graphs", [&] {
    return std::vector<std::string>{"measured",       "", "", "", "", "", "", "", of_default.mean(),
                                    of_search.mean(), "", ""};
  });
}
