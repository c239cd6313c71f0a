#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/step/priced_steps.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Definitions of `priced_steps`.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE priced_steps::priced_steps(const placement_problem<double>& problem, const step_work& work)
    : problem_(problem), work_(&work) {
  if (work.vertex_count() != problem.vertex_count())
    refuse(error_category::input, "work is told of " + std::to_string(work.vertex_count()) +
                                      " vertices, but the problem has " + std::to_string(problem.vertex_count()));
  if (const std::string fault = detail::fault_of(work); !fault.empty()) refuse(error_category::input, fault);
  const compact_problem<double>& p = problem.compact();
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lists, diagonals;
  for (std::uint32_t v = 0; v < work.vertex_count(); ++v) {
    const std::pair key(problem.variable_of(v), work.times_of[v]);
    const auto [at, fresh] = lists.try_emplace(key, static_cast<std::uint32_t>(list_at_.size()));
    if (fresh) list_at_.push_back(key);
    list_slot_.push_back(at->second);
    const strategy most = problem.strategy_of(key.first, static_cast<strategy>(p.label_count(key.first) - 1));
    if (most >= work.times[key.second].size())
      refuse(error_category::input, "vertex " + std::to_string(v) + ": work is told of " +
                                        std::to_string(work.times[key.second].size()) +
                                        " strategies, but the problem has strategy " + std::to_string(most));
  }
  struct found_pair {
    std::vector<term> terms;
    table_pointer base;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, found_pair> found;
  for (const compact_edge& e : p.edges()) found[{e.first, e.second}].base = p.tables()[e.table];
  is_diagonal_.resize(work.edges.size());
  edge_slot_.resize(work.edges.size());
  for (std::size_t i = 0; i < work.edges.size(); ++i) {
    const work_edge& e = work.edges[i];
    const std::uint32_t x = problem.variable_of(e.from), y = problem.variable_of(e.to);
    if (x == y) {
      is_diagonal_[i] = true;
      const auto [at, fresh] = diagonals.try_emplace({x, e.table}, static_cast<std::uint32_t>(diagonal_at_.size()));
      if (fresh) diagonal_at_.emplace_back(x, e.table);
      edge_slot_[i] = at->second;
    } else if (!work.tables[e.table].is_idle()) {
      found[{std::min(x, y), std::max(x, y)}].terms.push_back({e.table, x > y});
    }
  }
  interner<std::vector<std::uint32_t>, sequence_hash> label_lists;
  std::vector<std::uint32_t> labels_of(p.size());
  for (std::uint32_t x = 0; x < p.size(); ++x) {
    std::vector<std::uint32_t> list;
    for (strategy l = 0; l < p.label_count(x); ++l) list.push_back(problem.strategy_of(x, l));
    labels_of[x] = label_lists(std::move(list));
  }
  std::map<std::tuple<std::uint32_t, std::uint32_t, const void*, std::vector<term>>, std::uint32_t> shapes;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> pair_at;
  for (auto& [ends, what] : found) {
    std::ranges::sort(what.terms);
    const auto twice = std::ranges::unique(what.terms);
    what.terms.erase(twice.begin(), twice.end());
    const auto [at, fresh] =
        shapes.try_emplace({labels_of[ends.first], labels_of[ends.second], what.base.get(), what.terms},
                           static_cast<std::uint32_t>(shapes_.size()));
    if (fresh) shapes_.push_back(make_shape(what.terms, what.base, ends.first, ends.second));
    pair_at[ends] = pairs_.size();
    pairs_.push_back({ends.first, ends.second, at->second, static_cast<std::uint32_t>(slots_)});
    slots_ += what.terms.size();
  }
  for (std::size_t i = 0; i < work.edges.size(); ++i) {
    const work_edge& e = work.edges[i];
    if (is_diagonal_[i] || work.tables[e.table].is_idle()) continue;
    const std::uint32_t x = problem.variable_of(e.from), y = problem.variable_of(e.to);
    const variable_pair& pair = pairs_[pair_at[{std::min(x, y), std::max(x, y)}]];
    const auto& terms = shapes_[pair.shape].terms;
    const auto at = std::ranges::lower_bound(terms, term{e.table, x > y});
    edge_slot_[i] = pair.slot + static_cast<std::uint32_t>(at - terms.begin());
  }
}

/// Joint classes of labels that no term distinguishes.
/// \param of  receives the class of each label
SHARDWEAVE_INLINE std::vector<std::vector<std::uint32_t>> priced_steps::classes_of(
    std::vector<std::uint32_t>& of, std::size_t labels, const std::vector<std::vector<std::uint32_t>>& by_term) {
  interner<std::vector<std::uint32_t>, sequence_hash> known;
  for (std::size_t l = 0; l < labels; ++l) {
    std::vector<std::uint32_t> tuple;
    for (const auto& classes : by_term) tuple.push_back(classes[l]);
    of.push_back(known(std::move(tuple)));
  }
  std::vector<std::vector<std::uint32_t>> distinct;
  for (std::uint32_t c = 0; c < known.size(); ++c) distinct.push_back(known[c]);
  return distinct;
}

SHARDWEAVE_INLINE priced_steps::shape priced_steps::make_shape(std::vector<term> terms, table_pointer base,
                                                               std::uint32_t x, std::uint32_t y) const {
  shape made{.terms = std::move(terms),
             .base = std::move(base),
             .row_class = {},
             .column_class = {},
             .rows = {},
             .columns = {}};
  const compact_problem<double>& p = problem_.compact();
  const auto side = [&](std::uint32_t variable, bool is_first, std::vector<std::uint32_t>& of) {
    std::vector<std::vector<std::uint32_t>> by_term;
    for (const term& t : made.terms) {
      const work_table& table = work_->tables[t.table];
      std::vector<std::uint32_t>& classes = by_term.emplace_back();
      for (strategy l = 0; l < p.label_count(variable); ++l) {
        const strategy s = problem_.strategy_of(variable, l);
        classes.push_back(is_first != t.turned ? table.row_class[s] : table.column_class[s]);
      }
    }
    if (made.base != nullptr) {
      const auto classes = is_first ? made.base->row_class() : made.base->column_class();
      by_term.emplace_back(classes.begin(), classes.end());
    }
    return classes_of(of, p.label_count(variable), by_term);
  };
  made.rows = side(x, true, made.row_class);
  made.columns = side(y, false, made.column_class);
  return made;
}

SHARDWEAVE_INLINE std::vector<double> priced_steps::worth_of_amounts(const work_table& table,
                                                                     const slot_prices& prices) {
  std::vector<double> worth;
  const auto add = [](std::vector<double>& to, const std::vector<double>& amounts, double weight) {
    if (weight == 0 || amounts.empty()) return;
    to.resize(amounts.size());
    for (std::size_t a = 0; a < amounts.size(); ++a) to[a] += weight * amounts[a];
  };
  add(worth, table.chains, prices.chain);
  for (const auto& [weights, edges] : prices.channels) {
    std::vector<double> least;
    for (std::size_t way = 0; way < table.ways(); ++way) {
      std::vector<double> of_way;
      for (std::size_t c = 0; c < weights.size(); ++c) add(of_way, table.loads_of(way)[c], weights[c]);
      if (of_way.empty()) {
        least.clear();  // one way is free
        break;
      }
      if (way == 0) least = of_way;
      for (std::size_t a = 0; a < least.size(); ++a) least[a] = std::min(least[a], of_way[a]);
    }
    add(worth, least, edges);
  }
  return worth;
}

SHARDWEAVE_INLINE priced_steps::table_pointer priced_steps::priced(const shape& s,
                                                                   std::span<const slot_prices> prices) const {
  std::vector<std::vector<double>> worth;  // per term: of each amount
  for (std::size_t t = 0; t < s.terms.size(); ++t)
    worth.push_back(worth_of_amounts(work_->tables[s.terms[t].table], prices[t]));
  std::vector<std::vector<std::uint32_t>> column_of(s.terms.size());  // per term: of each class
  for (std::size_t t = 0; t < s.terms.size(); ++t)
    for (const auto& column : s.columns) column_of[t].push_back(column[t]);
  std::vector<double> sums(s.columns.size());  // filled for one row at a time
  const auto add_up = [&](const std::vector<std::uint32_t>& row) {
    std::ranges::fill(sums, 0.0);
    for (std::size_t t = 0; t < s.terms.size(); ++t) {
      if (worth[t].empty()) continue;
      const work_table& work = work_->tables[s.terms[t].table];
      const std::size_t along = s.terms[t].turned ? work.column_classes : 1;
      const std::uint32_t* const amounts =
          work.amount_of->data() + row[t] * (s.terms[t].turned ? 1 : work.column_classes);
      for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += worth[t][amounts[column_of[t][j] * along]];
    }
    if (s.base == nullptr) return;
    for (std::size_t j = 0; j < sums.size(); ++j)
      if (is_forbidden(s.base->class_cost(row.back(), s.columns[j].back()))) sums[j] = forbidden<double>;
  };
  std::size_t added = ~std::size_t{0};
  const auto cost = [&](std::size_t i, std::size_t j) {
    if (added != i) add_up(s.rows[added = i]);
    return sums[j];
  };
  using table = cost_table<double>;
  const bool tells_nothing = std::ranges::all_of(worth, [](const auto& of_term) { return of_term.empty(); });
  // priced work rarely has equal rows or columns, and comparing them takes longer than it saves
  return std::make_shared<const table>(
      tells_nothing ? table::from_classes(s.row_class, s.column_class, s.rows.size(), s.columns.size(), cost)
                    : table::from_distinct_classes(s.row_class, s.column_class, s.rows.size(), s.columns.size(), cost));
}

SHARDWEAVE_INLINE compact_problem<double> priced_steps::at(const work_prices& prices) const {
  const compact_problem<double>& p = problem_.compact();
  std::vector<double> of_list(list_at_.size());
  std::vector<slot_prices> of_term(slots_), of_diagonal(diagonal_at_.size());
  for (std::uint32_t v = 0; v < list_slot_.size(); ++v) of_list[list_slot_[v]] += prices.time[v];
  for (std::size_t e = 0; e < edge_slot_.size(); ++e) {
    if (!is_diagonal_[e] && work_->tables[work_->edges[e].table].is_idle()) continue;
    slot_prices& at = (is_diagonal_[e] ? of_diagonal : of_term)[edge_slot_[e]];
    at.chain += prices.chain[e];
    const auto begin = prices.load.begin() + static_cast<std::ptrdiff_t>(e * work_->channels);
    std::vector<double> channels(begin, begin + static_cast<std::ptrdiff_t>(work_->channels));
    if (std::ranges::any_of(channels, [](double price) { return price != 0; })) at.channels[std::move(channels)] += 1;
  }

  std::vector<std::vector<double>> unary;
  for (std::size_t x = 0; x < p.size(); ++x) unary.emplace_back(p.label_count(x));
  for (std::size_t i = 0; i < list_at_.size(); ++i) {
    const auto& [x, list] = list_at_[i];
    for (strategy l = 0; l < unary[x].size(); ++l)
      unary[x][l] += of_list[i] * work_->times[list][problem_.strategy_of(x, l)];
  }
  for (std::size_t i = 0; i < diagonal_at_.size(); ++i) {
    const auto& [x, number] = diagonal_at_[i];
    const work_table& table = work_->tables[number];
    const std::vector<double> worth = worth_of_amounts(table, of_diagonal[i]);
    if (worth.empty()) continue;
    for (strategy l = 0; l < unary[x].size(); ++l) {
      const strategy s = problem_.strategy_of(x, l);
      unary[x][l] += worth[table.class_amount(table.row_class[s], table.column_class[s])];
    }
  }
  compact_builder<double> builder;
  for (std::size_t x = 0; x < p.size(); ++x) {
    const std::uint32_t made = builder.add_variable(unary[x]);
    for (const usage_segment& s : p.segments(x)) builder.add_segment(made, s);
  }
  for (const usage_row& row : p.rows()) builder.add_row(row);
  std::map<std::pair<std::uint32_t, std::vector<slot_prices>>, table_pointer> known;
  for (const variable_pair& pair : pairs_) {
    const shape& s = shapes_[pair.shape];
    const auto at = std::span<const slot_prices>(of_term).subspan(pair.slot, s.terms.size());
    table_pointer& table = known[{pair.shape, {at.begin(), at.end()}}];
    if (table == nullptr) table = priced(s, at);
    builder.add_edge(pair.first, pair.second, table);
  }
  return builder.build();
}

}  // namespace shardweave::inline v0
