#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/io/detail/cost_list.hpp>
#include <shardweave/placement/description.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// The matrices of a placement file on their way to tables.

namespace shardweave::inline v0::detail {

/// Row-major lists of costs whose shapes become known when the edges that use them are. Each pair of list and
/// shape becomes one table; a list is freed as soon as its tables are made.
template <cost_value Cost>
class matrix_pool {
 public:
  void add(cost_list<Cost> entries) { matrices_.push_back({std::move(entries), {}}); }
  /// Equal lists once. \returns the number of the list
  std::uint32_t intern(cost_list<Cost> entries) {
    const std::size_t hash = entries.hash();
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto known = first; known != last; ++known)
      if (matrices_[known->second].entries == entries) return known->second;
    const auto number = static_cast<std::uint32_t>(matrices_.size());
    by_hash_.emplace(hash, number);
    add(std::move(entries));
    return number;
  }
  [[nodiscard]] std::size_t size() const { return matrices_.size(); }
  /// \pre number < size()
  void use(std::uint32_t number, std::size_t edge, bool transition) {
    matrices_[number].uses.emplace_back(static_cast<std::uint32_t>(edge), transition);
  }

  /// \throws error (input) naming the edge whose ends do not exist or do not fit its matrix
  void give_tables(placement_description<Cost>& d) {
    for (std::size_t e = 0; e < d.edges.size(); ++e)
      for (const std::uint32_t v : {d.edges[e].from, d.edges[e].to})
        if (v >= d.vertices.size())
          refuse(error_category::input, "edge " + std::to_string(e) + " names vertex " + std::to_string(v) +
                                            ", but there are only " +
                                            number_text(d.vertices.size(), "vertex", "vertices"));
    for (std::size_t m = 0; m < matrices_.size(); ++m) {
      std::map<std::size_t, std::uint32_t> table_of_rows;  // the rows determine the columns
      for (const auto& [e, transition] : matrices_[m].uses) {
        const std::size_t rows = d.vertices[d.edges[e].from].compute.size();
        const std::size_t columns = d.vertices[d.edges[e].to].compute.size();
        if (matrices_[m].entries.size() != rows * columns)
          refuse(error_category::input, d.name_of_edge(e) + " has " + std::to_string(matrices_[m].entries.size()) +
                                            " costs, expected " + std::to_string(rows) + " x " +
                                            std::to_string(columns) + " as its ends have strategies");
        const auto [at, fresh] = table_of_rows.try_emplace(rows, static_cast<std::uint32_t>(d.tables.size()));
        if (fresh)
          d.tables.push_back(
              std::make_shared<const cost_table<Cost>>(matrices_[m].entries.table(rows, columns).packed()));
        (transition ? d.edges[e].transition : d.edges[e].communication) = at->second;
      }
      matrices_[m] = {};
    }
  }

 private:
  struct matrix {
    cost_list<Cost> entries;
    std::vector<std::pair<std::uint32_t, bool>> uses;  ///< edge, and whether as its transition
  };
  std::vector<matrix> matrices_;
  std::unordered_multimap<std::size_t, std::uint32_t> by_hash_;  ///< of those that were interned
};

}  // namespace shardweave::inline v0::detail
