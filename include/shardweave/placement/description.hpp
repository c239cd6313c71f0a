#pragma once

#include <shardweave/overlap/window.hpp>
#include <shardweave/overlap/windows_form.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// A placement problem as it is stated: what readers produce, writers write, and assignments are evaluated by.

namespace shardweave::inline v0 {

/// Marks the absence of a table.
inline constexpr std::uint32_t no_table = ~0U;

/// Names of strategies, one each, or none at all; copies share them.
class label_list {
 public:
  label_list() = default;
  label_list(std::vector<std::string> names)  // NOLINT(google-explicit-constructor): it is such a list
      : names_(names.empty() ? nullptr : std::make_shared<const std::vector<std::string>>(std::move(names))) {}
  label_list(std::initializer_list<std::string> names) : label_list(std::vector<std::string>(names)) {}

  [[nodiscard]] std::size_t size() const { return names_ == nullptr ? 0 : names_->size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// \pre at < size()
  [[nodiscard]] const std::string& operator[](std::size_t at) const { return (*names_)[at]; }
  [[nodiscard]] const std::string* begin() const { return empty() ? nullptr : names_->data(); }
  [[nodiscard]] const std::string* end() const { return empty() ? nullptr : names_->data() + names_->size(); }
  friend bool operator==(const label_list& a, const label_list& b) { return std::ranges::equal(a, b); }

 private:
  std::shared_ptr<const std::vector<std::string>> names_;
};

/// A vertex as stated. Only `compute` is needed: one cost per strategy.
template <cost_value Cost>
struct described_vertex {
  std::string name = {};
  std::string op = {};
  std::string phase = {};
  label_list labels = {};  ///< names of strategies; empty or one per strategy
  std::vector<Cost> compute = {};
  std::vector<double> memory = {};  ///< usage per strategy (in files: bytes), for reports; empty or one per strategy
};

/// An edge as stated: from producer to consumer, with tables by number (rows: strategies of the producer).
struct described_edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t slot = 0;  ///< argument position of the consumer
  std::uint32_t communication = no_table;
  std::uint32_t transition = no_table;
};

/// Communication that may hide behind computation: of an edge with a direction, or with a window of its own.
struct hideable_edge {
  std::uint32_t edge = 0;           ///< position in `placement_description::edges`
  hiding direction = hiding::none;  ///< none: the window from `first` to `last` holds instead, in every form
  std::uint32_t first = 0;          ///< first position of the window, in the order of the vertices
  std::uint32_t last = 0;           ///< its last position, included
  std::int64_t channel = 0;         ///< any number; edges of one channel share the computation that hides them
};

/// Which computation may hide the communication of a hideable edge; see `layout_of`.
enum class savings_form : std::uint8_t {
  off,             ///< none: the objective counts all communication
  windows,         ///< by dependency: all computation that is independent of the edge
  strict,          ///< computation before the consumer, or after it
  inclusive,       ///< the consumer's own computation, too
  inclusive_twice  ///< the same; an edge listed in both directions may save in each, up to twice its communication
};

/// The name that files and programs use, for example "inclusive-twice".
[[nodiscard]] constexpr std::string_view name_of(savings_form form) {
  constexpr std::string_view names[] = {"off", "windows", "strict", "inclusive", "inclusive-twice"};
  return names[static_cast<std::size_t>(form)];
}

/// An assignment from elsewhere, for comparison.
struct reference_solution {
  assignment choice;
  double objective = 0;
  std::optional<double> without_savings = std::nullopt;
  bool proven = false;
  std::string solver = {};
};

/// Vertices, edges, shared tables and constraints. The objective is the sum of the computation of all vertices and of
/// the communication and transition of all edges, less the savings: the most communication of the edges that may hide
/// (those of `overlap`, or every one) that the computation of the vertices can hide.
template <cost_value Cost>
struct placement_description {
  using cost_type = Cost;

  std::string name = {};
  std::string text = {};  ///< description for people
  std::string unit = {};  ///< of all costs, for example "us"
  std::vector<described_vertex<Cost>> vertices = {};
  std::vector<described_edge> edges = {};
  std::vector<std::shared_ptr<const cost_table<Cost>>> tables = {};  ///< shared by edges and by problems
  constraint_set constraints;
  std::vector<hideable_edge> overlap = {};
  savings_form counted = savings_form::off;  ///< how `overlap` counts in the objective
  windows_form windows = {};                 ///< form `windows`: how early at most, and whether every edge may hide
  std::optional<reference_solution> reference = std::nullopt;

  /// "vertex 7 (linear_3)": how messages name a vertex.
  [[nodiscard]] std::string name_of(std::size_t v) const {
    return "vertex " + std::to_string(v) + (vertices[v].name.empty() ? "" : " (" + vertices[v].name + ")");
  }
  [[nodiscard]] std::string name_of_strategy(std::size_t v, strategy s) const {
    return s < vertices[v].labels.size() ? vertices[v].labels[s] : std::to_string(s);
  }
  /// "edge 4 (a -> b)"
  [[nodiscard]] std::string name_of_edge(std::size_t e) const {
    const auto label = [&](std::uint32_t v) {
      return v < vertices.size() && !vertices[v].name.empty() ? vertices[v].name : std::to_string(v);
    };
    return "edge " + std::to_string(e) + " (" + label(edges[e].from) + " -> " + label(edges[e].to) + ")";
  }
};

}  // namespace shardweave::inline v0
