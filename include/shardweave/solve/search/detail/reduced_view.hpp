#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/reduce/reduction.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A part of a problem, reduced, and what its labels are called in the whole.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// A problem that is left of the root after steps of narrowing and reduction.
template <cost_value Cost>
class reduced_view {
 public:
  static reduced_view of(restricted_problem<Cost> rest) {
    reduced_view v;
    for (const std::uint32_t x : rest.open) v.origin_.emplace_back(x, rest.kept[x]);
    v.kept_ = rest.kept;
    v.take(std::move(rest));
    return v;
  }
  void narrow(restricted_problem<Cost> rest) {
    variable_origin inner;
    for (std::size_t x = 0; x < rest.kept.size(); ++x) note(x, rest.kept[x]);
    for (const std::uint32_t x : rest.open) inner.push_back(through(x, rest.kept[x]));
    origin_ = std::move(inner);
    take(std::move(rest));
  }
  /// \returns false if no labeling is feasible
  bool reduce(const solve_control& control) {
    const auto step = std::make_shared<reduction<Cost>>(problem(), reduction_limits{}, control);
    if (step->is_infeasible()) return false;
    variable_origin inner;
    for (const auto& [x, labels] : step->origin()) {
      note(x, labels);
      inner.push_back(through(x, labels));
    }
    origin_ = std::move(inner);
    lift_ = [step, outer = std::move(lift_)](std::span<const strategy> labels) { return outer(step->lift(labels)); };
    problem_ = step->take_kernel();
    return true;
  }

  [[nodiscard]] const compact_problem<Cost>& problem() const { return *problem_; }
  [[nodiscard]] std::shared_ptr<const compact_problem<Cost>> shared_problem() const { return problem_; }
  [[nodiscard]] std::vector<strategy> lift(std::span<const strategy> labels) const { return lift_(labels); }
  [[nodiscard]] const variable_origin& origin() const { return origin_; }
  /// Where a label of this problem is among those of the root.
  [[nodiscard]] std::size_t root_label(const compact_problem<Cost>& root, std::size_t x, strategy label) const {
    return root.label_start(origin_[x].first) + origin_[x].second[label];
  }
  /// The root's labels that are left: of variables that are gone, those that they had when they went.
  [[nodiscard]] std::vector<char> allowed_in(const compact_problem<Cost>& root) const {
    std::vector<char> allowed(root.total_labels());
    for (std::size_t x = 0; x < kept_.size(); ++x)
      for (const strategy l : kept_[x]) allowed[root.label_start(x) + l] = 1;
    return allowed;
  }

 private:
  using lift_to_root = std::function<std::vector<strategy>(std::span<const strategy>)>;

  void take(restricted_problem<Cost> rest) {
    problem_ = rest.problem.shared_compact();
    rest.problem = placement_problem<Cost>(compact_problem<Cost>{});  // only the way back is kept
    const auto step = std::make_shared<const restricted_problem<Cost>>(std::move(rest));
    lift_ = [step, outer = std::move(lift_)](std::span<const strategy> labels) {
      return outer ? outer(step->lift(labels)) : step->lift(labels);
    };
  }
  std::pair<std::uint32_t, std::vector<strategy>> through(std::size_t x, std::span<const strategy> labels) const {
    std::pair<std::uint32_t, std::vector<strategy>> result{origin_[x].first, {}};
    for (const strategy l : labels) result.second.push_back(origin_[x].second[l]);
    return result;
  }
  void note(std::size_t x, std::span<const strategy> labels) { kept_[origin_[x].first] = through(x, labels).second; }

  std::shared_ptr<const compact_problem<Cost>> problem_;
  variable_origin origin_;                   ///< per variable, the root's and its labels
  std::vector<std::vector<strategy>> kept_;  ///< per variable of the root
  lift_to_root lift_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
