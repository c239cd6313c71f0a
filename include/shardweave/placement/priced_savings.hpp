#pragma once

#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/savings_layout.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// A stated problem with savings, reduced to one without by prices; bounds on it are bounds with savings.

namespace shardweave::inline v0 {

/// Prices on the savings of a stated problem.
///
/// By LP duality: each unit that is hidden is charged `price(c, q)`, between 0 and 1, to the computation at position q
/// of the order that hides it on channel c, and the rest to the communication. So savings are at most the sum of all
/// computation times its prices, and of all communication times 1 less the least price in its window, over the
/// positions that compute (0 if there are none).
template <cost_value Cost>
class priced_savings {
 public:
  /// \pre `d` is valid and outlives this object
  explicit priced_savings(const placement_description<Cost>& d) : d_(&d), layout_(layout_of(d)) {
    for (const hiding_place& place : layout_.places) channels_ = std::max(channels_, place.channel + 1);
    for (std::size_t q = 0; q < layout_.order.size(); ++q) {
      const std::uint32_t v = layout_.order[q];
      const auto& compute = d.vertices[v].compute;
      computes_.push_back(!layout_.idle[v] &&
                          std::any_of(compute.begin(), compute.end(), [](Cost c) { return amount_of(c) > Cost{}; }));
    }
  }

  [[nodiscard]] const savings_layout& layout() const { return layout_; }
  [[nodiscard]] std::size_t channels() const { return channels_; }

  /// What is wrong with prices, if they are invalid.
  [[nodiscard]] std::optional<std::string> complaint_about(const savings_prices& prices) const {
    constexpr int most_bits = 40;
    if (prices.bits < 0 || prices.bits > most_bits)
      return "has units of " + std::to_string(prices.bits) + " bits, expected 0 to " + std::to_string(most_bits);
    for (const savings_prices::run& r : prices.runs) {
      if (r.channel >= channels_)
        return "names channel " + std::to_string(r.channel) + ", but there are only " + std::to_string(channels_);
      if (r.position >= layout_.order.size())
        return "names position " + std::to_string(r.position) + ", but there are only " +
               std::to_string(layout_.order.size());
      if (r.price < 0 || r.price > std::int64_t{1} << prices.bits)
        return "has a price of " + std::to_string(r.price) + ", expected 0 to " +
               std::to_string(std::int64_t{1} << prices.bits);
    }
    return std::nullopt;
  }

  /// All costs, less what the prices subtract.
  /// \pre the prices are valid
  /// Complexity: O(channels * positions log positions + places + strategies)
  [[nodiscard]] costs_in_place<Cost> costs_at(const savings_prices& prices) const {
    const std::int64_t one = std::int64_t{1} << prices.bits;
    const std::size_t n = layout_.order.size();
    std::vector<std::vector<std::int64_t>> price(channels_, std::vector<std::int64_t>(n));
    for (const savings_prices::run& r : prices.runs)
      std::fill(price[r.channel].begin() + static_cast<std::ptrdiff_t>(r.position), price[r.channel].end(), r.price);
    for (auto& of_channel : price)
      for (std::size_t q = 0; q < n; ++q)
        if (!computes_[q]) of_channel[q] = one;  // so that no window has its minimum there
    std::vector<range_minima> least_of;
    for (const auto& of_channel : price) least_of.emplace_back(of_channel);
    costs_in_place<Cost> result;
    result.bits = prices.bits;
    for (std::uint32_t v = 0; v < d_->vertices.size(); ++v)
      result.vertices.push_back({v, d_->vertices[v].compute, one});
    for (std::size_t q = 0; q < n; ++q) {
      std::int64_t worth = 0;
      for (const auto& of_channel : price) worth += computes_[q] ? of_channel[q] : 0;
      if (worth != 0) result.vertices.push_back({layout_.order[q], amounts_of(layout_.order[q], result), -worth});
    }
    for (const described_edge& e : d_->edges)
      for (const std::uint32_t t : {e.communication, e.transition})
        if (t != no_table) result.edges.push_back({e.from, e.to, d_->tables[t].get(), one});
    std::unordered_map<std::uint32_t, const cost_table<Cost>*> known;
    for (const hiding_place& place : layout_.places) {
      const described_edge& e = d_->edges[place.edge];
      if (e.communication == no_table) continue;
      const window& w = place.where;
      const std::size_t end = std::min(w.last + 1, n);
      const range_minima& minima = least_of[place.channel];
      const std::int64_t least = w.first <= w.except && w.except < end
                                     ? std::min(minima(w.first, w.except, one), minima(w.except + 1, end, one))
                                     : minima(w.first, end, one);
      if (least == one) continue;
      const auto [at, fresh] = known.try_emplace(e.communication, nullptr);
      if (fresh) at->second = amounts_of_table(e.communication, result);
      result.edges.push_back({e.from, e.to, at->second, least - one});
    }
    return result;
  }

 private:
  /// Range minimum in O(1) by a sparse table.
  class range_minima {
   public:
    explicit range_minima(std::vector<std::int64_t> list) : levels_{std::move(list)} {
      for (std::size_t width = 1; 2 * width <= levels_.front().size(); width *= 2) {
        const std::vector<std::int64_t>& before = levels_.back();
        std::vector<std::int64_t> next(before.size() - width);
        for (std::size_t q = 0; q < next.size(); ++q) next[q] = std::min(before[q], before[q + width]);
        levels_.push_back(std::move(next));
      }
    }
    [[nodiscard]] std::int64_t operator()(std::size_t first, std::size_t end, std::int64_t if_empty) const {
      if (first >= end) return if_empty;
      const auto level = static_cast<std::size_t>(std::bit_width(end - first)) - 1;
      return std::min(levels_[level][first], levels_[level][end - (std::size_t{1} << level)]);
    }

   private:
    std::vector<std::vector<std::int64_t>> levels_;  ///< level k: minima of 2^k neighbours
  };

  [[nodiscard]] std::span<const Cost> amounts_of(std::uint32_t v, costs_in_place<Cost>& keeper) const {
    const auto& compute = d_->vertices[v].compute;
    if (std::none_of(compute.begin(), compute.end(), [](Cost c) { return c < Cost{}; })) return compute;
    auto amounts = std::make_shared<std::vector<Cost>>(compute.begin(), compute.end());
    for (Cost& c : *amounts) c = amount_of(c);
    keeper.lists.push_back(amounts);
    return *amounts;
  }
  [[nodiscard]] const cost_table<Cost>* amounts_of_table(std::uint32_t t, costs_in_place<Cost>& keeper) const {
    const cost_table<Cost>& table = *d_->tables[t];
    bool below = false;
    for (std::size_t i = 0; i < table.row_classes(); ++i)
      for (std::size_t j = 0; j < table.column_classes(); ++j) below = below || table.class_cost(i, j) < Cost{};
    if (!below) return &table;
    keeper.tables.push_back(std::make_shared<const cost_table<Cost>>(cost_table<Cost>::from_classes(
        {table.row_class().begin(), table.row_class().end()},
        {table.column_class().begin(), table.column_class().end()}, table.row_classes(), table.column_classes(),
        [&](std::size_t i, std::size_t j) { return amount_of(table.class_cost(i, j)); })));
    return keeper.tables.back().get();
  }

  const placement_description<Cost>* d_;
  savings_layout layout_;
  std::size_t channels_ = 0;
  std::vector<bool> computes_;  ///< per position: whether some strategy of its vertex computes and can hide something
};

}  // namespace shardweave::inline v0
