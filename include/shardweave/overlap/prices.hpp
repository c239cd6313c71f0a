#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/overlap/detail/sweep.hpp>
#include <shardweave/overlap/hideable.hpp>
#include <shardweave/overlap/window.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// The dual of hiding: what computation is worth, and the bounds that follow.

namespace shardweave::inline v0 {

/// A number for a count of any time.
template <duration_value Time>
[[nodiscard]] constexpr double as_double(Time t) {
  if constexpr (std::is_same_v<Time, nanoseconds>)
    return static_cast<double>(t.count());
  else
    return static_cast<double>(t);
}

/// Prices in [0, 1], one per position and channel: what another unit of computation there would save. For a
/// demand they say how much of a unit its communication may count as saved, its relief:
/// 1 - the least price in its window.
///
/// For any prices, any computation c and any demands with amounts a, the savings are at most
/// sum price * c + sum relief * a. So a placement in which computation counts 1 - (its prices of all channels)
/// and communication 1 - relief costs at most what the placement with its savings costs: any lower bound on
/// the first is one on the second.
class hiding_prices {
 public:
  /// \param prices     of channel 0 by position, then of channel 1, and so on
  /// \param positions  length of the order
  /// \throws error naming a price outside [0, 1], or a list that is no multiple of `positions`
  /// Complexity: O(size log positions)
  hiding_prices(std::vector<double> prices, std::size_t positions) : positions_(positions) {
    if (positions == 0 ? !prices.empty() : prices.size() % positions != 0)
      refuse(error_category::input, std::to_string(prices.size()) + " prices, expected a multiple of the " +
                                        std::to_string(positions) + " positions");
    for (std::size_t i = 0; i < prices.size(); ++i)
      if (!(prices[i] >= 0 && prices[i] <= 1))
        refuse(error_category::input,
               "price " + std::to_string(i) + " is " + number_text(prices[i]) + ", expected a number from 0 to 1");
    // level k holds minima of 2^k neighbours; those that reach into the next channel are never asked for
    least_.push_back(std::move(prices));
    for (std::size_t width = 1; 2 * width <= positions; width *= 2) {
      const std::vector<double>& below = least_.back();
      std::vector<double> level(below.size());
      for (std::size_t i = 0; i + width < below.size(); ++i) level[i] = std::min(below[i], below[i + width]);
      least_.push_back(std::move(level));
    }
  }

  [[nodiscard]] std::size_t positions() const { return positions_; }
  [[nodiscard]] std::size_t channels() const { return positions_ == 0 ? 0 : least_[0].size() / positions_; }
  /// By channel, then by position.
  [[nodiscard]] std::span<const double> all() const { return least_[0]; }
  /// \pre position < positions(), channel < channels()
  [[nodiscard]] double price(std::size_t position, std::size_t channel = 0) const {
    return least_[0][channel * positions_ + position];
  }
  /// What computation of a position counts less: the sum of its prices. With several channels it may pass 1.
  /// Complexity: O(channels)
  [[nodiscard]] double total_price(std::size_t position) const {
    double sum = 0;
    for (std::size_t k = 0; k < channels(); ++k) sum += price(position, k);
    return sum;
  }
  /// What a unit of communication with this window counts less, in [0, 1]; 0 if no position can hide it.
  /// \pre channel < channels(), unless there are no positions
  /// Complexity: O(1)
  [[nodiscard]] double relief(const window& where, std::size_t channel = 0) const {
    const std::optional<window> w = detail::normalized(where, positions_, 0);
    if (!w) return 0;
    const double least = w->except == no_position ? minimum(w->first, w->last, channel)
                                                  : std::min(minimum(w->first, w->except - 1, channel),
                                                             minimum(w->except + 1, w->last, channel));
    return 1 - least;
  }

 private:
  double minimum(std::size_t first, std::size_t last, std::size_t channel) const {
    const auto k = static_cast<std::size_t>(std::bit_width(last - first + 1)) - 1;
    const std::size_t start = channel * positions_;
    return std::min(least_[k][start + first], least_[k][start + last + 1 - (std::size_t{1} << k)]);
  }

  std::size_t positions_;
  std::vector<std::vector<double>> least_;
};

/// No savings exceed this, whatever the prices. Equal to the savings for `best_prices`.
/// \pre `prices` has the positions of `computation` and every channel of `demands`
/// Complexity: O(k n + m)
template <class Computation, class Demands, class Time = typename detail::time_of<Computation>::type>
[[nodiscard]] double savings_bound(const hiding_prices& prices, const Computation& computation,
                                   const Demands& demands) {
  if constexpr (detail::may_hide<Computation, Demands>()) {
    double bound = 0;
    for (std::size_t q = 0; q < prices.positions(); ++q)
      bound += prices.total_price(q) * as_double(Time(computation[q]));
    for (const hideable<Time>& d : demands) bound += prices.relief(d.where, d.channel) * as_double(d.amount);
    return bound;
  }
}

namespace detail {

/// A least cut of one channel, as marks by position: computation inside is used up, demands inside windows of
/// marked positions are exposed, all others are hidden.
///
/// For an exposed demand take the last position s, up to its end t, that is idle or serves a demand which ends
/// after t. From s + 1 to t no position is idle and all serve demands that end by t; those were released after
/// s, or s would have served them first. These runs are the cut. Demands that leave one position out make it
/// larger in two ways only: everything, or everything but one position.
template <class Time, class Computation, class Demands>
std::vector<bool> least_cut(const Computation& computation, const Demands& demands,
                            const std::vector<std::optional<window>>& windows, const std::vector<std::size_t>& chosen,
                            std::vector<Time>& hidden) {
  const std::size_t n = std::ranges::size(computation);
  const sweep_result<Time> swept = sweep_channel<Time>(computation, demands, windows, chosen, hidden);

  std::vector<std::size_t> latest(n, 0);  // the latest end that a position serves, 1-based; idle counts as never
  for (const hidden_piece<Time>& p : swept.pieces)
    latest[p.position] = std::max(latest[p.position], windows[p.demand]->last + 1);
  for (std::size_t q = 0; q < n; ++q)
    if (swept.idle[q] > Time{}) latest[q] = no_position;
  std::vector<bool> exposes(n), marked(n);
  Time value{}, spread{}, everything{};  // ordinary savings; amounts that leave one out; all computation
  std::vector<Time> without(n);          // by position: amounts that leave it out, less ordinary ones that use it
  std::vector<Time> change(n + 1);
  for (const std::size_t d : chosen) {
    const window& w = *windows[d];
    if (w.except != no_position) {
      spread += demands[d].amount;
      without[w.except] += demands[d].amount;
      continue;
    }
    value += hidden[d];
    change[w.first] += demands[d].amount;
    change[w.last + 1] -= demands[d].amount;
    if (hidden[d] < demands[d].amount) exposes[w.last] = true;
  }

  std::vector<std::size_t> rising;  // positions whose `latest` is larger than all that follow
  std::size_t marked_from = n;      // runs end at growing positions; each is marked backwards up to the last one
  std::vector<std::size_t> run_begin(n, no_position);
  for (std::size_t t = 0; t < n; ++t) {
    while (!rising.empty() && latest[rising.back()] <= latest[t]) rising.pop_back();
    rising.push_back(t);
    if (!exposes[t]) continue;
    const auto after = std::ranges::partition_point(rising, [&](std::size_t q) { return latest[q] > t + 1; });
    run_begin[t] = after == rising.begin() ? 0 : *(after - 1) + 1;
  }
  for (std::size_t t = n; t-- > 0;) {
    if (run_begin[t] != no_position) marked_from = std::min(marked_from, run_begin[t]);
    marked[t] = marked_from <= t;
    if (marked_from == t) marked_from = n;
  }

  if (spread > Time{}) {
    Time using_it{};
    for (std::size_t q = 0; q < n; ++q) everything += computation[q];
    Time least = std::min(Time(value + spread), everything);
    const bool all = least == everything;
    std::size_t left_out = no_position;
    for (std::size_t q = 0; q < n; ++q) {
      using_it += change[q];
      const Time cut = everything - computation[q] + using_it + (spread - without[q]);
      if (cut < least) least = cut, left_out = q;
    }
    if (all || left_out != no_position) marked.assign(n, true);
    if (left_out != no_position) marked[left_out] = false;
  }
  return marked;
}

}  // namespace detail

/// The best prices for given computation and demands, each 0 or 1: a minimum cut of the network in which computation
/// flows to the demands that it may hide. `savings_bound` with them equals the savings, which proves both.
/// \throws error as `hide`
/// Complexity: O(k n log n + m), with a factor log_64 m
template <class Computation, class Demands, class Time = typename detail::time_of<Computation>::type>
[[nodiscard]] hiding_prices best_prices(const Computation& computation, const Demands& demands) {
  if constexpr (detail::may_hide<Computation, Demands>()) {
    const auto by_channel = detail::checked<Time>(computation, demands);
    std::vector<Time> hidden(std::ranges::size(demands));
    std::vector<double> prices;
    for (const std::vector<std::size_t>& chosen : by_channel.chosen)
      for (const bool used_up : detail::least_cut<Time>(computation, demands, by_channel.windows, chosen, hidden))
        prices.push_back(used_up ? 1 : 0);
    return hiding_prices(std::move(prices), std::ranges::size(computation));
  }
}

}  // namespace shardweave::inline v0
