#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/io/detail/plain_numbers.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/cost_table.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// A long list of costs, two bytes each where few are distinct: what a matrix is before its shape is known.

namespace shardweave::inline v0::detail {

/// Costs in a row, either as they are, or as the distinct ones in the order in which they first come and the number
/// of each. Which of the two it is depends on the costs alone, so that equal lists are equal in either form.
template <cost_value Cost>
class cost_list {
 public:
  cost_list() = default;
  explicit cost_list(std::vector<Cost> plain) : plain_(std::move(plain)) {}
  cost_list(std::vector<Cost> values, std::vector<std::uint16_t> codes)
      : plain_(std::move(values)), codes_(std::move(codes)) {}

  [[nodiscard]] std::size_t size() const { return is_coded() ? codes_.size() : plain_.size(); }
  [[nodiscard]] Cost operator[](std::size_t k) const { return is_coded() ? plain_[codes_[k]] : plain_[k]; }

  /// What `cost_table::from_entries` makes of them. \pre size() == rows * columns
  /// Complexity: linear
  [[nodiscard]] cost_table<Cost> table(std::size_t rows, std::size_t columns) const {
    if (is_coded()) return cost_table<Cost>::from_codes(rows, columns, plain_, codes_);
    return cost_table<Cost>::from_entries(rows, columns, plain_);
  }

  friend bool operator==(const cost_list& a, const cost_list& b) {
    return a.codes_ == b.codes_ && a.plain_ == b.plain_;
  }
  [[nodiscard]] std::size_t hash() const { return hash_combine(sequence_hash{}(codes_), sequence_hash{}(plain_)); }

 private:
  [[nodiscard]] bool is_coded() const { return !codes_.empty(); }
  std::vector<Cost> plain_;  ///< or the distinct ones
  std::vector<std::uint16_t> codes_;
};

/// Gathers lists of costs, one after the other. Memory is kept from list to list.
template <cost_value Cost>
class cost_list_builder {
 public:
  void clear() {
    ++generation_;
    if (generation_ == 0) {  // all stamps have been used
      texts_ = {};
      slots_ = {};
      generation_ = 1;
    }
    values_.clear();
    codes_.clear();
    is_coded_ = true;
  }

  void push_back(Cost cost) {
    if (is_coded_) {
      const std::optional<std::uint16_t> code = code_of(cost);
      if (code) return codes_.push_back(*code);
      unpack();
    }
    values_.push_back(cost);
  }

  /// Appends the cost of a text that it has learned, in this list. \returns false if it has not
  bool push_known(const short_text& text) {
    if (!is_coded_ || texts_.empty()) return false;
    const known_text& known = texts_[text.hash() % remembered];
    if (known.generation != generation_ || known.size != text.size || !text.has(known.words)) return false;
    codes_.push_back(known.code);
    return true;
  }
  /// That text stands for the cost that was appended last.
  void learn(const short_text& text) {
    if (!is_coded_) return;
    if (texts_.empty()) texts_.resize(remembered);
    texts_[text.hash() % remembered] = {text.words, generation_, codes_.back(), static_cast<std::uint16_t>(text.size)};
  }

  /// What was gathered; then there is nothing.
  [[nodiscard]] cost_list<Cost> take() {
    if (is_coded_ && 4 * values_.size() > 3 * codes_.size()) unpack();
    cost_list<Cost> result =
        is_coded_ ? cost_list<Cost>(copy_of(values_), copy_of(codes_)) : cost_list<Cost>(copy_of(values_));
    clear();
    return result;
  }

 private:
  static constexpr std::size_t most = 1U << 16;        ///< distinct costs
  static constexpr std::size_t remembered = 1U << 12;  ///< texts of numbers
  struct known_text {
    std::array<std::uint64_t, 3> words{};
    std::uint32_t generation = 0;
    std::uint16_t code = 0;
    std::uint16_t size = 0;  // a text that ends in zeros has the words of a shorter one
  };
  struct slot {
    std::uint32_t generation = 0;
    std::uint32_t code = 0;
  };

  template <class T>
  static std::vector<T> copy_of(const std::vector<T>& held) {
    return std::vector<T>(held.begin(), held.end());
  }
  static std::uint64_t bits_of(Cost cost) {
    if constexpr (sizeof(Cost) == sizeof(std::uint64_t)) {
      return std::bit_cast<std::uint64_t>(cost);
    } else {
      return 0;
    }
  }

  /// Nothing where costs are to be kept as they are: too many are distinct, or their bits do not tell.
  std::optional<std::uint16_t> code_of(Cost cost) {
    if constexpr (sizeof(Cost) != sizeof(std::uint64_t)) return std::nullopt;
    if (2 * values_.size() >= slots_.size()) grow();
    slot* at = find(cost);
    if (at->generation == generation_) return static_cast<std::uint16_t>(at->code);
    if (values_.size() == most || (values_.size() > remembered && 2 * values_.size() > codes_.size()))
      return std::nullopt;
    *at = {generation_, static_cast<std::uint32_t>(values_.size())};
    values_.push_back(cost);
    return static_cast<std::uint16_t>(at->code);
  }
  slot* find(Cost cost) {
    std::size_t s = hash_combine(0, static_cast<std::size_t>(bits_of(cost))) % slots_.size();
    while (slots_[s].generation == generation_ && bits_of(values_[slots_[s].code]) != bits_of(cost))
      s = (s + 1) % slots_.size();
    return &slots_[s];
  }
  void grow() {
    slots_.assign(std::max<std::size_t>(1024, 2 * slots_.size()), slot{});
    for (std::uint32_t code = 0; code < values_.size(); ++code) *find(values_[code]) = {generation_, code};
  }
  /// From here on costs are kept as they are.
  void unpack() {
    std::vector<Cost> plain;
    plain.reserve(codes_.size() + 1);
    for (const std::uint16_t code : codes_) plain.push_back(values_[code]);
    values_ = std::move(plain);
    codes_.clear();
    is_coded_ = false;
  }

  std::uint32_t generation_ = 1;
  bool is_coded_ = true;
  std::vector<Cost> values_;  ///< the distinct ones, or all
  std::vector<std::uint16_t> codes_;
  std::vector<slot> slots_;  ///< of the distinct ones, by their bits
  std::vector<known_text> texts_;
};

/// Takes numbers in bulk to a list of costs.
/// \param CostOf  the cost of a number, or nothing
template <cost_value Cost, class List, class CostOf>
struct cost_sink {
  List& into;
  CostOf cost_of;
  std::optional<Cost> null = std::nullopt;  ///< what null is, if it is a cost

  bool take(const plain_number& number) {
    const std::optional<Cost> cost = cost_of(number);
    if (cost) into.push_back(*cost);
    return cost.has_value();
  }
  bool take_null() {
    if (null) into.push_back(*null);
    return null.has_value();
  }
  bool take_known(const short_text& text)
    requires std::same_as<List, cost_list_builder<Cost>>
  {
    return into.push_known(text);
  }
  void learn(const short_text& text)
    requires std::same_as<List, cost_list_builder<Cost>>
  {
    into.learn(text);
  }
};

}  // namespace shardweave::inline v0::detail
