// What a schedule takes: the order as given, and the same with a bucket and a better order, written by hand.
#include "support/small_step.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace sw = shardweave;

int main() {
  const sw::task_graph g = programs::small_step(2);
  const auto find = [&](const char* name) {
    sw::task_index t = 0;
    while (g.name_of(t) != name) ++t;
    return t;
  };
  const sw::timeline before = sw::simulate(g);

  // [by_hand]
  sw::schedule s;
  for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
  // the second gather is launched right after the first one
  const auto second = std::find(s.order.begin(), s.order.end(), find("gather1"));
  const auto place = std::find(s.order.begin(), s.order.end(), find("gather0")) + 1;
  std::rotate(place, second, second + 1);
  const sw::timeline after = sw::simulate(g, s);
  // [by_hand]
  std::printf("exposed: %.1f us as given, %.1f us with the second gather early\n", sw::to_microseconds(before.exposed),
              sw::to_microseconds(after.exposed));

  // [hiding]
  for (const sw::hiding_record& r : sw::hiding_records(g, s, after))
    std::printf("%-9s %6.1f us hidden, %6.1f us exposed\n", std::string(g.name_of(r.collective)).c_str(),
                sw::to_microseconds(r.hidden), sw::to_microseconds(r.exposed));
  // [hiding]

  std::swap(s.order.front(), s.order.back());
  try {
    (void)sw::simulate(g, s);
    return 1;
  } catch (const sw::error& e) {
    std::printf("refused: %s\n", e.what());
  }
  // the second gather lies whole beside forward0
  return before.exposed - after.exposed == g.duration(find("gather1")) && before.compute == after.compute ? 0 : 1;
}
