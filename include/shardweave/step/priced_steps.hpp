#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/step/work_table.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Placement problems whose costs are work at prices.

namespace shardweave::inline v0 {

/// Builds, from a compiled problem, problems with the same feasible assignments and other costs: the work at given
/// prices.
///
/// Variables, labels, forbidden pairs and rows are compiled once. Each call makes costs only, and one table for all
/// edges of equal work and prices.
class priced_steps {
 public:
  /// \param problem  compiled from the graph of `work`; its own costs and savings are ignored
  /// \pre `work` outlives this
  /// \throws error (input) if work is of other vertices or strategies, or names what it does not have
  priced_steps(const placement_problem<double>& problem, const step_work& work);

  /// The problem at these prices. Its labelings are those of the compiled problem, whose `lift` makes assignments of
  /// them.
  /// Complexity: linear in variables, labels and pairs, and in the class pairs of tables of distinct work or prices
  [[nodiscard]] compact_problem<double> at(const work_prices& prices) const;

 private:
  using table_pointer = std::shared_ptr<const cost_table<double>>;

  /// Work of edges between two variables: its table, and whether that is transposed (rows for the second variable).
  struct term {
    std::uint32_t table = 0;
    bool turned = false;
    friend auto operator<=>(const term&, const term&) = default;
  };
  /// What pairs of variables with the same labels, terms and forbidden pairs share.
  struct shape {
    std::vector<term> terms;
    table_pointer base;  ///< whose forbidden entries count; may be null
    std::vector<std::uint32_t> row_class, column_class;
    /// Per joint class: the class in each term's table, then in the base.
    std::vector<std::vector<std::uint32_t>> rows, columns;
  };
  struct variable_pair {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::uint32_t shape = 0;
    std::uint32_t slot = 0;  ///< of its first term
  };

  [[nodiscard]] static std::vector<std::vector<std::uint32_t>> classes_of(
      std::vector<std::uint32_t>& of, std::size_t labels, const std::vector<std::vector<std::uint32_t>>& by_term);
  [[nodiscard]] shape make_shape(std::vector<term> terms, table_pointer base, std::uint32_t x, std::uint32_t y) const;
  /// Prices of all edges with one table between the same variables: of their chains, added up; and for each vector of
  /// channel prices the number of edges that have it, since each edge takes the way that is cheapest for itself.
  struct slot_prices {
    double chain = 0;
    std::map<std::vector<double>, double> channels = {};
    friend bool operator<(const slot_prices& a, const slot_prices& b) {
      return std::tie(a.chain, a.channels) < std::tie(b.chain, b.channels);
    }
  };
  /// The cost of each amount of a table at these prices, in the cheapest way; empty: all are zero.
  [[nodiscard]] static std::vector<double> worth_of_amounts(const work_table& table, const slot_prices& prices);
  [[nodiscard]] table_pointer priced(const shape& s, std::span<const slot_prices> prices) const;

  placement_problem<double> problem_;
  const step_work* work_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> list_at_;  ///< per list slot: variable, list
  std::vector<std::uint32_t> list_slot_;                          ///< per vertex
  /// Per slot: variable, table of edges within that variable.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> diagonal_at_;
  std::vector<variable_pair> pairs_;
  std::vector<shape> shapes_;
  std::size_t slots_ = 0;                 ///< number of slots of terms
  std::vector<std::uint32_t> edge_slot_;  ///< per edge: of a term, or of a diagonal where both ends are one variable
  std::vector<bool> is_diagonal_;         ///< per edge
};

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/step/impl/priced_steps.hpp>
#endif
