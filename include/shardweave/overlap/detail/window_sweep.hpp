#pragma once

#include <shardweave/overlap/detail/ranked_set.hpp>
#include <shardweave/overlap/window.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

/// \file
/// The savings of windows of any shape, swept again and again with other amounts.

namespace shardweave::inline v0::detail {

/// What can be sorted is sorted once: windows by where they begin and, as ranks, by where they end.
template <class Time>
class window_sweep {
 public:
  window_sweep() = default;

  /// \param windows  inside positions `first` to `last`, not empty, equal ones at most once; one that leaves a
  ///                 position out spans all others
  window_sweep(std::size_t first, std::size_t last, const std::vector<window>& windows)
      : first_(first), last_(last), rank_of_(windows.size(), no_position), except_of_(windows.size(), no_position) {
    std::vector<std::size_t> ordinary;
    for (std::size_t i = 0; i < windows.size(); ++i)
      (windows[i].except == no_position ? ordinary.emplace_back(i) : except_of_[i] = windows[i].except - first);
    const auto sort_by = [&](std::size_t window::*end) {
      std::ranges::stable_sort(ordinary, {}, [&, end](std::size_t i) { return windows[i].*end; });
    };
    sort_by(&window::last);
    for (const std::size_t i : ordinary) {
      rank_of_[i] = ends_.size();
      ends_.push_back(windows[i].last);
    }
    sort_by(&window::first);
    for (const std::size_t i : ordinary) {
      by_begin_.push_back(rank_of_[i]);
      begins_.push_back(windows[i].first);
    }
    clear();
  }

  /// No amounts.
  void clear() {
    amounts_.assign(ends_.size(), Time{});
    without_.assign(last_ - first_ + 1, Time{});
    spread_ = Time{};
  }
  void add_amount(std::size_t number, Time change) {
    if (except_of_[number] == no_position) {
      amounts_[rank_of_[number]] += change;
    } else {
      without_[except_of_[number]] += change;
      spread_ += change;
    }
  }

  /// Glover's rule for ordinary windows. Windows that leave one position out add its cuts to the least cut so far:
  /// everything, and everything but one position.
  /// Complexity: O(positions + windows) word operations
  template <class Computation>
  [[nodiscard]] Time savings(const Computation& computation) {
    rest_.assign(amounts_.begin(), amounts_.end());
    ranked_set open(ends_.size());
    Time value{}, everything{};
    std::size_t next = 0;
    for (std::size_t q = first_; q <= last_; ++q) {
      for (; next < begins_.size() && begins_[next] == q; ++next)
        if (rest_[by_begin_[next]] > Time{}) open.insert(by_begin_[next]);
      Time left = computation[q];
      everything += left;
      while (left > Time{} && !open.empty()) {
        const std::size_t r = open.least();
        if (ends_[r] < q) {
          open.erase(r);
          continue;
        }
        const Time served = std::min(left, rest_[r]);
        rest_[r] -= served;
        left -= served;
        value += served;
        if (!(rest_[r] > Time{})) open.erase(r);
      }
    }
    if (!(spread_ > Time{})) return value;
    use_.assign(without_.size() + 1, Time{});
    for (std::size_t i = 0; i < begins_.size(); ++i) {
      use_[begins_[i] - first_] += amounts_[by_begin_[i]];
      use_[ends_[by_begin_[i]] + 1 - first_] -= amounts_[by_begin_[i]];
    }
    Time least = std::min(everything, Time(value + spread_)), using_it{};
    for (std::size_t i = 0; i < without_.size(); ++i) {
      using_it += use_[i];
      least = std::min(least, Time(everything - computation[first_ + i] + using_it + spread_ - without_[i]));
    }
    return least;
  }

 private:
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  std::vector<std::size_t> rank_of_, except_of_;  ///< by number of the window: one of the two
  std::vector<std::size_t> ends_;                 ///< by rank, rising
  std::vector<std::size_t> begins_, by_begin_;    ///< rising, and the ranks of those windows
  std::vector<Time> amounts_;                     ///< by rank
  std::vector<Time> without_;                     ///< by position: amounts of windows over all others
  Time spread_{};                                 ///< their sum
  std::vector<Time> rest_, use_;                  ///< scratch
};

}  // namespace shardweave::inline v0::detail
