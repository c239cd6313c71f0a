#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/dual_ascent.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A problem with savings at given prices: a problem without savings.

namespace shardweave::inline v0 {

/// Costs less the priced computation and communication. Joint classes of labels are computed once for all prices; a
/// change of prices only multiplies and adds.
template <cost_value Cost>
class priced_problem {
 public:
  /// \pre `p` and `terms` outlive this object
  priced_problem(const compact_problem<Cost>& p, const savings_terms<Cost>& terms) : p_(&p), t_(&terms) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, parts> of_pair;
    for (const pair_amount<Cost>& a : terms.joint)
      of_pair[{a.first, a.second}][a.table].emplace_back(a.demand, a.count);
    compact_builder<double> builder;
    builder.add_constant(in_double(p.constant()));
    std::vector<double> unary;
    for (std::size_t x = 0; x < p.size(); ++x) {
      unary.clear();
      for (const Cost c : p.unary(x)) unary.push_back(in_double(c));
      builder.add_variable(unary);
    }
    std::map<const cost_table<Cost>*, std::shared_ptr<const cost_table<double>>> plain;
    for (const compact_edge& e : p.edges())
      if (const auto at = of_pair.find({e.first, e.second}); at != of_pair.end()) {
        add_priced(builder, e.first, e.second, &p.table(e), at->second);
        of_pair.erase(at);
      } else {
        auto& table = plain[&p.table(e)];
        if (!table) table = std::make_shared<const cost_table<double>>(p.table(e).template in<double>());
        builder.add_edge(e.first, e.second, table);
      }
    for (const auto& [ends, of] : of_pair) add_priced(builder, ends.first, ends.second, nullptr, of);
    for (const usage_row& row : p.rows()) builder.add_row(row);
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (const usage_segment& s : p.segments(x)) builder.add_segment(x, s);
    shape_ = builder.build();
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> table_of;
    for (const compact_edge& e : shape_.edges()) table_of[{e.first, e.second}] = e.table;
    for (priced_edge& e : edges_) e.table = table_of.at({e.first, e.second});
  }
  priced_problem(const priced_problem&) = delete;
  priced_problem& operator=(const priced_problem&) = delete;

  /// Variables, classes and rows of the priced problem, with its costs at price 0.
  [[nodiscard]] const compact_problem<double>& shape() const { return shape_; }

  /// Makes `reprice` write into the tables of a message passing over `shape()`.
  void attach(dual_ascent<double>& messages) {
    for (priced_edge& e : edges_) e.costs = messages.own_table(e.table);
  }

  /// Subtracts the priced computation and communication from unary costs and from the tables of the attached message
  /// passing. \returns the part that does not depend on labels
  /// \pre prices.update() and `attach` were called
  /// Complexity: O(terms + sum of class tables of the edges with savings)
  double reprice(const chain_prices<Cost>& prices, std::span<double> unary) {
    double constant = 0;
    for (std::size_t q = 0; q < t_->slots(); ++q) constant += prices.worth(q) * static_cast<double>(t_->computation[q]);
    for (std::size_t d = 0; d < t_->demands.size(); ++d)
      constant += prices.saved(d) * static_cast<double>(t_->amount[d]);
    const auto take = [&](const label_amount<Cost>& t, double worth) {
      if (worth == 0) return;
      double* at = unary.data() + p_->label_start(t.variable);
      for (std::size_t l = 0; l < t.amount.size(); ++l) at[l] -= worth * static_cast<double>(t.amount[l]);
    };
    for (const auto& t : t_->offers) take(t, prices.worth(t.at));
    for (const auto& t : t_->own) take(t, prices.saved(t.at));
    for (priced_edge& e : edges_) {
      const expansion& costs = expansions_[e.expansion];
      std::copy(costs.base.begin(), costs.base.end(), e.costs);
      for (std::size_t k = 0; k < e.weights.size(); ++k) {
        double weight = 0;
        for (const auto& [number, count] : e.weights[k]) weight += count * prices.saved(number);
        if (weight == 0) continue;
        const std::vector<double>& amounts = costs.parts[k];
        for (std::size_t i = 0; i < amounts.size(); ++i) e.costs[i] -= weight * amounts[i];
      }
    }
    return constant;
  }

  /// The priced problem by itself, for solvers without savings.
  /// \param merges  whether classes that the prices make equal are merged; otherwise edges and classes are those of
  ///                `shape()`
  /// \pre prices.update() was called
  [[nodiscard]] compact_problem<double> with_prices(const chain_prices<Cost>& prices, bool merges = true) {
    dual_ascent<double> tables(shape_);
    std::vector<double*> lent;
    for (const priced_edge& e : edges_) lent.push_back(e.costs);
    attach(tables);
    std::vector<double> unary(tables.unary().begin(), tables.unary().end());
    compact_builder<double> builder;
    builder.add_constant(shape_.constant() - reprice(prices, unary));
    for (std::size_t x = 0; x < shape_.size(); ++x)
      builder.add_variable(std::span<const double>(unary).subspan(shape_.label_start(x), shape_.label_count(x)));
    std::map<std::uint32_t, const double*> priced;
    for (const priced_edge& e : edges_) priced[e.table] = e.costs;
    for (const compact_edge& e : shape_.edges()) {
      const auto& table = shape_.table(e);
      if (const auto at = priced.find(e.table); at != priced.end()) {
        const auto cost = [&](std::size_t i, std::size_t j) { return at->second[i * table.stride() + j]; };
        std::vector<std::uint32_t> rows(table.row_class().begin(), table.row_class().end());
        std::vector<std::uint32_t> columns(table.column_class().begin(), table.column_class().end());
        auto costs = merges
                         ? cost_table<double>::from_classes(std::move(rows), std::move(columns), table.row_classes(),
                                                            table.column_classes(), cost)
                         : cost_table<double>::from_distinct_classes(std::move(rows), std::move(columns),
                                                                     table.row_classes(), table.column_classes(), cost);
        builder.add_edge(e.first, e.second, std::make_shared<const cost_table<double>>(std::move(costs)));
      } else {
        builder.add_edge(e.first, e.second, shape_.tables()[e.table]);
      }
    }
    for (const usage_row& row : shape_.rows()) builder.add_row(row);
    for (std::uint32_t x = 0; x < shape_.size(); ++x)
      for (const usage_segment& s : shape_.segments(x)) builder.add_segment(x, s);
    for (std::size_t i = 0; i < lent.size(); ++i) edges_[i].costs = lent[i];
    return builder.build();
  }

 private:
  using demand_counts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  using parts = std::map<std::uint32_t, demand_counts>;  ///< by table of amounts

  /// Costs and amounts of an edge by the joint classes of all its tables; rows are padded.
  struct expansion {
    std::shared_ptr<const cost_table<double>> shape;
    std::vector<double> base;
    std::vector<std::vector<double>> parts;
  };
  struct priced_edge {
    std::uint32_t first = 0, second = 0;
    std::uint32_t expansion = 0;
    std::vector<demand_counts> weights;  ///< per part
    std::uint32_t table = 0;
    double* costs = nullptr;
  };

  void add_priced(compact_builder<double>& builder, std::uint32_t x, std::uint32_t y, const cost_table<Cost>* base,
                  const parts& of) {
    std::vector<const cost_table<Cost>*> tables;
    for (const auto& part : of) tables.push_back(t_->tables[part.first].get());
    const auto [at, fresh] = known_.try_emplace({base, tables}, static_cast<std::uint32_t>(expansions_.size()));
    if (fresh) expansions_.push_back(expand(base, tables));
    // a table per edge, since their costs will differ
    builder.add_edge(x, y, std::make_shared<const cost_table<double>>(*expansions_[at->second].shape));
    priced_edge& e = edges_.emplace_back(priced_edge{x, y, at->second, {}, 0, nullptr});
    for (const auto& part : of) e.weights.push_back(part.second);
  }

  expansion expand(const cost_table<Cost>* base, const std::vector<const cost_table<Cost>*>& tables) const {
    std::vector<const cost_table<Cost>*> all(tables);
    if (base != nullptr) all.push_back(base);
    const auto join = [&](std::size_t labels, auto class_of) {
      interner<std::vector<std::uint32_t>, sequence_hash> tuples;
      std::pair<std::vector<std::uint32_t>, std::vector<strategy>> joint;  // class of each label, a label of each class
      for (strategy l = 0; l < labels; ++l) {
        std::vector<std::uint32_t> tuple;
        for (const auto* t : all) tuple.push_back(class_of(*t, l));
        joint.first.push_back(tuples(std::move(tuple)));
        if (joint.first.back() == joint.second.size()) joint.second.push_back(l);
      }
      return joint;
    };
    auto rows = join(all[0]->rows(), [](const cost_table<Cost>& t, strategy l) { return t.row_class(l); });
    auto columns = join(all[0]->columns(), [](const cost_table<Cost>& t, strategy l) { return t.column_class(l); });
    expansion result;
    result.shape = std::make_shared<const cost_table<double>>(cost_table<double>::from_distinct_classes(
        rows.first, columns.first, rows.second.size(), columns.second.size(), [&](std::size_t i, std::size_t j) {
          if (base == nullptr) return 0.0;
          return in_double((*base)(rows.second[i], columns.second[j]));
        }));
    const std::size_t stride = result.shape->stride();
    result.base.assign(result.shape->class_row(0), result.shape->class_row(0) + rows.second.size() * stride);
    for (const auto* t : tables) {
      auto& amounts = result.parts.emplace_back(result.base.size(), 0.0);
      for (std::size_t i = 0; i < rows.second.size(); ++i)
        for (std::size_t j = 0; j < columns.second.size(); ++j)
          amounts[i * stride + j] = static_cast<double>((*t)(rows.second[i], columns.second[j]));
    }
    return result;
  }

  const compact_problem<Cost>* p_;
  const savings_terms<Cost>* t_;
  compact_problem<double> shape_;
  std::map<std::pair<const cost_table<Cost>*, std::vector<const cost_table<Cost>*>>, std::uint32_t> known_;
  std::vector<expansion> expansions_;
  std::vector<priced_edge> edges_;
};

#ifdef SHARDWEAVE_COMPILED
extern template class priced_problem<double>;
extern template class priced_problem<std::int64_t>;
#endif

}  // namespace shardweave::inline v0
