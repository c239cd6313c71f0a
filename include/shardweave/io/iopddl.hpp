#pragma once

#include <shardweave/core/number_text.hpp>
#include <shardweave/io/detail/cost_list.hpp>
#include <shardweave/io/detail/matrix_pool.hpp>
#include <shardweave/io/detail/plain_numbers.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/validate.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Reads problems of the ASPLOS 2025 contest on intra-operator parallelism (IOPDDL).

namespace shardweave::inline v0 {

/// Costs from here on mean "forbidden"; the contest's files use 10^18.
inline constexpr std::int64_t iopddl_forbidden = 100'000'000'000'000'000;

namespace detail {

/// The shape of an IOPDDL file and what its parts leave behind. Keys come in any order (the contest's files
/// put edges before nodes), so tables get their shapes at the end.
class iopddl_reader {
 public:
  placement_description<std::int64_t> read(text_input& input, const read_options& options) {
    auto problem = json_object({json_required("name", json_text(result_.name)), json_required("nodes", nodes()),
                                json_required("edges", edges()), json_optional("usage_limit", json_number(limit_))});
    read_json(input, json_object({json_required("problem", std::move(problem))}), options);
    return with_name_of(input, [&] { return finish(); });
  }

 private:
  json_shape nodes() {
    auto interval = json_list(json_numbers(ends_), [this]() -> std::string {
      if (ends_.size() != 2) return "has " + std::to_string(ends_.size()) + " numbers, expected 2: first and end";
      intervals_.push_back({ends_[0], ends_[1]});
      return {};
    });
    auto costs = json_list(costs_into(costs_), [this] {
      result_.vertices.emplace_back().compute = costs_;
      return std::string(result_.vertices.back().compute.empty() ? "has no strategies" : "");
    });
    auto usages = json_list(json_numbers(usage_), [this] {
      usages_.push_back(usage_);
      return std::string();
    });
    return json_object({json_required("intervals", std::move(interval)), json_required("costs", std::move(costs)),
                        json_required("usages", std::move(usages))},
                       [this]() -> std::string {
                         const std::size_t n = result_.vertices.size();
                         if (intervals_.size() == n && usages_.size() == n) return {};
                         return "has " + std::to_string(n) + " costs, " + std::to_string(intervals_.size()) +
                                " intervals and " + std::to_string(usages_.size()) + " usages, expected equally many";
                       });
  }

  json_shape edges() {
    auto joined = json_list(json_numbers(joined_), [this]() -> std::string {
      if (joined_.size() != 2)
        return "joins " + number_text(joined_.size(), "vertex", "vertices") +
               ", expected 2: other edges are not supported";
      result_.edges.push_back({.from = joined_[0], .to = joined_[1]});
      return {};
    });
    auto costs = json_list(costs_into(matrix_), [this] {
      matrix_of_edge_.push_back(pool_.intern(matrix_.take()));
      return std::string();
    });
    return json_object({json_required("nodes", std::move(joined)), json_required("costs", std::move(costs))},
                       [this]() -> std::string {
                         if (matrix_of_edge_.size() == result_.edges.size()) return {};
                         return "has " + std::to_string(result_.edges.size()) + " nodes and " +
                                std::to_string(matrix_of_edge_.size()) + " costs, expected equally many";
                       });
  }

  /// Costs as they stand, with the large ones replaced by the library's own mark.
  static std::int64_t cost_of(std::int64_t written) {
    return written >= iopddl_forbidden ? forbidden<std::int64_t> : written;
  }
  /// \param into  a vector or a builder of lists
  template <class List>
  static json_shape costs_into(List& into) {
    json_shape list = json_list(json_value("a whole number", [&into](const json_scalar& s) {
      const bool is_number = s.type == json_scalar::kind::number;
      if (is_number && number_of(s).value_or(s.number) >= static_cast<double>(iopddl_forbidden)) {
        into.push_back(forbidden<std::int64_t>);
        return true;
      }
      const auto cost = integer_of<std::int64_t>(s);
      if (cost) into.push_back(cost_of(*cost));
      return cost.has_value();
    }));
    list.begin = [&into] { into.clear(); };
    list.many = [&into](std::string_view text, std::size_t& count) {
      const auto written = [](const plain_number& number) {
        const auto value = number.to_integer<std::int64_t>();
        return value ? std::optional(cost_of(*value)) : std::nullopt;
      };
      return take_numbers(text, count, cost_sink<std::int64_t, List, decltype(written)>{into, written});
    };
    return list;
  }

  placement_description<std::int64_t> finish() {
    result_.vertices.shrink_to_fit();
    result_.edges.shrink_to_fit();
    for (std::size_t e = 0; e < result_.edges.size(); ++e) pool_.use(matrix_of_edge_[e], e, false);
    pool_.give_tables(result_);
    if (limit_) {
      budget memory{.name = "memory", .high = *limit_, .terms = {}};
      memory.terms.reserve(result_.vertices.size());
      for (std::uint32_t v = 0; v < result_.vertices.size(); ++v)
        memory.terms.push_back({v, std::move(usages_[v]), intervals_[v]});
      result_.constraints.budgets.push_back(std::move(memory));
    }
    validate(result_);
    return std::move(result_);
  }

  placement_description<std::int64_t> result_;
  std::vector<live_interval> intervals_;
  std::vector<std::vector<double>> usages_;
  std::optional<double> limit_;
  matrix_pool<std::int64_t> pool_;  ///< equal lists of costs once
  std::vector<std::uint32_t> matrix_of_edge_;
  // of the element being read
  std::vector<std::int64_t> costs_;
  cost_list_builder<std::int64_t> matrix_;
  std::vector<std::int64_t> ends_;
  std::vector<double> usage_;
  std::vector<std::uint32_t> joined_;
};

}  // namespace detail

/// Reads an IOPDDL problem. Intervals are half-open, `usage_limit` (if there is one) becomes the budget "memory",
/// costs of 10^17 and above are forbidden, edges keep their order and their direction as written.
/// \throws error (format) for text of another shape, (input) for indices and counts that do not fit together, and
///         for edges that do not join two vertices
/// Complexity: linear in the text; memory for the distinct matrices.
[[nodiscard]] inline placement_description<std::int64_t> read_iopddl(text_source input,
                                                                     const read_options& options = {}) {
  return detail::iopddl_reader().read(input, options);
}

}  // namespace shardweave::inline v0
