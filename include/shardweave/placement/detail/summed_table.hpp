#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

/// \file
/// Costs of two unknowns together, by classes of strategies.

namespace shardweave::inline v0::detail {

/// The sum of the tables between two unknowns, by classes of strategies that it does not tell apart.
template <class Number>
struct summed_table {
  std::vector<std::uint32_t> row_class = {}, column_class = {};  ///< per strategy of the first and of the second
  std::size_t rows = 0, columns = 0;                             ///< number of classes
  std::vector<Number> costs = {};                                ///< rows times columns; 0 where it is not allowed
  std::vector<char> allowed = {};
  bool forbids = false;  ///< whether some pair is not allowed
};

/// A table as one of its ends sees it.
template <class Number>
struct table_side {
  std::shared_ptr<const summed_table<Number>> table;
  bool is_second = false;  ///< whether this end is the table's second

  [[nodiscard]] std::size_t own_classes() const { return is_second ? table->columns : table->rows; }
  [[nodiscard]] std::size_t other_classes() const { return is_second ? table->rows : table->columns; }
  [[nodiscard]] std::uint32_t own_class(std::size_t s) const {
    return is_second ? table->column_class[s] : table->row_class[s];
  }
  [[nodiscard]] std::uint32_t other_class(std::size_t s) const {
    return is_second ? table->row_class[s] : table->column_class[s];
  }
  [[nodiscard]] bool allows(std::size_t own, std::size_t other) const { return table->allowed[at(own, other)] != 0; }
  [[nodiscard]] const Number& cost(std::size_t own, std::size_t other) const { return table->costs[at(own, other)]; }
  [[nodiscard]] bool forbids() const { return table->forbids; }

 private:
  [[nodiscard]] std::size_t at(std::size_t own, std::size_t other) const {
    return is_second ? other * table->columns + own : own * table->columns + other;
  }
};

/// The same table with rows and columns exchanged.
template <class Number>
[[nodiscard]] summed_table<Number> turned(const summed_table<Number>& t) {
  summed_table<Number> result{t.column_class, t.row_class, t.columns, t.rows, {}, {}, t.forbids};
  for (std::size_t j = 0; j < t.columns; ++j)
    for (std::size_t i = 0; i < t.rows; ++i) {
      result.costs.push_back(t.costs[i * t.columns + j]);
      result.allowed.push_back(t.allowed[i * t.columns + j]);
    }
  return result;
}
/// The sum of two tables.
/// \param a  as the end sees it whose rows `b` has
template <class Number>
[[nodiscard]] summed_table<Number> sum(const table_side<Number>& a, const summed_table<Number>& b) {
  summed_table<Number> result;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rows, columns;  // per class: those of both
  const auto joined = [](std::size_t count, auto class_of, const std::vector<std::uint32_t>& other,
                         std::vector<std::uint32_t>& of, auto& classes) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
    for (std::size_t s = 0; s < count; ++s) {
      const std::pair<std::uint32_t, std::uint32_t> key{class_of(s), other[s]};
      const auto [at, fresh] = known.try_emplace(key, static_cast<std::uint32_t>(classes.size()));
      if (fresh) classes.push_back(key);
      of.push_back(at->second);
    }
  };
  joined(
      b.row_class.size(), [&](std::size_t s) { return a.own_class(s); }, b.row_class, result.row_class, rows);
  joined(
      b.column_class.size(), [&](std::size_t s) { return a.other_class(s); }, b.column_class, result.column_class,
      columns);
  result.rows = rows.size();
  result.columns = columns.size();
  for (const auto& [ia, ib] : rows)
    for (const auto& [ja, jb] : columns) {
      const std::size_t at = ib * b.columns + jb;
      const bool allowed = a.allows(ia, ja) && b.allowed[at] != 0;
      result.allowed.push_back(allowed ? 1 : 0);
      result.forbids = result.forbids || !allowed;
      result.costs.push_back(allowed ? Number(a.cost(ia, ja) + b.costs[at]) : Number(0));
    }
  return result;
}

}  // namespace shardweave::inline v0::detail
