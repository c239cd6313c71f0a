#pragma once

#include <shardweave/overlap/detail/ranked_set.hpp>
#include <shardweave/overlap/hideable.hpp>
#include <shardweave/overlap/window.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

/// \file
/// The sweep behind savings and prices, one channel at a time.

namespace shardweave::inline v0::detail {

/// What is known after the sweep of a channel.
template <class Time>
struct sweep_result {
  std::vector<hidden_piece<Time>> pieces;  ///< of the demands with ordinary windows, by position
  std::vector<Time> idle;                  ///< computation that hides nothing, by position
};

/// 0, 1, ... `count` - 1 sorted by a key below `limit`; equal keys keep their order.
/// Complexity: O(count + limit)
template <class Key>
std::vector<std::size_t> counted(std::size_t count, std::size_t limit, Key key) {
  std::vector<std::size_t> start(limit + 1), result(count);
  for (std::size_t i = 0; i < count; ++i) ++start[key(i) + 1];
  for (std::size_t k = 0; k < limit; ++k) start[k + 1] += start[k];
  for (std::size_t i = 0; i < count; ++i) result[start[key(i)]++] = i;
  return result;
}

/// Glover's rule: each position serves the open demand whose window ends first.
///
/// \param chosen   numbers of the demands of this channel, with `windows[d]` given
/// \param windows  normalized; those that leave a position out are passed over
/// \param hidden   added to, by demand
template <class Time, class Computation, class Demands>
sweep_result<Time> sweep_channel(const Computation& computation, const Demands& demands,
                                 const std::vector<std::optional<window>>& windows, std::vector<std::size_t> chosen,
                                 std::vector<Time>& hidden) {
  const std::size_t positions = std::ranges::size(computation), count = chosen.size();
  std::erase_if(chosen, [&](std::size_t d) { return windows[d]->except != no_position; });
  const auto by_end = counted(chosen.size(), positions, [&](std::size_t i) { return windows[chosen[i]]->last; });
  std::vector<std::size_t> rank(chosen.size());
  for (std::size_t r = 0; r < rank.size(); ++r) rank[by_end[r]] = r;
  const auto by_begin = counted(chosen.size(), positions, [&](std::size_t i) { return windows[chosen[i]]->first; });

  sweep_result<Time> result;
  result.idle.reserve(positions);
  result.pieces.reserve(positions + count);
  ranked_set open(chosen.size());
  auto next = by_begin.begin();
  for (std::size_t q = 0; q < positions; ++q) {
    for (; next != by_begin.end() && windows[chosen[*next]]->first == q; ++next)
      if (demands[chosen[*next]].amount > Time{}) open.insert(rank[*next]);
    Time left = computation[q];
    while (left > Time{} && !open.empty()) {
      const std::size_t r = open.least(), d = chosen[by_end[r]];
      if (windows[d]->last < q) {
        open.erase(r);
        continue;
      }
      const Time wanted = Time(demands[d].amount - hidden[d]);
      const Time served = std::min(left, wanted);
      // rounding must not leave, or take, a rest
      const bool is_done = !(served < wanted);
      hidden[d] = is_done ? demands[d].amount : Time(hidden[d] + served);
      if (is_done) open.erase(r);
      left -= served;
      result.pieces.push_back({d, q, served});
    }
    result.idle.push_back(left);
  }
  return result;
}

/// Lets demands that may use every position but one draw on what the sweep left idle.
///
/// Such a demand takes any idle position but the one it leaves out, p. If idle time remains only there, a
/// shortest augmenting path has the form: the demand takes a position q from another one, which moves to p.
/// (A longer one would pass a last q with a piece that can move to p, and the demand may use q itself.) So
/// these two steps end in a maximum, and what others hide never shrinks. Linear: pieces made here cannot move
/// to p, and p stays the only idle position once it is, so one cursor passes each piece once.
template <class Time, class Demands>
void fill_idle(const Demands& demands, const std::vector<std::optional<window>>& windows,
               const std::vector<std::size_t>& chosen, sweep_result<Time>& swept, std::vector<Time>& hidden) {
  std::vector<std::size_t> idle;
  for (std::size_t q = swept.idle.size(); q-- > 0;)
    if (swept.idle[q] > Time{}) idle.push_back(q);
  std::size_t cursor = 0;
  for (const std::size_t d : chosen) {
    const std::size_t without = windows[d]->except;
    if (without == no_position) continue;
    const auto wanted = [&] { return Time(demands[d].amount - hidden[d]); };
    while (wanted() > Time{} && !idle.empty()) {
      if (idle.back() == without) {
        if (idle.size() == 1) break;
        std::swap(idle.back(), idle[idle.size() - 2]);
      }
      const std::size_t q = idle.back();
      const Time served = std::min<Time>(swept.idle[q], wanted());
      hidden[d] = served < wanted() ? Time(hidden[d] + served) : demands[d].amount;
      swept.idle[q] -= served;
      swept.pieces.push_back({d, q, served});
      if (!(swept.idle[q] > Time{})) idle.pop_back();
    }
    if (idle.size() != 1 || idle.back() != without) continue;
    while (cursor < swept.pieces.size() && wanted() > Time{} && swept.idle[without] > Time{}) {
      const hidden_piece<Time> piece = swept.pieces[cursor];
      if (piece.position == without || !windows[piece.demand]->contains(without)) {
        ++cursor;
        continue;
      }
      const Time moved = std::min<Time>({piece.amount, wanted(), swept.idle[without]});
      swept.pieces[cursor].amount -= moved;
      swept.pieces.push_back({piece.demand, without, moved});
      swept.pieces.push_back({d, piece.position, moved});
      hidden[d] = moved < wanted() ? Time(hidden[d] + moved) : demands[d].amount;
      swept.idle[without] -= moved;
      if (!(swept.pieces[cursor].amount > Time{})) ++cursor;
    }
    if (!(swept.idle[without] > Time{})) idle.pop_back();
  }
}

/// The numbers of the demands by channel, and their windows; those with nothing to hide behind are left out.
struct demands_by_channel {
  std::vector<std::optional<window>> windows;
  std::vector<std::vector<std::size_t>> chosen;
};

/// Checks times and windows.
template <class Time, class Computation, class Demands>
demands_by_channel checked(const Computation& computation, const Demands& demands) {
  const std::size_t positions = std::ranges::size(computation);
  demands_by_channel result;
  result.chosen.resize(channel_count(demands));
  for (std::size_t d = 0; d < std::ranges::size(demands); ++d) {
    refuse_unless_time<Time>(demands[d].amount, "the amount of demand", d);
    result.windows.push_back(normalized(demands[d].where, positions, d));
    if (result.windows.back()) result.chosen[demands[d].channel].push_back(d);
  }
  for (std::size_t q = 0; q < positions; ++q)
    refuse_unless_time<Time>(computation[q], "the computation at position", q);
  return result;
}

}  // namespace shardweave::inline v0::detail
