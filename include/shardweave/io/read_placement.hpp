#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/io/detail/cost_list.hpp>
#include <shardweave/io/detail/matrix_pool.hpp>
#include <shardweave/io/detail/plain_numbers.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/validate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Reads placement problems in the library's own format, `shardweave.placement` version 1.

namespace shardweave::inline v0 {
namespace detail {

/// The shape of a placement file. Members end in what the element being read leaves behind.
class placement_reader {
 public:
  /// \param work  the shape of field `work`, which is not part of the problem
  placement_description<double> read(text_input& input, const read_options& options,
                                     json_shape work = json_anything()) {
    auto fields = json_header("shardweave.placement", 1);
    for (json_field field :
         {json_optional("name", json_text(d_.name)), json_optional("description", json_text(d_.text)),
          json_optional("unit", json_text(d_.unit)), json_required("vertices", vertices()),
          json_optional("matrices", matrices()), json_required("edges", edges()), json_optional("fixed", fixed()),
          json_optional("pairs", pairs()), json_optional("budgets", budgets()), json_optional("overlap", overlap()),
          json_optional("reference", reference()), json_optional("work", std::move(work))})
      fields.push_back(std::move(field));
    read_json(input, json_object(std::move(fields)), options);
    return with_name_of(input, [&] { return finish(); });
  }

 private:
  /// A list of costs; null is a forbidden one.
  /// \param into  a vector or a builder of lists
  template <class List>
  static json_shape costs(List& into) {
    json_shape list = json_list(json_value("a number or null", [&into](const json_scalar& s) {
      const auto cost = s.type == json_scalar::kind::null ? forbidden<double> : number_of(s);
      if (cost) into.push_back(*cost);
      return cost.has_value();
    }));
    list.begin = [&into] { into.clear(); };
    list.many = [&into](std::string_view text, std::size_t& count) {
      const auto cost_of = [](const plain_number& number) { return number.to_double(); };
      return take_numbers(text, count, cost_sink<double, List, decltype(cost_of)>{into, cost_of, forbidden<double>});
    };
    return list;
  }

  json_shape vertices() {
    auto one =
        json_object({json_optional("name", json_text(vertex_.name)), json_optional("op", json_text(vertex_.op)),
                     json_optional("phase", json_text(vertex_.phase)), json_optional("labels", json_texts(labels_)),
                     json_required("compute", costs(vertex_.compute)), json_optional("tie", json_number(tie_)),
                     json_optional("memory", json_numbers(vertex_.memory))},
                    [this]() -> std::string {
                      vertex_.labels = shared(std::exchange(labels_, {}));
                      if (vertex_.compute.empty()) return "has no strategies: compute is empty";
                      if (tie_) ties_[*tie_].push_back(static_cast<std::uint32_t>(d_.vertices.size()));
                      tie_.reset();
                      return {};
                    });
    return json_items(vertex_, d_.vertices, std::move(one));
  }

  /// Alike vertices have the same labels: equal lists are kept once.
  label_list shared(std::vector<std::string> names) {
    const std::size_t hash = sequence_hash{}(names);
    const auto [first, last] = label_lists_.equal_range(hash);
    const auto same =
        std::find_if(first, last, [&](const auto& known) { return std::ranges::equal(known.second, names); });
    if (same != last) return same->second;
    names.shrink_to_fit();
    return label_lists_.emplace(hash, std::move(names))->second;
  }

  json_shape matrices() {
    return json_list(costs(matrix_), [this] {
      pool_.add(matrix_.take());
      return std::string();
    });
  }

  json_shape edges() {
    auto one = json_object({json_required("from", json_number(edge_.from)), json_required("to", json_number(edge_.to)),
                            json_optional("slot", json_number(edge_.slot)),
                            json_optional("communication", json_index(edge_.communication)),
                            json_optional("transition", json_index(edge_.transition))});
    return json_items(edge_, d_.edges, std::move(one));
  }

  json_shape fixed() {
    auto one = json_object({json_required("vertex", json_number(fixed_.vertex)),
                            json_required("strategies", json_numbers(fixed_.allowed)),
                            json_optional("why", json_text(fixed_.why))});
    return json_items(fixed_, d_.constraints.fixed, std::move(one));
  }

  json_shape pairs() {
    auto allowed = json_list(json_numbers(two_), [this]() -> std::string {
      if (two_.size() != 2) return "has " + std::to_string(two_.size()) + " numbers, expected 2 strategies";
      pair_.allowed.emplace_back(two_[0], two_[1]);
      return {};
    });
    auto one = json_object({json_required("a", json_number(pair_.a)), json_required("b", json_number(pair_.b)),
                            json_required("allowed", std::move(allowed)), json_optional("why", json_text(pair_.why))});
    return json_items(pair_, d_.constraints.pairs, std::move(one));
  }

  json_shape budgets() {
    json_shape live = json_numbers(ends_);
    live.end = [this]() -> std::string {
      if (ends_.size() != 2) return "has " + std::to_string(ends_.size()) + " numbers, expected 2: first and end";
      term_.live = live_interval{ends_[0], ends_[1]};
      return {};
    };
    auto term =
        json_object({json_required("vertex", json_number(term_.vertex)),
                     json_required("usage", json_numbers(term_.usage)), json_optional("live", std::move(live))});
    auto one =
        json_object({json_required("name", json_text(budget_.name)), json_optional("low", json_number(budget_.low)),
                     json_optional("high", json_number(budget_.high)),
                     json_required("terms", json_items(term_, budget_.terms, std::move(term)))});
    return json_items(budget_, d_.constraints.budgets, std::move(one));
  }

  json_shape overlap() {
    auto direction = json_value("\"earlier\" or \"later\"", [this](const json_scalar& s) {
      if (s.type != json_scalar::kind::text || (s.text != "earlier" && s.text != "later")) return false;
      hide_.direction = s.text == "earlier" ? hiding::earlier : hiding::later;
      return true;
    });
    json_shape window = json_numbers(two_);
    window.end = [this]() -> std::string {
      if (two_.size() != 2 || two_[0] > two_[1]) return "is no window, expected 2 positions: first <= last";
      hide_.first = two_[0];
      hide_.last = two_[1];
      has_window_ = true;
      return {};
    };
    auto one =
        json_object({json_required("edge", json_number(hide_.edge)), json_optional("direction", std::move(direction)),
                     json_optional("window", std::move(window)), json_optional("channel", json_number(hide_.channel))},
                    [this]() -> std::string {
                      const bool one_of_them = (hide_.direction != hiding::none) != std::exchange(has_window_, false);
                      return one_of_them ? "" : "needs a direction or a window, and not both";
                    });
    auto order = json_value("\"vertex order\"", [](const json_scalar& s) {
      return s.type == json_scalar::kind::text && s.text == "vertex order";
    });
    return json_object({json_required("order", std::move(order)),
                        json_required("edges", json_items(hide_, d_.overlap, std::move(one)))});
  }

  json_shape reference() {
    return json_object(
        {json_required("objective", json_number(reference_.objective)),
         json_optional("solver", json_text(reference_.solver)), json_optional("proven", json_flag(reference_.proven)),
         json_required("assignment", json_numbers(reference_.choice)),
         json_optional("without_savings", json_number(reference_.without_savings)),
         json_optional("savings", json_anything()), json_optional("upstream", json_anything())},
        [this] {
          d_.reference = std::move(reference_);
          return std::string();
        });
  }

  placement_description<double> finish() {
    for (std::size_t e = 0; e < d_.edges.size(); ++e)
      for (const bool transition : {false, true}) {
        const std::uint32_t m = transition ? d_.edges[e].transition : d_.edges[e].communication;
        if (m == no_table) continue;
        if (m >= pool_.size())
          refuse(error_category::input, d_.name_of_edge(e) + " names matrix " + std::to_string(m) +
                                            ", but there are only " + std::to_string(pool_.size()) + " matrices");
        pool_.use(m, e, transition);
      }
    pool_.give_tables(d_);
    for (auto& [number, vertices] : ties_)
      d_.constraints.ties.push_back({std::move(vertices), "tie " + std::to_string(number)});
    if (d_.reference && d_.reference->choice.size() != d_.vertices.size())
      refuse(error_category::input, "reference.assignment has " + std::to_string(d_.reference->choice.size()) +
                                        " strategies, expected one for each of " + std::to_string(d_.vertices.size()) +
                                        " vertices");
    validate(d_);
    return std::move(d_);
  }

  placement_description<double> d_;
  matrix_pool<double> pool_;
  std::map<std::int64_t, std::vector<std::uint32_t>> ties_;

  described_vertex<double> vertex_;
  std::vector<std::string> labels_;
  std::unordered_multimap<std::size_t, label_list> label_lists_;  ///< by their hash
  std::optional<std::int64_t> tie_;
  cost_list_builder<double> matrix_;
  described_edge edge_;
  fixed_strategies fixed_;
  pairing pair_;
  std::vector<std::uint32_t> two_;
  budget budget_;
  budget_term term_;
  std::vector<std::int64_t> ends_;
  hideable_edge hide_;
  bool has_window_ = false;
  reference_solution reference_;
};

}  // namespace detail

/// Reads a problem of format `shardweave.placement`. Each number is the double nearest to its digits.
/// \throws error (format) for text of another shape or a newer version, (input) for indices and counts that do not
///         fit together
/// Complexity: linear in the text; memory for the matrices, each of which is freed once its table is made.
[[nodiscard]] inline placement_description<double> read_placement(text_source input, const read_options& options = {}) {
  return detail::placement_reader().read(input, options);
}

}  // namespace shardweave::inline v0
