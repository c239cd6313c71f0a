#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/work_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The work of an edge, stored by classes of pairs of strategies.

namespace shardweave::inline v0 {

/// The work of all pairs of strategies of an edge: a few distinct amounts, and the number of an amount for each pair of
/// classes. Copies share these numbers, and so do tables that differ in amounts alone.
/// Memory: 4 bytes per strategy and per pair of classes, 8 bytes per amount and channel on which there is work.
struct work_table {
  using pair_numbers = std::shared_ptr<const std::vector<std::uint32_t>>;

  std::vector<std::uint32_t> row_class = {};     ///< per strategy of the producer
  std::vector<std::uint32_t> column_class = {};  ///< per strategy of the consumer
  std::size_t column_classes = 0;
  pair_numbers amount_of = nullptr;             ///< per pair of classes, row by row; null: there is no work
  std::vector<std::vector<double>> loads = {};  ///< per channel: the load of each amount; empty where all are zero
  std::vector<double> chains = {};              ///< the chain of each amount; empty where all are zero
  /// Loads of alternative ways, of which a plan chooses one per edge: per way as `loads`.
  std::vector<std::vector<std::vector<double>>> otherwise = {};

  [[nodiscard]] std::size_t rows() const { return row_class.size(); }
  [[nodiscard]] std::size_t columns() const { return column_class.size(); }
  [[nodiscard]] std::size_t ways() const { return 1 + otherwise.size(); }
  /// Loads of one way, per channel. \pre way < ways()
  [[nodiscard]] const std::vector<std::vector<double>>& loads_of(std::size_t way) const {
    return way == 0 ? loads : otherwise[way - 1];
  }
  /// Whether some way has work on a channel.
  [[nodiscard]] bool has_load(std::size_t channel) const {
    return !loads[channel].empty() ||
           std::ranges::any_of(otherwise, [&](const auto& of_way) { return !of_way[channel].empty(); });
  }
  [[nodiscard]] bool is_idle() const {
    if (!chains.empty()) return false;
    for (std::size_t c = 0; c < loads.size(); ++c)
      if (has_load(c)) return false;
    return true;
  }
  /// \pre it is not idle
  [[nodiscard]] std::uint32_t class_amount(std::size_t i, std::size_t j) const {
    return (*amount_of)[i * column_classes + j];
  }
  [[nodiscard]] double load(std::size_t channel, strategy a, strategy b, std::size_t way = 0) const {
    return of(loads_of(way)[channel], a, b);
  }
  [[nodiscard]] double chain(strategy a, strategy b) const { return of(chains, a, b); }

  /// Loads of one channel, or the chains, as a table of costs.
  /// \param amounts  `loads` of a channel or `chains`, not empty
  [[nodiscard]] cost_table<double> costs(const std::vector<double>& amounts) const {
    const std::size_t row_classes = amount_of->size() / std::max<std::size_t>(column_classes, 1);
    return cost_table<double>::from_classes(row_class, column_class, row_classes, column_classes,
                                            [&](std::size_t i, std::size_t j) { return amounts[class_amount(i, j)]; });
  }

 private:
  [[nodiscard]] double of(const std::vector<double>& amounts, strategy a, strategy b) const {
    return amounts.empty() ? 0 : amounts[class_amount(row_class[a], column_class[b])];
  }
};

/// Builds a `work_table` from the work of pairs of classes.
class work_table_builder {
 public:
  /// \param who  the edge, for messages
  work_table_builder(std::size_t channels, std::string who) : channels_(channels), who_(std::move(who)) {}

  /// Appends an amount; amounts are numbered from 0 in the order of these calls. Infinite values count as 0.
  /// \throws error (input) if its loads are not one per channel, or a value is negative
  void add(const edge_work& work) { amounts_.push_back(checked(work)); }

  /// The table of the amounts that were added.
  /// \param row_class, column_class  per strategy
  /// \param amount_of                per pair of classes, row by row; each below the number of amounts
  [[nodiscard]] work_table table(std::span<const std::uint32_t> row_class, std::span<const std::uint32_t> column_class,
                                 std::size_t column_classes, work_table::pair_numbers amount_of) const {
    work_table made{.row_class = {row_class.begin(), row_class.end()},
                    .column_class = {column_class.begin(), column_class.end()},
                    .column_classes = column_classes,
                    .amount_of = std::move(amount_of),
                    .loads = std::vector<std::vector<double>>(channels_)};
    std::size_t parts = channels_ + 1;
    for (const auto& amount : amounts_) parts = std::max(parts, amount.size());
    made.otherwise.resize((parts - 1) / channels_ - 1, made.loads);
    // part 0 has the chains, the others the loads of each way; an amount with fewer ways repeats its first one
    for (std::size_t part = 0; part < parts; ++part) {
      std::vector<double> list(amounts_.size());
      for (std::uint32_t a = 0; a < list.size(); ++a)
        list[a] = amounts_[a][part < amounts_[a].size() ? part : 1 + (part - 1) % channels_];
      if (std::ranges::all_of(list, [](double amount) { return amount == 0; })) continue;
      const std::size_t way = part == 0 ? 0 : (part - 1) / channels_;
      (part == 0 ? made.chains : (way == 0 ? made.loads : made.otherwise[way - 1])[(part - 1) % channels_]) =
          std::move(list);
    }
    return made;
  }
  /// The same from the work `work(i, j)` of each pair of classes; equal amounts are stored once.
  template <class Work>
  [[nodiscard]] work_table table(std::span<const std::uint32_t> row_class, std::span<const std::uint32_t> column_class,
                                 const Work& work) {
    const auto classes = [](std::span<const std::uint32_t> of) {
      return of.empty() ? std::size_t{0} : std::size_t{*std::ranges::max_element(of)} + 1;
    };
    const std::size_t rows = classes(row_class), columns = classes(column_class);
    interner<std::vector<double>, sequence_hash> number_of;
    std::vector<std::uint32_t> numbers;
    numbers.reserve(rows * columns);
    for (std::uint32_t i = 0; i < rows; ++i)
      for (std::uint32_t j = 0; j < columns; ++j) numbers.push_back(number_of(checked(work(i, j))));
    for (std::uint32_t a = 0; a < number_of.size(); ++a) amounts_.push_back(number_of[a]);
    return table(row_class, column_class, columns,
                 std::make_shared<const std::vector<std::uint32_t>>(std::move(numbers)));
  }

 private:
  /// The chain, then the load on each channel, way by way.
  [[nodiscard]] std::vector<double> checked(const edge_work& work) const {
    std::vector<double> amount(1 + channels_ * (1 + work.otherwise.size()));
    const auto take = [&](std::size_t part, double value) {
      if (!(value >= 0))
        refuse(error_category::input, who_ + " takes " + number_text(value) + ", expected a time that is not negative");
      if (!std::isinf(value)) amount[part] = value;
    };
    const auto take_all = [&](std::size_t way, const std::vector<double>& loads) {
      if (!loads.empty() && loads.size() != channels_)
        refuse(error_category::input, who_ + " has loads on " + std::to_string(loads.size()) + " channels, expected " +
                                          std::to_string(channels_) + " or none");
      for (std::size_t c = 0; c < loads.size(); ++c) take(1 + way * channels_ + c, loads[c]);
    };
    take_all(0, work.loads);
    for (std::size_t way = 0; way < work.otherwise.size(); ++way) take_all(1 + way, work.otherwise[way]);
    take(0, work.chain);
    return amount;
  }

  std::size_t channels_;
  std::string who_;
  std::vector<std::vector<double>> amounts_;
};

}  // namespace shardweave::inline v0
