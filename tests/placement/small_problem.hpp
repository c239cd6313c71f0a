#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/placement/description.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Problems small enough to be read.
namespace small {

namespace sw = shardweave;

template <class Cost = double>
std::uint32_t vertex(sw::placement_description<Cost>& d, std::string name, std::vector<Cost> compute) {
  auto& v = d.vertices.emplace_back();
  v.name = std::move(name);
  v.compute = std::move(compute);
  return static_cast<std::uint32_t>(d.vertices.size() - 1);
}

template <class Cost = double>
std::uint32_t table(sw::placement_description<Cost>& d, std::size_t rows, std::size_t columns,
                    const std::vector<Cost>& entries) {
  d.tables.push_back(
      std::make_shared<const sw::cost_table<Cost>>(sw::cost_table<Cost>::from_entries(rows, columns, entries)));
  return static_cast<std::uint32_t>(d.tables.size() - 1);
}

template <class Cost = double>
void edge(sw::placement_description<Cost>& d, std::uint32_t from, std::uint32_t to, std::uint32_t communication,
          std::uint32_t transition = sw::no_table) {
  d.edges.push_back({from, to, 0, communication, transition});
}

/// Two vertices "a" (2 strategies) and "b" (3), and an edge between them.
inline sw::placement_description<double> pair_of_vertices() {
  sw::placement_description<double> d;
  vertex<double>(d, "a", {1, 2});
  vertex<double>(d, "b", {3, 4, 5});
  edge(d, 0, 1, table<double>(d, 2, 3, {0, 10, 20, 30, 40, 50}));
  return d;
}

/// The call is refused with this category and this text.
template <class Call>
void check_refused(Call call, sw::error_category category, const std::string& text) {
  INFO(text);
  try {
    static_cast<void>(call());
    FAIL_CHECK("nothing was refused");
  } catch (const sw::error& e) {
    CHECK(std::string(e.what()) == text);
    CHECK(e.category() == category);
  }
}

}  // namespace small
