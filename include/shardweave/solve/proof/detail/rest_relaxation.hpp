#pragma once

#include <shardweave/core/range_minimum.hpp>
#include <shardweave/core/range_sums.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/exact_elimination.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/proof/detail/label_beliefs.hpp>
#include <shardweave/solve/proof/detail/proof_at_hand.hpp>
#include <shardweave/solve/proof/detail/proof_effort.hpp>
#include <shardweave/solve/proof/detail/proof_record.hpp>
#include <shardweave/solve/proof/detail/proof_rest.hpp>
#include <shardweave/solve/proof/detail/settling_program.hpp>
#include <shardweave/solve/search/detail/bounded_search.hpp>
#include <shardweave/solve/search/detail/climb.hpp>
#include <shardweave/solve/search/detail/part_problem.hpp>
#include <shardweave/solve/search/detail/split.hpp>
#include <shardweave/solve/search/detail/strong_branching.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The relaxation of a search for a proof, of what eliminations left.

namespace shardweave::inline v0::detail {

/// Bounds the subproblems of a search for a proof by multipliers that a certificate can state, and reduces each by
/// steps that it can state: what is left of a subproblem is the root of its parts. `price_ascent` raises the bound,
/// labels are fixed by the multipliers' own bounds, small rests are settled by dynamic programs. Rows become knapsacks
/// where that closes enough of the gap to the incumbent; without one they stay prices.
template <cost_value Cost>
class rest_relaxation {
 public:
  /// A warm start of the ascent, in terms of the compiled problem; and the root.
  struct memory {
    std::shared_ptr<const ascent_memory> messages = {};
    std::shared_ptr<const proof_rest<Cost>> root = {};
    /// Labels of a subproblem of which this one is a part, and which no dynamic program closed.
    std::size_t unsettled = std::numeric_limits<std::size_t>::max();
    /// Labels of one in which rows as knapsacks gained too little.
    std::size_t tried = std::numeric_limits<std::size_t>::max();
  };
  using part = open_part<memory>;
  static constexpr search_order order = search_order::least_bound_first;

  /// \param best   the incumbent, which prunes subproblems
  /// \param proofs  checks `record`, and decides when to end
  /// \param names   variables of the compiled problem
  /// \pre all references outlive this object
  rest_relaxation(const stated_reduction<Cost>& reduce, const incumbent<Cost>& best, proof_at_hand<Cost>& proofs,
                  const proof_effort& effort, proof_record<Cost, rounded_problem>& record, std::size_t names)
      : reduce_(reduce), best_(best), proofs_(proofs), effort_(effort), record_(record), branch_(names) {}

  [[nodiscard]] bool goes_on(std::size_t parts) {
    proofs_.look();
    return parts < std::max<std::size_t>(effort_.nodes, 1) && !is_over();
  }
  [[nodiscard]] bool is_over() const { return proofs_.expired(); }
  [[nodiscard]] bool closes(double bound) const { return proves_claim(best_, bound); }
  [[nodiscard]] bool is_unfinished(const part&) const { return gains_ || is_over(); }

  [[nodiscard]] bool open(part& here, const part_visit&) {
    constexpr std::size_t most_rounds = 5;
    ascent_.reset();
    work_on(here.known.root);
    now_ = whole_->with(root(), here.allowed);
    for (std::size_t round = 0; now_ && round < most_rounds && is_worth_reducing(); ++round) {
      // until no row rules out any more: what a checker removes row by row comes to the same in the end
      while (now_ && !is_decided() && rule_out(here)) {
      }
      if (!now_ || is_decided() || !reduce(here)) break;
    }
    return now_.has_value();
  }
  void raise(part& here, const part_visit& visit) {
    const compact_problem<Cost>& p = now_->compact();
    const bool large = is_large();
    const std::size_t most = visit.is_first() && !large ? effort_.root_steps : effort_.node_steps;
    const double before = here.bound;
    const auto known = here.known.messages;
    start_from(known, row_work);
    climb_on(most);
    if (!proofs_.may_check()) return;
    double bound = record(here);
    if (!std::isfinite(bound) && !is_over()) {
      start_from(known, 0);
      climb_on(most);
      bound = record(here);
    }
    if (!closes(bound) && p.total_labels() <= here.known.tried / 5 * 4 && !has_knapsacks_ && !is_over())
      bound = std::max(bound, with_knapsacks(here, most, bound));
    here.bound = is_decided() ? bound : std::max(here.bound, bound);
    gains_ = large && here.bound - before >= worthwhile * best_.gap_above(here.bound);
  }
  [[nodiscard]] bool is_decided() const { return now_->compact().size() == 0; }
  [[nodiscard]] const compact_problem<Cost>& root() const { return *root_->problem; }
  [[nodiscard]] const variable_origin& origin() const { return now_->origin; }
  [[nodiscard]] std::vector<char> allowed() const { return allowed_in(root(), now_->kept); }
  [[nodiscard]] const std::vector<double>& label_bounds() const { return label_bounds_; }
  /// Whether a dynamic program closes it, at the prices of its rows. Where none does, its parts are not asked again
  /// until they are a fifth smaller.
  [[nodiscard]] bool settles(part& here) {
    const compact_problem<Cost>& p = now_->compact();
    if (p.total_labels() > std::min(most_labels, here.known.unsettled / 5 * 4) || !proofs_.may_check()) return false;
    const double most = std::min(static_cast<double>(effort_.work), std::max(least_work, work_share * looked_at_));
    const std::optional<std::vector<std::uint32_t>> order_of = settling_order(p, most_numbers, most);
    if (!order_of) return false;
    const priced_labels priced = labels_at_prices(p, prices_);
    const std::optional<double> least = least_in_order(p, std::span<const double>(priced.of_label), *order_of,
                                                       most_numbers, [this] { return is_over(); });
    if (!least) return false;
    if (!closes(priced.apart + *least)) {
      here.known.unsettled = p.total_labels();
      return false;
    }
    std::vector<std::uint32_t> variables;
    for (const std::uint32_t x : *order_of) variables.push_back(now_->origin[x].first);
    record_.settled(here.number, variables);
    here.bound = priced.apart + *least;
    return true;
  }
  static void expanded(std::size_t, double) {}
  [[nodiscard]] branching split(const part& here) {
    const std::vector<double> least = ascent_->label_bounds();
    branching chosen =
        branch_.choose_or_split_by_usage<Cost>(now_->compact(), root_->origin_of(*now_), *ascent_, ascent_->prices(),
                                               least, here.bound, best_, [this] { return is_over(); });
    chosen.bounds.clear();  // of multipliers that are not recorded
    return chosen;
  }

 private:
  /// Of a dynamic program; checkers have room for more.
  static constexpr std::size_t most_numbers = std::size_t{1} << 22;
  /// A dynamic program may look at this share of the costs that all ascents have looked at so far, or at `least_work`
  /// if that is more. The parts of a subproblem are bounded sooner than a longer one ends; a step's claims need one of
  /// about a millisecond's work at least.
  static constexpr double work_share = 0.1;
  static constexpr double least_work = 1 << 20;
  /// Share of the gap that `node_steps` must gain to be made again before a subproblem of many labels is split.
  static constexpr double worthwhile = 0.005;
  static constexpr std::size_t most_labels = 20'000;  ///< of what is reduced: larger rests are not kept for each part

  /// Work limit of `price_ascent::strengthen`.
  static constexpr std::size_t row_work = 1 << 22;
  /// Of the gap that prices leave, the share that rows as knapsacks must close to be worth their time.
  static constexpr double least_share = 0.01;

  /// \param work  of rows as knapsacks; 0: there are none
  void start_from(const std::shared_ptr<const ascent_memory>& known, std::size_t work) {
    ascent_.emplace(now_->compact());
    if (known) ascent_->start(*known, root_->origin_of(*now_), work);
  }
  void climb_on(std::size_t most) {
    const compact_problem<Cost>& p = now_->compact();
    const auto of_step = 2 * static_cast<double>(costs_of(p));  // two passes
    const auto look = [&](std::size_t, bool) {
      looked_at_ += of_step;
      return !closes(ascent_->bound()) && !is_over();
    };
    climb(
        *ascent_, p.size(), most, [&] { return best_.upper(); }, look);
  }
  /// How many costs a problem has, of labels and of classes of edges.
  [[nodiscard]] static std::size_t costs_of(const compact_problem<Cost>& p) {
    std::size_t costs = p.total_labels();
    for (const compact_edge& e : p.edges()) costs += p.table(e).row_classes() * p.table(e).column_classes();
    return costs;
  }
  /// Records the multipliers of the ascent, which the parts start from. \returns the bound that they prove; of rows as
  /// knapsacks whose amounts have no number, minus infinity, and nothing is recorded
  double record(part& here) {
    const compact_problem<Cost>& p = now_->compact();
    dual_values dual = tamed(ascent_->multipliers());
    if (is_decided()) dual.of_row.assign(p.rows().size(), 0.0);  // a decided labeling satisfies the rows without prices
    const std::vector<row_amounts> rows = ascent_->amounts();
    has_knapsacks_ = !rows.empty();
    if (!are_finite(rows)) return -std::numeric_limits<double>::infinity();
    record_.bounded(here.number, (*root_->in_rest)(p, now_->origin, now_->kept, dual, nullptr, nullptr, rows));
    label_beliefs beliefs = beliefs_by(p, dual, rows);
    label_bounds_ = std::move(beliefs.excess);
    for (double& b : label_bounds_) b += beliefs.bound;
    prices_ = std::move(dual.of_row);
    if (!is_decided())
      here.known.messages = std::make_shared<const ascent_memory>(ascent_->memory(root_->origin_of(*now_)));
    return beliefs.bound;
  }
  /// Goes on with rows as knapsacks, and back to prices if they gain too little. \returns the bound that they prove
  double with_knapsacks(part& here, std::size_t most, double before) {
    const auto known = here.known.messages;
    here.known.tried = now_->compact().total_labels();
    if (!ascent_->strengthen(row_work, least_share * (best_.upper() - before))) return before;
    climb_on(most);
    if (!proofs_.may_check()) return before;
    const double bound = record(here);
    if (bound - before >= least_share * (best_.upper() - before)) return bound;
    start_from(known, 0);
    climb_on(1);
    return record(here);
  }
  [[nodiscard]] static bool are_finite(const std::vector<row_amounts>& rows) {
    for (const row_amounts& row : rows)
      for (const row_amounts::member& m : row.members)
        if (!std::ranges::all_of(m.amounts, [](double a) { return std::isfinite(a); })) return false;
    return true;
  }

  void work_on(std::shared_ptr<const proof_rest<Cost>> root) {
    if (root_ != root) {
      root_ = std::move(root);
      whole_ = part_problem<Cost>::whole(placement_problem<Cost>(root_->problem));
    }
    record_.work_on(*root_->problem, *root_->in_rest);
  }
  [[nodiscard]] bool is_large() const { return now_->compact().total_labels() >= strong_branching::least_labels; }
  [[nodiscard]] bool is_worth_reducing() const {
    return !is_decided() && now_->compact().total_labels() <= most_labels && !is_over();
  }

  /// Removes labels that a row has no room for, row by row. \returns whether there were any
  bool rule_out(part& here) {
    const compact_problem<Cost>& p = now_->compact();
    const auto rows = p.rows();
    if (rows.empty()) return false;
    range_sums of_least(rows.size());
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (const usage_segment& s : p.segments(x)) of_least.add(s.begin, s.end, *std::ranges::min_element(s.usage));
    std::vector<double> room = of_least.values();
    for (std::size_t r = 0; r < room.size(); ++r) room[r] = rows[r].high - room[r];
    const range_minimum least_room(std::vector<double>{room});
    std::set<std::size_t> used;
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (const usage_segment& s : p.segments(x)) {
        const double least = *std::ranges::min_element(s.usage), most = least_room(s.begin, s.end);
        for (strategy l = 0; l < s.usage.size(); ++l) {
          if (s.usage[l] - least <= most + tolerance) continue;
          const auto& [of_root, labels] = now_->origin[x];
          here.allowed[root().label_start(of_root) + labels[l]] = 0;
          const auto begin = room.begin();
          used.insert(static_cast<std::size_t>(std::min_element(begin + s.begin, begin + s.end) - begin));
        }
      }
    for (const std::size_t r : used)
      here.number = record_.narrowed(
          here.number, {.only_limits = true, .prices = {{.budget = rows[r].budget, .time = rows[r].time, .price = 1}}});
    if (!used.empty()) now_ = whole_->with(root(), here.allowed);
    return !used.empty();
  }
  /// Reduces what is left, which becomes the root. \returns whether anything changed
  bool reduce(part& here) {
    if (*held_ > most_held) return false;
    proof_rest<Cost> rest = root_->restricted(*now_);
    auto r = reduce_(rest, has_whole_usage(now_->compact()));
    if (!r) return false;
    here.number = record_.reduced(here.number, std::move(*r));
    here.known.root = kept(std::move(rest));
    work_on(here.known.root);
    here.allowed.assign(root().total_labels(), 1);
    now_ = *whole_;
    return true;
  }
  /// A root that is counted as long as parts have it.
  [[nodiscard]] std::shared_ptr<const proof_rest<Cost>> kept(proof_rest<Cost> rest) const {
    const std::size_t costs = costs_of(*rest.problem);
    *held_ += costs;
    return {new proof_rest<Cost>(std::move(rest)), [held = held_, costs](const proof_rest<Cost>* gone) {
              *held -= costs;
              delete gone;
            }};
  }
  /// Whether sums of usage are the same in whatever order they are added up, as a label that dominates others must use
  /// no more for who checks that.
  [[nodiscard]] static bool has_whole_usage(const compact_problem<Cost>& p) {
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (const usage_segment& s : p.segments(x))
        for (const double u : s.usage)
          if (u != std::floor(u) || std::abs(u) > 0x1p40) return false;
    return true;
  }

  /// Costs of all roots that open parts have: of each there are three, exact, rounded and the solver's, some 40 bytes.
  static constexpr std::size_t most_held = std::size_t{1} << 25;
  static constexpr double tolerance = 0x1p-17;  ///< of usage, twice that of a checker

  const stated_reduction<Cost>& reduce_;
  const incumbent<Cost>& best_;
  proof_at_hand<Cost>& proofs_;
  proof_effort effort_;
  proof_record<Cost, rounded_problem>& record_;
  strong_branching branch_;
  std::shared_ptr<std::size_t> held_ = std::make_shared<std::size_t>(0);  ///< costs of roots
  std::shared_ptr<const proof_rest<Cost>> root_ = nullptr;                ///< of the present subproblem
  std::optional<part_problem<Cost>> whole_ = std::nullopt;                ///< all of it
  std::optional<part_problem<Cost>> now_ = std::nullopt;                  ///< the present subproblem
  std::optional<price_ascent<Cost>> ascent_ = std::nullopt;               ///< on it
  std::vector<double> label_bounds_ = {}, prices_ = {};                   ///< of its labels; of its rows
  double looked_at_ = 0;                                                  ///< costs, by all ascents
  bool has_knapsacks_ = false;                                            ///< of the multipliers recorded last
  bool gains_ = false;                                                    ///< whether the last pace gained enough
};

}  // namespace shardweave::inline v0::detail
