#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/explain.hpp>
#include <shardweave/solve/solution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// The format `shardweave.solution`, version 1: an answer to a placement problem.

namespace shardweave::inline v0 {

/// A vertex and the strategy that it takes, by their names.
struct named_choice {
  std::string vertex;
  std::string strategy;
};

/// What a solution file says.
template <cost_value Cost>
struct stored_solution {
  std::string problem;  ///< name of the problem
  solution<Cost> answer;
  std::vector<named_choice> choices;  ///< where the problem had names
};

namespace detail {

/// The form in which savings count, and what is saved of every edge of which something is hidden.
template <cost_value Cost>
void write_hidden(json_writer& out, const placement_description<Cost>& d, const evaluation<Cost>& priced) {
  out.line().key("overlap").begin_object().member("form", name_of(d.counted));
  if (d.windows.prefetch != no_position) out.member("prefetch", d.windows.prefetch);
  if (d.windows.every_edge) out.member("every_edge", true);
  out.key("hidden").begin_list();
  for (std::size_t e = 0; e < priced.hidden.size(); ++e)
    if (priced.hidden[e] > Cost{}) out.begin_object().member("edge", e).member("saved", priced.hidden[e]).end_object();
  out.end_list().end_object();
}

/// A vertex with its strategy, its computation, and argument by argument what its inputs cost.
template <cost_value Cost>
void write_choice(json_writer& out, const placement_description<Cost>& d, std::span<const strategy> choice,
                  std::size_t v, const std::vector<std::uint32_t>& inputs) {
  out.line().begin_object().member("vertex", v).text_if_any("name", d.vertices[v].name);
  out.member("strategy", d.name_of_strategy(v, choice[v])).member("compute", d.vertices[v].compute[choice[v]]);
  out.key("arguments").begin_list();
  for (const std::uint32_t e : inputs) {
    const edge_parts<Cost> parts = parts_of_edge(d, choice, e);
    out.begin_object().member("from", d.edges[e].from).member("communication", parts.communication);
    out.member("transition", parts.transition).end_object();
  }
  out.end_list().end_object();
}

}  // namespace detail

/// Writes an answer with its bound and gap. Where the problem has names, each vertex is told with its strategy and what
/// it costs, argument by argument; where it counts savings, what is hidden of which edge. Seconds are left out: equal
/// answers give equal files.
template <cost_value Cost>
void write_solution(json_writer& out, const placement_description<Cost>& d, const solution<Cost>& s) {
  out.begin_object().member("format", "shardweave.solution").member("version", 1);
  out.line().member("problem", d.name).member("unit", d.unit);
  out.line().list("assignment", s.choice).line().key("objective");
  s.has_assignment() ? out.value(s.objective) : out.null();
  if (s.has_assignment()) {
    const evaluation<Cost> priced = evaluate(d, s.choice);
    out.key("parts").begin_object().member("compute", priced.parts.compute);
    out.member("communication", priced.parts.communication).member("transition", priced.parts.transition);
    if (d.counted != savings_form::off) out.member("savings", priced.savings);
    out.end_object();
    if (d.counted != savings_form::off) detail::write_hidden(out, d, priced);
  }
  out.member("lower_bound", s.lower_bound).member("gap", s.gap()).member("status", name_of(s.status));
  out.line().key("statistics").begin_object().member("solver", s.statistics.solver);
  out.text_if_any("bound_by", s.statistics.bound_by);
  out.member("iterations", s.statistics.iterations).text_if_any("note", s.statistics.note);
  out.key("counters").begin_object();
  for (const auto& [name, value] : s.statistics.counters) out.member(name, value);
  out.end_object().end_object();
  out.line().key("choices").begin_list();
  std::vector<std::vector<std::uint32_t>> inputs(s.choice.size());
  if (s.has_assignment())
    for (std::uint32_t e = 0; e < d.edges.size(); ++e) inputs[d.edges[e].to].push_back(e);
  for (std::size_t v = 0; v < s.choice.size(); ++v)
    if (!d.vertices[v].name.empty() || !d.vertices[v].labels.empty())
      detail::write_choice(out, d, std::span(s.choice), v, inputs[v]);
  out.end_list().end_object().line();
}

/// The same to a file.
/// \throws error (system)
template <cost_value Cost>
void write_solution(const std::filesystem::path& path, const placement_description<Cost>& d, const solution<Cost>& s) {
  write_json_file(path, [&](json_writer& out) { write_solution(out, d, s); });
}

/// Reads what `write_solution` writes. Nothing is checked against a problem: `evaluate` does that, and should,
/// where the file comes from someone else. `problem` and `assignment` are all that a file needs.
/// \throws error (format)
template <cost_value Cost>
[[nodiscard]] stored_solution<Cost> read_solution(text_source input, const read_options& options = {}) {
  stored_solution<Cost> result;
  solution<Cost>& s = result.answer;
  std::optional<Cost> objective;
  std::optional<double> bound;
  json_shape status =
      json_value("\"optimal\", \"feasible\", \"infeasible\" or \"stopped\"", [&](const json_scalar& value) {
        for (const solve_status known :
             {solve_status::optimal, solve_status::feasible, solve_status::infeasible, solve_status::stopped})
          if (value.type == json_scalar::kind::text && value.text == name_of(known)) {
            s.status = known;
            return true;
          }
        return false;
      });
  std::string counter;
  std::optional<double> value;
  named_choice named;
  auto choice = json_object({json_optional("vertex", json_anything()), json_optional("name", json_text(named.vertex)),
                             json_optional("strategy", json_text(named.strategy)),
                             json_optional("compute", json_anything()), json_optional("arguments", json_anything())});
  auto statistics = json_object({json_optional("solver", json_text(s.statistics.solver)),
                                 json_optional("bound_by", json_text(s.statistics.bound_by)),
                                 json_optional("seconds", json_number(s.statistics.seconds)),
                                 json_optional("seconds_to_best", json_number(s.statistics.seconds_to_best)),
                                 json_optional("iterations", json_number(s.statistics.iterations)),
                                 json_optional("note", json_text(s.statistics.note)),
                                 json_optional("counters", json_map(counter, json_number_or_null(value), [&] {
                                                 if (value) s.statistics.counters.emplace_back(counter, *value);
                                                 return std::string();
                                               }))});
  auto fields = json_header("shardweave.solution", 1);
  for (json_field field :
       {json_required("problem", json_text(result.problem)), json_optional("unit", json_anything()),
        json_required("assignment", json_numbers(s.choice)), json_optional("objective", json_number_or_null(objective)),
        json_optional("parts", json_anything()), json_optional("overlap", json_anything()),
        json_optional("lower_bound", json_number_or_null(bound)), json_optional("gap", json_anything()),
        json_optional("status", std::move(status)), json_optional("statistics", std::move(statistics)),
        json_optional("choices", json_items(named, result.choices, std::move(choice)))})
    fields.push_back(std::move(field));
  read_json(input, json_object(std::move(fields)), options);
  if (objective) s.objective = *objective;
  if (bound) s.lower_bound = *bound;
  if (s.status == solve_status::infeasible) s.lower_bound = std::numeric_limits<double>::infinity();
  return result;
}

/// The assignment of a file for a problem whose vertices and strategies may be numbered in another way than those of
/// the problem that it answers: they are found by their names. Whether it is feasible there, `evaluate` tells.
/// \throws error (input) naming a vertex that the problem does not have, or that the file does not, a strategy that a
///         vertex does not offer, a name that two vertices have, and a vertex that the file places twice
/// Complexity: linear in the strategies of all vertices
template <cost_value Cost>
[[nodiscard]] assignment assignment_by_name(const placement_description<Cost>& d, const stored_solution<Cost>& file) {
  constexpr strategy unset = ~strategy{0};
  std::unordered_map<std::string_view, std::size_t> number_of;
  for (std::size_t v = 0; v < d.vertices.size(); ++v) {
    const auto [at, fresh] = number_of.emplace(d.vertices[v].name, v);
    if (!fresh)
      refuse(error_category::input, d.name_of(at->second) + " and " + d.name_of(v) +
                                        " have the same name, expected names that tell vertices apart");
  }
  assignment result(d.vertices.size(), unset);
  for (const named_choice& each : file.choices) {
    const auto at = number_of.find(each.vertex);
    if (at == number_of.end())
      refuse(error_category::input, "the problem has no vertex '" + each.vertex + "', for which there is a strategy");
    const std::size_t v = at->second;
    const label_list& offered = d.vertices[v].labels;
    const std::size_t count = d.vertices[v].compute.size();
    std::size_t found = 0;  // without labels a strategy is called by its number
    while (found < count && d.name_of_strategy(v, static_cast<strategy>(found)) != each.strategy) ++found;
    if (found == count)
      refuse(error_category::input, d.name_of(v) + " has no strategy '" + each.strategy + "' among its " +
                                        std::to_string(count) +
                                        (offered.empty() ? "" : ", of which the first is '" + offered[0] + "'"));
    if (result[v] != unset)
      refuse(error_category::input, "there are two strategies for " + d.name_of(v) + ": '" +
                                        d.name_of_strategy(v, result[v]) + "' and '" + each.strategy + "'");
    result[v] = static_cast<strategy>(found);
  }
  const auto missing = std::find(result.begin(), result.end(), unset);
  if (missing != result.end())
    refuse(error_category::input,
           "there is no strategy for " + d.name_of(static_cast<std::size_t>(missing - result.begin())));
  return result;
}

}  // namespace shardweave::inline v0
