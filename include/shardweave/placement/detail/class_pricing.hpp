#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/placement/cost_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// A table with its hash.
template <cost_value Cost>
struct hashed_table {
  cost_table<Cost> costs;
  std::size_t hash = 0;
};

/// The tables of one key; a table of zeros is absent.
template <cost_value Cost>
struct priced_key {
  std::optional<hashed_table<Cost>> communication, transition;
  bool is_wrong = false;  ///< the model contradicts itself
};

/// The classes of strategies at one end of an edge.
struct listed_classes {
  std::vector<std::uint32_t> of;  ///< per strategy
  std::size_t count = 0;
};

/// The classes that a model lists.
/// \param returned  of the model, which may compute it lazily: kept while its elements are read
/// \param name      names the edge; called only when something is wrong
/// \pre there are strategies
/// \throws error (input) if there is not one class per strategy
template <class Returned, class Name>
[[nodiscard]] listed_classes copy_classes(const Returned& returned, std::size_t strategies, const char* end,
                                          Name name) {
  const std::span<const std::uint32_t> listed(returned);
  if (listed.size() != strategies)
    refuse(error_category::input, name() + " lists " + std::to_string(listed.size()) + " classes for the " +
                                      std::to_string(strategies) + " strategies of its " + end);
  return {{listed.begin(), listed.end()}, 1 + std::size_t{*std::max_element(listed.begin(), listed.end())}};
}

/// Calls a model once for each pair of classes of an edge; if it has communication as a table (`class_costs`), costs
/// are shared. Results are written directly to the tables' memory, since a copy would be noticeable on large meshes.
/// \param name  names the edge; called only when something is wrong
/// \param poll  called for every row of classes; throws to stop
/// \pre both ends have strategies
/// \throws error (input) if the classes contradict the numbers of strategies
template <class Model, class Edge, class Name, class Poll>
[[nodiscard]] priced_key<typename Model::cost_type> price_classes(const Model& model, const Edge& e, std::size_t rows,
                                                                  std::size_t columns, Name name, Poll poll) {
  using cost_type = typename Model::cost_type;
  using table = cost_table<cost_type>;
  listed_classes producer = copy_classes(model.producer_classes(e), rows, "producer", name);
  listed_classes consumer = copy_classes(model.consumer_classes(e), columns, "consumer", name);
  if (producer.count > rows || consumer.count > columns)
    refuse(error_category::input, name() + " numbers a class " +
                                      std::to_string(std::max(producer.count, consumer.count) - 1) +
                                      ", but classes are numbered 0, 1, ... without more classes than strategies");

  const std::size_t stride = table::padded_size(consumer.count);
  std::vector<cost_type> communication(producer.count * stride, forbidden<cost_type>), transition = communication;
  bool is_free = true, is_smooth = true;
  for (std::uint32_t i = 0; i < producer.count; ++i) {
    poll();
    for (std::uint32_t j = 0; j < consumer.count; ++j) {
      const edge_parts<cost_type> parts = model.class_parts(e, i, j);
      communication[i * stride + j] = parts.communication;
      transition[i * stride + j] = parts.transition;
      is_free = is_free && parts.communication == cost_type{};
      is_smooth = is_smooth && parts.transition == cost_type{};
    }
  }
  priced_key<cost_type> result;
  const auto keep = [&](std::optional<hashed_table<cost_type>>& part, std::vector<cost_type>& costs, auto share) {
    table made = table::from_class_rows(producer.of, consumer.of, producer.count, consumer.count, std::move(costs));
    const std::size_t hash = made.cost_hash();
    share(made);
    part = {made.packed(), hash};
  };
  if (is_smooth) transition = std::vector<cost_type>();  // frees the memory, which `= {}` would not
  if (!is_free)
    keep(result.communication, communication, [&](table& made) {
      if constexpr (requires { model.class_costs(e); }) made.share_costs(model.class_costs(e));
    });
  if (!is_smooth) keep(result.transition, transition, [](table&) {});
  return result;
}

}  // namespace shardweave::inline v0::detail
