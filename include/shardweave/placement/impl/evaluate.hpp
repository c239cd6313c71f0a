#pragma once

#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/impl/evaluation.hpp>
#include <shardweave/placement/savings_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Definitions of `evaluate` and `hidden_parts` for a description, and of what counts savings.

namespace shardweave::inline v0 {

namespace detail {

/// The arguments of `hide` for an assignment. Demand i is place i.
template <cost_value Cost>
struct hiding_question {
  std::vector<hiding_place> places;
  std::vector<std::uint32_t> order;  ///< the vertex at each position
  std::vector<Cost> computation;     ///< per position
  std::vector<hideable<Cost>> demands;

  hiding_question(const placement_description<Cost>& d, std::span<const strategy> choice) {
    savings_layout layout = layout_of(d);
    for (const std::uint32_t v : layout.order)
      computation.push_back(layout.idle[v] ? Cost{} : amount_of(d.vertices[v].compute[choice[v]]));
    demands = demands_of(layout.places, [&](std::size_t e) {
      const described_edge& hidden = d.edges[e];
      return hidden.communication == no_table
                 ? Cost{}
                 : amount_of((*d.tables[hidden.communication])(choice[hidden.from], choice[hidden.to]));
    });
    places = std::move(layout.places);
    order = std::move(layout.order);
  }
};

template <cost_value Cost>
void evaluate_savings(const placement_description<Cost>& d, std::span<const strategy> choice,
                      evaluation<Cost>& result) {
  const hiding_question<Cost> asked(d, choice);
  const savings<Cost> saved = hide(std::span<const Cost>(asked.computation), asked.demands);
  result.savings = saved.total;
  result.hidden.resize(d.edges.size());
  for (std::size_t i = 0; i < asked.places.size(); ++i) result.hidden[asked.places[i].edge] += saved.hidden[i];
}

}  // namespace detail

template <cost_value Cost>
evaluation<Cost> evaluate(const placement_description<Cost>& d, std::span<const strategy> choice) {
  return detail::evaluate_stated(d, choice, [&](evaluation<Cost>& result) {
    if (d.counted != savings_form::off) detail::evaluate_savings(d, choice, result);
  });
}

template <cost_value Cost>
placement_problem<Cost> placement_problem<Cost>::with_savings(savings_terms<Cost> terms) const {
  placement_problem saving = *this;
  saving.savings_ = terms.empty() ? nullptr : std::make_shared<const savings_terms<Cost>>(std::move(terms));
  static constexpr savings_functions counting{
      .measure = &savings_of<Cost>,
      .most = [](const savings_terms<Cost>& all) { return all.most(); },
      .evaluate = &detail::evaluate_savings<Cost>,
      .restrict =
          [](const placement_problem& left, const savings_terms<Cost>& of_whole,
             const std::vector<std::vector<strategy>>& kept,
             std::span<const std::uint32_t> inner) { return left.with_savings(of_whole.restricted(kept, inner)); }};
  saving.counting_ = &counting;
  return saving;
}

template <cost_value Cost>
std::vector<hidden_part<Cost>> hidden_parts(const placement_description<Cost>& d, std::span<const strategy> choice) {
  std::vector<hidden_part<Cost>> parts;
  if (d.counted == savings_form::off) return parts;
  const detail::hiding_question<Cost> asked(d, choice);
  for (const hidden_piece<Cost>& piece : hide_in_pieces(std::span<const Cost>(asked.computation), asked.demands))
    if (piece.amount > Cost{})
      parts.push_back(
          {static_cast<std::uint32_t>(asked.places[piece.demand].edge), asked.order[piece.position], piece.amount});
  return parts;
}

}  // namespace shardweave::inline v0
