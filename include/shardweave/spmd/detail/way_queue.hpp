#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace shardweave::inline v0::detail {

/// States of a search for the cheapest ways, the next one first: by cost, then by number of steps, then by state. Each
/// stands in it once, at its best offer.
/// Complexity: O(log states) per offer that is better and per state that is taken
class way_queue {
 public:
  static constexpr std::uint32_t none = ~0U;
  /// The best offer of a state.
  struct offer_made {
    double cost = std::numeric_limits<double>::infinity();
    std::uint32_t steps = none;
    std::uint32_t before = none;  ///< the state that it came from
  };
  struct entry {
    double cost = 0;
    std::uint32_t steps = 0;
    std::uint32_t state = 0;
  };

  void begin(std::size_t states) {
    heap_.clear();
    best_.assign(states, {});
    place_.assign(states, none);
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::uint32_t before(std::uint32_t state) const { return best_[state].before; }

  /// Offers a way to a state: it counts if it is cheaper than the best so far, or as cheap in fewer steps, or that from
  /// a state of a lower number. \pre the state was not taken, or the way is no better
  void offer(double cost, std::uint32_t steps, std::uint32_t state, std::uint32_t before) {
    offer_made& best = best_[state];
    if (cost > best.cost) return;
    const bool is_ahead = cost < best.cost || steps < best.steps;
    if (!is_ahead && (steps > best.steps || before >= best.before)) return;
    best = {cost, steps, before};
    if (!is_ahead) return;
    if (place_[state] == none) {
      place_[state] = static_cast<std::uint32_t>(heap_.size());
      heap_.emplace_back();
    }
    rise(place_[state], {cost, steps, state});
  }
  /// \pre !empty()
  entry take() {
    const entry first = heap_.front(), last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return first;
  }

 private:
  static constexpr std::size_t width = 4;  ///< entries below each

  [[nodiscard]] static bool is_before(const entry& a, const entry& b) {
    if (a.cost != b.cost) return a.cost < b.cost;
    return a.steps != b.steps ? a.steps < b.steps : a.state < b.state;
  }
  void put(std::size_t at, const entry& e) {
    heap_[at] = e;
    place_[e.state] = static_cast<std::uint32_t>(at);
  }
  void rise(std::size_t at, const entry& e) {
    for (; at > 0 && is_before(e, heap_[(at - 1) / width]); at = (at - 1) / width) put(at, heap_[(at - 1) / width]);
    put(at, e);
  }
  void sink(const entry& e) {
    std::size_t at = 0;
    while (true) {
      const std::size_t first = at * width + 1;
      if (first >= heap_.size()) break;
      std::size_t least = first;
      for (std::size_t i = first + 1; i < first + width && i < heap_.size(); ++i)
        if (is_before(heap_[i], heap_[least])) least = i;
      if (!is_before(heap_[least], e)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, e);
  }

  std::vector<offer_made> best_;      // by state
  std::vector<std::uint32_t> place_;  // in the heap, by state
  std::vector<entry> heap_;
};

}  // namespace shardweave::inline v0::detail
