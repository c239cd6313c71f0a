#pragma once

#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/savings_layout.hpp>
#include <shardweave/placement/savings_terms.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// Prices of savings, restated for the problem before compilation.

namespace shardweave::inline v0::detail {

/// Restates chain prices as integers by position, where the compiled problem has them by slot.
class stated_prices {
 public:
  /// \pre the problem is the compiled one of a description, which `layout` is of
  template <cost_value Cost>
  stated_prices(const savings_layout& layout, std::size_t channels, const placement_problem<Cost>& problem)
      : number_of_(channels, none) {
    const savings_terms<Cost>* terms = problem.savings();
    if (terms != nullptr) {
      slots_ = terms->slots();
      for (std::uint32_t c = 0; c < terms->channels; ++c) number_of_[terms->channel_of[c]] = c;
    }
    for (const std::uint32_t v : layout.order) {
      const std::uint32_t x = problem.variable_of(v);
      bool computes = false;
      for (strategy l = 0; l < problem.compact().label_count(x) && !layout.idle[v]; ++l)
        computes =
            computes || amount_of(problem.description()->vertices[v].compute[problem.strategy_of(x, l)]) > Cost{};
      slot_at_.push_back(!computes ? idle : terms != nullptr ? terms->slot_of[v] : none);
    }
  }

  /// Rounds the prices to the nearest unit, in `chain` as well.
  [[nodiscard]] savings_prices operator()(std::vector<double>& chain) const {
    constexpr std::int64_t one = std::int64_t{1} << bits;
    savings_prices result{.bits = bits};
    for (std::uint32_t c = 0; c < number_of_.size(); ++c) {
      std::vector<std::int64_t> whole(slots_);
      for (std::size_t s = 0; s < slots_ && number_of_[c] != none; ++s) {
        double& price = chain[number_of_[c] * slots_ + s];
        whole[s] = std::clamp<std::int64_t>(std::llround(std::ldexp(price, bits)), 0, one);
        price = std::ldexp(static_cast<double>(whole[s]), -bits);
      }
      std::int64_t before = 0;
      for (std::uint32_t q = 0; q < slot_at_.size(); ++q) {
        // a position that computes with no remaining label gets the largest price, so that no window has its minimum
        // there
        const std::int64_t here = slot_at_[q] == idle ? one : slot_at_[q] == none ? 0 : whole[slot_at_[q]];
        if (here != before) result.runs.push_back({c, q, here});
        before = here;
      }
    }
    return result;
  }

 private:
  static constexpr int bits = 20;  ///< prices are multiples of 2^-20 in [0, 1]
  static constexpr std::uint32_t none = ~0U, idle = ~0U - 1;
  std::size_t slots_ = 0;
  std::vector<std::uint32_t> number_of_;  ///< per channel of the layout: its number in the chain
  std::vector<std::uint32_t> slot_at_;    ///< per position: its slot
};

}  // namespace shardweave::inline v0::detail
