// What keeping the savings of an assignment under changes takes, beside finding them anew, on the extracted problems
// with overlap: microseconds of the thread's processor time. The assignment is the best one by costs alone; a change is
// one amount of communication, or the computation at one position, of those above zero: half to twice as large as it is
// there.
#include "benchmarks/tables/table.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/overlap/savings_tracker.hpp>
#include <shardweave/overlap/segments.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/impl/evaluate.hpp>
#include <shardweave/solve/auto_solver.hpp>

#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace {

constexpr int changes = 2'000, finds = 9;

std::vector<std::string> row(sw::placement_description<double> d, sw::savings_form form) {
  d.counted = sw::savings_form::off;
  const auto choice =
      sw::auto_solver{}.solve(sw::compile(std::make_shared<const sw::placement_description<double>>(d))).choice;
  d.counted = form;
  const sw::detail::hiding_question<double> asked(d, choice);
  const double found =
      tables::median_seconds(finds, [&] { static_cast<void>(sw::hide(asked.computation, asked.demands)); });

  sw::savings_tracker tracker(asked.computation, asked.demands);
  auto computation = asked.computation;
  auto demands = asked.demands;
  std::vector<std::size_t> positions, amounts;
  for (std::size_t i = 0; i < computation.size(); ++i)
    if (computation[i] > 0) positions.push_back(i);
  for (std::size_t i = 0; i < demands.size(); ++i)
    if (demands[i].amount > 0) amounts.push_back(i);
  sw::random_source random(1);
  double sum = 0;  // so that no total is left out
  const double start = tables::thread_seconds();
  for (int i = 0; i < changes; ++i) {
    const double by = 0.5 + 1.5 * random.unit();
    if (random.chance(0.5)) {
      const std::size_t at = amounts[random.below(amounts.size())];
      tracker.set_amount(at, demands[at].amount = asked.demands[at].amount * by);
    } else {
      const std::size_t at = positions[random.below(positions.size())];
      tracker.set_computation(at, computation[at] = asked.computation[at] * by);
    }
    sum += tracker.total();
  }
  const double changed = (tables::thread_seconds() - start) / changes;
  const double anew = sw::hide(computation, demands).total;
  if (!(sum > 0) || std::abs(tracker.total() - anew) > 1e-6 * anew)
    throw std::runtime_error("the tracker says " + std::to_string(tracker.total()) + ", found anew " +
                             std::to_string(anew));
  return {std::string(sw::name_of(form)), std::to_string(demands.size()),
          std::to_string(sw::segments_of(demands, computation.size()).size()), tables::number(found * 1e6, 0),
          tables::number(changed * 1e6)};
}

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(asked, {"problem", "form", "demands", "segments", "found anew us", "one change us"});
  for (const auto& file : asked.files("placement")) {
    const std::string name = tables::short_name(file);
    if (name.find("overlap") == std::string::npos) continue;
    for (const sw::savings_form form :
         {sw::savings_form::inclusive_twice, sw::savings_form::strict, sw::savings_form::windows})
      out.row(name, [&] { return row(sw::read_placement(file), form); });
  }
}
