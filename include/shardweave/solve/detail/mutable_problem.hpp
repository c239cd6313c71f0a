#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/compact_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// A compact problem that can shrink: the data under the rules of a reduction, and the way back.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Variables, edges and rows that rules remove, and the stack from which the labels of removed variables are
/// found again. Labels keep the numbers that they had at the start in `origin`, so that what the stack says
/// stays true when more labels go.
template <cost_value Cost>
class mutable_problem {
 public:
  using table = cost_table<Cost>;
  using table_pointer = std::shared_ptr<const table>;
  /// An edge as its variable sees it: rows are this variable's labels.
  using adjacency = std::map<std::uint32_t, table_pointer>;

  struct variable {
    bool alive = true;
    bool dirty = true;  ///< something about it changed since the rules looked
    std::vector<strategy> origin;
    std::vector<Cost> unary;
    std::vector<usage_segment> segments;
    adjacency edges;
  };

  explicit mutable_problem(const compact_problem<Cost>& p) : constant(p.constant()), rows(p.rows().begin(), p.rows().end()) {
    variables.resize(p.size());
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      auto& v = variables[x];
      v.unary.assign(p.unary(x).begin(), p.unary(x).end());
      v.origin.resize(v.unary.size());
      for (strategy l = 0; l < v.origin.size(); ++l) v.origin[l] = l;
      v.segments.assign(p.segments(x).begin(), p.segments(x).end());
      initial_labels.push_back(v.unary.size());
    }
    for (const compact_edge& e : p.edges()) set_edge(e.first, e.second, p.tables()[e.table]);
  }

  std::vector<variable> variables;
  Cost constant;
  std::vector<usage_row> rows;
  std::vector<std::size_t> initial_labels;

  [[nodiscard]] std::size_t label_count(std::uint32_t x) const { return variables[x].unary.size(); }
  [[nodiscard]] std::size_t degree(std::uint32_t x) const { return variables[x].edges.size(); }
  [[nodiscard]] std::size_t alive_count() const {
    return static_cast<std::size_t>(
        std::count_if(variables.begin(), variables.end(), [](const variable& v) { return v.alive; }));
  }

  /// Sets the edge between x and y; rows of the table are labels of x.
  void set_edge(std::uint32_t x, std::uint32_t y, table_pointer t) {
    variables[y].edges[x] = flipped(t);
    variables[x].edges[y] = std::move(t);
    variables[x].dirty = variables[y].dirty = true;
  }
  /// Adds a table to the edge between x and y, which need not be there yet.
  void add_edge(std::uint32_t x, std::uint32_t y, table_pointer t) {
    const auto at = variables[x].edges.find(y);
    set_edge(x, y, at == variables[x].edges.end() ? std::move(t) : sum(at->second, t));
  }
  void drop_edge(std::uint32_t x, std::uint32_t y) {
    variables[x].edges.erase(y);
    variables[y].edges.erase(x);
    variables[x].dirty = variables[y].dirty = true;
  }

  /// Keeps the listed labels of x.
  void keep(std::uint32_t x, std::span<const strategy> labels) {
    variable& v = variables[x];
    const auto pick = [&](auto& values) {
      std::remove_reference_t<decltype(values)> kept;
      for (const strategy l : labels) kept.push_back(values[l]);
      values = std::move(kept);
    };
    pick(v.origin);
    pick(v.unary);
    for (usage_segment& s : v.segments) pick(s.usage);
    for (auto& [y, t] : v.edges) {
      t = selected(t, labels);
      variables[y].edges[x] = flipped(t);
      variables[y].dirty = true;
    }
    v.dirty = true;
  }

  /// Removes v, whose label is a function of u's: `image[a]` is v's label when u has label a. What v costs
  /// and uses becomes u's, its edges become u's.
  void merge(std::uint32_t v, std::uint32_t u, std::span<const strategy> image) {
    variable& from = variables[v];
    variable& into = variables[u];
    const table_pointer between = into.edges.at(v);
    follow record{v, u, std::vector<strategy>(initial_labels[u])};
    for (strategy a = 0; a < image.size(); ++a) {
      into.unary[a] = plus(into.unary[a], plus((*between)(a, image[a]), from.unary[image[a]]));
      record.image[into.origin[a]] = from.origin[image[a]];
    }
    drop_edge(u, v);
    for (const usage_segment& s : from.segments) {
      usage_segment moved{s.begin, s.end, {}};
      for (const strategy b : image) moved.usage.push_back(s.usage[b]);
      into.segments.push_back(std::move(moved));
    }
    const adjacency others = from.edges;
    for (const auto& [w, t] : others) {
      drop_edge(v, w);
      add_edge(u, w, selected(t, image));
    }
    from.alive = false;
    stack_.push_back(std::move(record));
  }

  /// Removes v, which has no edges and no segments, at the given label.
  void settle(std::uint32_t v, strategy label) {
    constant = plus(constant, variables[v].unary[label]);
    stack_.push_back(decided{v, variables[v].origin[label]});
    variables[v].alive = false;
  }

  /// Removes v, which joins only u and w and has no segments: the best label of v for every pair of classes
  /// of theirs becomes a table between them.
  void eliminate(std::uint32_t v, std::uint32_t u, std::uint32_t w) {
    const table_pointer left = variables[v].edges.at(u), right = variables[v].edges.at(w);
    const std::size_t rows_of_u = left->column_classes(), columns_of_w = right->column_classes();
    choose_by_two record{v, u, w, std::vector<std::uint32_t>(initial_labels[u]),
                         std::vector<std::uint32_t>(initial_labels[w]), columns_of_w,
                         std::vector<strategy>(rows_of_u * columns_of_w)};
    std::vector<Cost> best(rows_of_u * columns_of_w, forbidden<Cost>);
    const auto& unary = variables[v].unary;
    for (strategy b = 0; b < unary.size(); ++b)
      for (std::size_t i = 0; i < rows_of_u; ++i) {
        const Cost to_u = plus(unary[b], left->class_cost(left->row_class(b), i));
        if (is_forbidden(to_u)) continue;
        const Cost* to_w = right->class_row(right->row_class(b));
        for (std::size_t j = 0; j < columns_of_w; ++j) {
          const Cost c = plus(to_u, to_w[j]);
          if (c < best[i * columns_of_w + j]) {
            best[i * columns_of_w + j] = c;
            record.best[i * columns_of_w + j] = variables[v].origin[b];
          }
        }
      }
    std::vector<std::uint32_t> class_of_u(left->column_class().begin(), left->column_class().end());
    std::vector<std::uint32_t> class_of_w(right->column_class().begin(), right->column_class().end());
    for (std::size_t a = 0; a < class_of_u.size(); ++a) record.class_of_u[variables[u].origin[a]] = class_of_u[a];
    for (std::size_t c = 0; c < class_of_w.size(); ++c) record.class_of_w[variables[w].origin[c]] = class_of_w[c];
    drop_edge(v, u);
    drop_edge(v, w);
    variables[v].alive = false;
    add_edge(u, w, hold(table::from_classes(std::move(class_of_u), std::move(class_of_w), rows_of_u, columns_of_w,
                                            [&](std::size_t i, std::size_t j) { return best[i * columns_of_w + j]; })));
    stack_.push_back(std::move(record));
  }

  /// The problem that is left; `kept` lists its variables.
  [[nodiscard]] compact_problem<Cost> build(std::vector<std::uint32_t>& kept) const {
    compact_builder<Cost> builder;
    builder.add_constant(constant);
    for (const usage_row& r : rows) builder.add_row(r);
    std::vector<std::uint32_t> number(variables.size());
    kept.clear();
    for (std::uint32_t x = 0; x < variables.size(); ++x) {
      if (!variables[x].alive) continue;
      number[x] = builder.add_variable(variables[x].unary);
      kept.push_back(x);
      for (const usage_segment& s : variables[x].segments) builder.add_segment(number[x], s);
    }
    for (const std::uint32_t x : kept)
      for (const auto& [y, t] : variables[x].edges)
        if (x < y) builder.add_edge(number[x], number[y], t);
    return builder.build();
  }

  /// The initial labels of all variables behind labels of the problem that is left.
  [[nodiscard]] std::vector<strategy> lift(std::span<const std::uint32_t> kept, std::span<const strategy> labels) const {
    std::vector<strategy> result(variables.size());
    for (std::size_t i = 0; i < kept.size(); ++i) result[kept[i]] = variables[kept[i]].origin[labels[i]];
    for (auto record = stack_.rbegin(); record != stack_.rend(); ++record) {
      if (const auto* f = std::get_if<follow>(&*record)) {
        result[f->v] = f->image[result[f->u]];
      } else if (const auto* d = std::get_if<decided>(&*record)) {
        result[d->v] = d->label;
      } else {
        const auto& c = std::get<choose_by_two>(*record);
        result[c.v] = c.best[c.class_of_u[result[c.u]] * c.columns + c.class_of_w[result[c.w]]];
      }
    }
    return result;
  }

 private:
  struct follow {
    std::uint32_t v, u;
    std::vector<strategy> image;
  };
  struct decided {
    std::uint32_t v;
    strategy label;
  };
  struct choose_by_two {
    std::uint32_t v, u, w;
    std::vector<std::uint32_t> class_of_u, class_of_w;
    std::size_t columns;
    std::vector<strategy> best;
  };

  // Equal operations on equal tables are done once: real problems repeat a table many times.
  table_pointer hold(table t) { return std::make_shared<const table>(std::move(t)); }
  table_pointer flipped(const table_pointer& t) {
    auto& known = flips_[t];
    if (!known) {
      known = hold(t->transposed());
      flips_[known] = t;
      return flips_[t];
    }
    return known;
  }
  table_pointer sum(const table_pointer& a, const table_pointer& b) {
    auto& known = sums_[{a, b}];
    if (!known) known = hold(*a + *b);
    return known;
  }
  table_pointer selected(const table_pointer& t, std::span<const strategy> rows_kept) {
    auto& known = selections_[{t, lists_(std::vector<strategy>(rows_kept.begin(), rows_kept.end()))}];
    if (!known) {
      std::vector<strategy> all(t->columns());
      for (strategy c = 0; c < all.size(); ++c) all[c] = c;
      known = hold(t->selected(rows_kept, all));
    }
    return known;
  }

  std::vector<std::variant<follow, decided, choose_by_two>> stack_;
  interner<std::vector<strategy>, sequence_hash> lists_;
  // keyed by owners, so that no address is used twice; never iterated, so the order of addresses does not matter
  std::map<table_pointer, table_pointer> flips_;
  std::map<std::pair<table_pointer, table_pointer>, table_pointer> sums_;
  std::map<std::pair<table_pointer, std::uint32_t>, table_pointer> selections_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
