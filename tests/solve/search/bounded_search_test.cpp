#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/placement/cost.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/bounded_search.hpp>
#include <shardweave/solve/search/detail/split.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::brute_optimum_of;
using shardweave_test::draw_small;
using shardweave_test::for_all_labelings;
using shardweave_test::label_list;

namespace bounded_search_tests {
namespace {

using problem = sw::compact_problem<std::int64_t>;
constexpr double infinite = std::numeric_limits<double>::infinity();

bool has(const problem& p, const std::vector<char>& allowed, const label_list& labels) {
  for (std::size_t x = 0; x < p.size(); ++x)
    if (allowed[p.label_start(x) + labels[x]] == 0) return false;
  return true;
}

/// The sum of what each variable and each edge costs at least.
double plain_bound(const problem& p, const std::vector<char>& allowed) {
  auto bound = static_cast<double>(p.constant());
  const auto left = [&](std::size_t x) {
    label_list labels;
    for (sw::strategy l = 0; l < p.label_count(x); ++l)
      if (allowed[p.label_start(x) + l] != 0) labels.push_back(l);
    return labels;
  };
  for (std::size_t x = 0; x < p.size(); ++x) {
    double least = infinite;
    for (const sw::strategy l : left(x)) least = std::min(least, static_cast<double>(p.unary(x)[l]));
    bound += least;
  }
  for (const sw::compact_edge& e : p.edges()) {
    double least = infinite;
    for (const sw::strategy a : left(e.first))
      for (const sw::strategy b : left(e.second)) least = std::min(least, static_cast<double>(p.table(e)(a, b)));
    bound += least;
  }
  return bound;
}

/// Per label the least cost of an allowed labeling with it: far above what `plain_bound` says of these labelings.
std::vector<double> exact_label_bounds(const problem& p, const std::vector<char>& allowed) {
  std::vector<double> least(p.total_labels(), infinite);
  for_all_labelings<std::int64_t>(p, [&](const label_list& labels) {
    if (!has(p, allowed, labels)) return;
    const auto cost = static_cast<double>(p.cost(labels));
    for (std::size_t x = 0; x < p.size(); ++x) {
      double& own = least[p.label_start(x) + labels[x]];
      own = std::min(own, cost);
    }
  });
  return least;
}

/// Bounds by `plain_bound`, and splits the first variable with a choice into all its labels.
template <sw::detail::search_order Order>
struct plain_relaxation {
  struct memory {};
  using part = sw::detail::open_part<memory>;
  static constexpr sw::detail::search_order order = Order;

  const problem& p;
  sw::detail::incumbent<std::int64_t>& best;
  bool has_exact_labels = false;
  std::size_t raises = 1;  ///< before a split
  std::size_t times_raised = 0;
  sw::detail::variable_origin of_root = sw::detail::origin_of(p);
  std::vector<char> now = {};
  std::vector<double> least = {};

  [[nodiscard]] static bool goes_on(std::size_t) { return true; }
  [[nodiscard]] bool closes(double bound) const { return best.closes(bound); }
  [[nodiscard]] bool is_unfinished(const part&) const { return times_raised % raises != 0; }
  [[nodiscard]] bool open(const part& here, const sw::detail::part_visit&) {
    now = here.allowed;
    for (std::size_t x = 0; x < p.size(); ++x)
      if (choices(x) == 0) return false;
    return true;
  }
  void raise(part& here, const sw::detail::part_visit&) {
    ++times_raised;
    here.bound = std::max(here.bound, plain_bound(p, now));
    if (is_decided()) {
      label_list labels;
      for (std::size_t x = 0; x < p.size(); ++x)
        for (sw::strategy l = 0; l < p.label_count(x); ++l)
          if (now[p.label_start(x) + l] != 0) labels.push_back(l);
      best.offer(p.cost(labels), labels, 0);
    }
    if (has_exact_labels) {
      least = exact_label_bounds(p, now);
    } else {
      least.assign(p.total_labels(), here.bound);
    }
  }
  [[nodiscard]] std::size_t choices(std::size_t x) const {
    const auto begin = now.begin() + static_cast<std::ptrdiff_t>(p.label_start(x));
    return static_cast<std::size_t>(std::count(begin, begin + static_cast<std::ptrdiff_t>(p.label_count(x)), 1));
  }
  [[nodiscard]] bool is_decided() const {
    for (std::size_t x = 0; x < p.size(); ++x)
      if (choices(x) > 1) return false;
    return true;
  }
  [[nodiscard]] const problem& root() const { return p; }
  [[nodiscard]] const sw::detail::variable_origin& origin() const { return of_root; }
  [[nodiscard]] const std::vector<char>& allowed() const { return now; }
  [[nodiscard]] const std::vector<double>& label_bounds() const { return least; }
  [[nodiscard]] static bool settles(const part&) { return false; }
  [[nodiscard]] sw::detail::branching split(const part&) const {
    sw::detail::branching result;
    while (choices(result.variable) < 2) ++result.variable;
    for (sw::strategy l = 0; l < p.label_count(result.variable); ++l)
      if (now[p.label_start(result.variable) + l] != 0) result.parts.push_back({l});
    return result;
  }
  static void expanded(std::size_t, double) {}
};

/// Repeats what it is told, as who checks a proof does: which labels each case has.
template <class Relaxation>
struct replayed {
  static constexpr bool explains = true;
  struct one {
    std::vector<char> allowed;
    bool is_leaf = true;
  };
  const Relaxation& relaxation;
  std::vector<one> cases;
  std::size_t widest = 0, narrowings = 0;

  explicit replayed(const Relaxation& of) : relaxation(of), cases{{std::vector<char>(of.p.total_labels(), 1)}} {}

  void refuted(std::uint32_t number, const std::vector<char>& allowed) const {
    CHECK(cases[number].allowed == allowed);
  }
  std::uint32_t narrowed(std::uint32_t number) {
    ++narrowings;
    std::vector<char> left = cases[number].allowed;
    for (std::size_t at = 0; at < left.size(); ++at)
      if (relaxation.closes(relaxation.least[at])) left[at] = 0;
    return add(number, left);
  }
  std::uint32_t parted(std::uint32_t number, std::uint32_t x, const std::vector<label_list>& parts) {
    widest = std::max(widest, parts.size());
    const std::vector<char> before = cases[number].allowed;
    const std::size_t start = relaxation.p.label_start(x);
    label_list all;
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::vector<char> left = before;
      for (sw::strategy l = 0; l < relaxation.p.label_count(x); ++l)
        if (std::find(parts[i].begin(), parts[i].end(), l) == parts[i].end()) left[start + l] = 0;
      all.insert(all.end(), parts[i].begin(), parts[i].end());
      const std::uint32_t at = add(number, left);
      if (i == 0) first = at;
    }
    for (sw::strategy l = 0; l < relaxation.p.label_count(x); ++l)
      CHECK(std::count(all.begin(), all.end(), l) >= (before[start + l] != 0 ? 1 : 0));
    return first;
  }
  std::uint32_t add(std::uint32_t parent, std::vector<char> allowed) {
    cases[parent].is_leaf = false;
    cases.push_back({std::move(allowed)});
    return static_cast<std::uint32_t>(cases.size() - 1);
  }
};

template <sw::detail::search_order Order>
void finds_optima(std::size_t at_once, std::size_t raises) {
  for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
    CAPTURE(seed);
    const auto p = draw_small<std::int64_t>(seed, {.variables = 5, .forbidden = seed % 2 == 0 ? 0.3 : 0.0});
    const auto optimum = brute_optimum_of(p);
    sw::detail::incumbent<std::int64_t> best;
    plain_relaxation<Order> relaxation{.p = p, .best = best, .raises = raises};
    sw::detail::no_record nothing;
    sw::detail::bounded_search<std::int64_t, plain_relaxation<Order>> search(p, best, relaxation, nothing, 0.02);
    search.start();
    double bound = search.go_on(at_once);
    for (double before = bound; search.is_cut_short(); before = bound) {
      if (optimum) CHECK(bound <= static_cast<double>(*optimum));
      const std::size_t explored = search.explored();
      bound = search.go_on(at_once);
      CHECK(bound >= before);
      CHECK(search.explored() - explored <= at_once);
    }
    CHECK(best.is_known() == optimum.has_value());
    if (optimum) CHECK(best.cost() == *optimum);
    CHECK(bound == (optimum ? static_cast<double>(*optimum) : infinite));
  }
}

}  // namespace

TEST_SUITE("bounded_search") {
  TEST_CASE("either order finds the optima, with as many parts as a variable has labels") {
    finds_optima<sw::detail::search_order::least_bound_first>(std::numeric_limits<std::size_t>::max(), 1);
    finds_optima<sw::detail::search_order::depth_first>(std::numeric_limits<std::size_t>::max(), 1);
  }
  TEST_CASE("it goes on where it paused, with bounds that never fall") {
    finds_optima<sw::detail::search_order::least_bound_first>(1, 1);
    finds_optima<sw::detail::search_order::least_bound_first>(3, 1);
  }
  TEST_CASE("an unfinished subproblem is raised again before it is split") {
    finds_optima<sw::detail::search_order::least_bound_first>(2, 3);
  }
  TEST_CASE("labels that their own bounds close are recorded as such, however few, and all cases left prove the rest") {
    std::size_t wide = 0, narrowed = 0;
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      CAPTURE(seed);
      const auto p = draw_small<std::int64_t>(seed, {.variables = 5, .forbidden = seed % 2 == 0 ? 0.3 : 0.0});
      const auto optimum = brute_optimum_of(p);
      if (!optimum) continue;
      using relaxing = plain_relaxation<sw::detail::search_order::least_bound_first>;
      sw::detail::incumbent<std::int64_t> best;
      best.set_cutoff(*optimum);
      relaxing relaxation{.p = p, .best = best, .has_exact_labels = true};
      replayed<relaxing> record(relaxation);
      // no share is enough for another round
      sw::detail::bounded_search<std::int64_t, relaxing, replayed<relaxing>> search(p, best, relaxation, record, 2);
      CHECK(search.run() == static_cast<double>(*optimum));
      for (const auto& one : record.cases) {
        if (!one.is_leaf) continue;
        bool any = true;
        for (std::size_t x = 0; x < p.size(); ++x) {
          const auto begin = one.allowed.begin() + static_cast<std::ptrdiff_t>(p.label_start(x));
          any = any && std::count(begin, begin + static_cast<std::ptrdiff_t>(p.label_count(x)), 1) > 0;
        }
        if (any) CHECK(plain_bound(p, one.allowed) >= static_cast<double>(*optimum));
      }
      wide += record.widest > 2 ? 1U : 0U;
      narrowed += record.narrowings > 0 ? 1U : 0U;
    }
    CHECK(narrowed > at_scale(20));
    CHECK(wide + narrowed > at_scale(20));
  }
}
}  // namespace bounded_search_tests
