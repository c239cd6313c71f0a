#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/split.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// \file
/// Branch and bound over sets of labels, with the relaxation and a proof record as policies.

namespace shardweave::inline v0::detail {

/// A subproblem: labelings of the root problem that are still to be searched.
/// \tparam Memory  warm start that its parent's relaxation leaves
template <class Memory>
struct open_part {
  std::vector<char> allowed;  ///< per label of all variables of its root: whether it is left
  Memory known = {};
  double bound = -std::numeric_limits<double>::infinity();
  std::uint32_t number = 0;  ///< its number in the record
  std::size_t order = 0;     ///< ties of bounds are broken by the least one; depth first takes the greatest of all
};

/// The number of a subproblem in the order of exploration, and of a round of reduced-cost fixing in it.
struct part_visit {
  std::size_t part = 1;   ///< 1 is the root
  std::size_t round = 0;  ///< of reduced-cost fixing in this subproblem
  [[nodiscard]] bool is_root() const { return part == 1; }
  [[nodiscard]] bool is_first() const { return part == 1 && round == 0; }
};

enum class search_order : std::uint8_t { least_bound_first, depth_first };

/// Records nothing, where no proof is wanted.
struct no_record {
  static constexpr bool explains = false;
  static void refuted(std::uint32_t, const std::vector<char>&) {}
  [[nodiscard]] static std::uint32_t narrowed(std::uint32_t) { return 0; }
  [[nodiscard]] static std::uint32_t parted(std::uint32_t, std::uint32_t, const std::vector<std::vector<strategy>>&) {
    return 0;
  }
};

/// Branch and bound: raises the bound of a subproblem, removes labels that no better labeling has (reduced-cost fixing)
/// while enough of them go, and splits the rest, until no open subproblem can contain anything better than the
/// incumbent.
///
/// \tparam Relaxation  bounds a subproblem, and updates the incumbent with what it finds:
///   - `memory`, `order`: a copyable type for warm starts; a `search_order`
///   - `goes_on(parts)`: whether another subproblem may be explored after so many
///   - `open(part, visit)`: loads the subproblem, of which it may change the root and what is left of that; false if
///     nothing feasible is left in it
///   - `root()`: the root of the subproblem that was loaded: that of the search, or what was made of it
///   - `raise(part, visit)`: raises `part.bound`, sets `part.known`
///   - `is_decided()`: no choice is left; `part.bound` is then final
///   - `closes(bound)`: whether a subproblem of this bound is pruned
///   - `is_unfinished(part)`: whether it is to be raised once more before it is split, as when the time is up
///   - `origin()`: variables and labels of its problem as those of the root
///   - `allowed()`: labels of the root that are left
///   - `label_bounds()`: per label of all variables of its problem, a lower bound on labelings with it
///   - `settles(part)`: whether the rest was solved without splitting
///   - `split(part)`: how to branch, for its problem; without parts it stays open as it is
///   - `expanded(parts, bound)`: called after each subproblem, with a lower bound on all open ones
/// \tparam Record  what is told of it: as `no_record`, which records nothing; whether it `explains`
template <cost_value Cost, class Relaxation, class Record = no_record>
class bounded_search {
 public:
  using part = open_part<typename Relaxation::memory>;

  /// \param worthwhile  share of the labels that must go for another round of fixing
  /// \pre all references outlive this object
  bounded_search(const compact_problem<Cost>& root, const incumbent<Cost>& best, Relaxation& relaxation, Record& record,
                 double worthwhile)
      : root_(root), best_(best), relaxation_(relaxation), record_(record), worthwhile_(worthwhile) {}

  /// \param allowed  per label whether it is left; empty: all are
  /// \returns as `go_on`
  double run(typename Relaxation::memory known = {}, std::vector<char> allowed = {}) {
    start(std::move(known), std::move(allowed));
    return go_on();
  }
  /// Opens the root.
  /// \param bound  a lower bound on all of it
  void start(typename Relaxation::memory known = {}, std::vector<char> allowed = {}, double bound = -infinity) {
    if (allowed.empty()) allowed.assign(root_.total_labels(), 1);
    open_.push_back({std::move(allowed), std::move(known), bound});
  }
  /// Explores open subproblems while the relaxation does; may be called again after that.
  /// \param at_most  so many of them
  /// \returns a lower bound on labelings that beat the final incumbent; if there are none, its cost or slightly less
  double go_on(std::size_t at_most = std::numeric_limits<std::size_t>::max()) {
    cut_short_ = false;
    for (std::size_t left = at_most; !open_.empty(); --left) {
      if constexpr (Relaxation::order == search_order::least_bound_first)
        if (is_settled(open_.front().bound)) {  // and so are all others
          open_.clear();
          break;
        }
      if (left == 0 || !relaxation_.goes_on(explored_)) {
        cut_short_ = true;
        break;
      }
      std::pop_heap(open_.begin(), open_.end(), comes_later);
      part next = std::move(open_.back());
      open_.pop_back();
      if (is_settled(next.bound)) continue;
      expand(std::move(next));
      relaxation_.expanded(explored_, least_open());
    }
    return std::min({best_.settled(), weakest_, least_open()});
  }

  [[nodiscard]] std::size_t explored() const { return explored_; }
  [[nodiscard]] std::size_t dropped() const { return dropped_; }  ///< labels
  /// Whether it ended with open subproblems.
  [[nodiscard]] bool is_cut_short() const { return cut_short_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  [[nodiscard]] static bool comes_later(const part& a, const part& b) {
    if constexpr (Relaxation::order == search_order::depth_first) return a.order < b.order;
    return a.bound != b.bound ? a.bound > b.bound : a.order > b.order;
  }
  [[nodiscard]] bool is_settled(double bound) const { return relaxation_.closes(bound) || bound >= weakest_; }
  /// The least bound of an open subproblem; +infinity if there is none.
  [[nodiscard]] double least_open() const {
    if (open_.empty()) return infinity;
    if (Relaxation::order == search_order::least_bound_first) return open_.front().bound;
    return std::min_element(open_.begin(), open_.end(), [](const part& a, const part& b) { return a.bound < b.bound; })
        ->bound;
  }
  void push(part next) {
    if (relaxation_.closes(next.bound)) return;
    open_.push_back(std::move(next));
    std::push_heap(open_.begin(), open_.end(), comes_later);
  }

  void expand(part here) {
    ++explored_;
    for (part_visit visit{.part = explored_};; ++visit.round) {
      if (!relaxation_.open(here, visit)) return record_.refuted(here.number, here.allowed);
      relaxation_.raise(here, visit);
      if (relaxation_.is_decided()) {
        weakest_ = std::min(weakest_, here.bound);
        return;
      }
      if (relaxation_.closes(here.bound)) return;
      if (relaxation_.is_unfinished(here)) return push(std::move(here));
      here.allowed = relaxation_.allowed();
      const std::vector<double>& least = relaxation_.label_bounds();
      const variable_origin& origin = relaxation_.origin();
      std::vector<std::size_t> gone;  // label positions in the root
      std::size_t at = 0;
      for (const auto& [x, labels] : origin)
        for (const strategy l : labels)
          if (relaxation_.closes(least[at++])) gone.push_back(relaxation_.root().label_start(x) + l);
      if (gone.empty()) break;
      for (const std::size_t label : gone) here.allowed[label] = 0;
      dropped_ += gone.size();
      here.number = record_.narrowed(here.number);
      if (static_cast<double>(gone.size()) < worthwhile_ * static_cast<double>(least.size())) break;
    }
    if (!relaxation_.settles(here)) divide(std::move(here));
  }

  void divide(part here) {
    const branching chosen = relaxation_.split(here);
    if (chosen.parts.empty()) return push(std::move(here));
    const variable_origin& origin = relaxation_.origin();
    const std::vector<double>& least = relaxation_.label_bounds();
    const auto& [x, labels] = origin[chosen.variable];
    std::size_t start = 0;
    for (std::size_t y = 0; y < chosen.variable; ++y) start += origin[y].second.size();
    const std::size_t of_x = relaxation_.root().label_start(x);
    const std::size_t parts = chosen.parts.size();
    std::vector<std::vector<strategy>> in_root(parts);
    std::vector<double> bounds(parts, infinity);
    for (std::size_t i = 0; i < parts; ++i) {
      for (const strategy l : chosen.parts[i]) {
        in_root[i].push_back(labels[l]);
        bounds[i] = std::min(bounds[i], least[start + l]);
      }
      if (!chosen.bounds.empty()) bounds[i] = std::max(bounds[i], chosen.bounds[i]);
    }
    // a part that is never opened has the multipliers of the whole in the record, which prove no more of it
    if (Record::explains && !best_.is_known()) bounds.assign(parts, here.bound);
    const std::uint32_t first = record_.parted(here.number, x, in_root);
    const std::vector<char> allowed = here.allowed;
    for (const strategy l : labels) here.allowed[of_x + l] = 0;
    made_ += parts;
    for (std::size_t i = 0; i < parts; ++i) {
      part one{here.allowed, here.known, std::max(here.bound, bounds[i]), first + static_cast<std::uint32_t>(i),
               made_ - i};
      for (const strategy l : in_root[i]) one.allowed[of_x + l] = allowed[of_x + l];
      push(std::move(one));
    }
  }

  const compact_problem<Cost>& root_;
  const incumbent<Cost>& best_;
  Relaxation& relaxation_;
  Record& record_;
  double worthwhile_;
  std::vector<part> open_;     ///< a heap
  double weakest_ = infinity;  ///< the least bound of a decided subproblem
  std::size_t explored_ = 0, dropped_ = 0, made_ = 0;
  bool cut_short_ = false;
};

}  // namespace shardweave::inline v0::detail
