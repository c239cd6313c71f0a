#pragma once

#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>

/// \file
/// The format `shardweave.solution`, version 1: an answer to a placement problem.

namespace shardweave {
inline namespace v0 {

/// What a solution file says.
template <cost_value Cost>
struct stored_solution {
  std::string problem;  ///< name of the problem
  solution<Cost> answer;
};

namespace detail {

/// The form in which savings count, and what is saved of every edge of which something is hidden.
template <cost_value Cost>
void write_hidden(json_writer& out, const placement_description<Cost>& d, const evaluation<Cost>& priced) {
  out.line().key("overlap").begin_object().member("form", name_of(d.counted)).key("hidden").begin_list();
  for (std::size_t e = 0; e < priced.hidden.size(); ++e)
    if (priced.hidden[e] > Cost{}) out.begin_object().member("edge", e).member("saved", priced.hidden[e]).end_object();
  out.end_list().end_object();
}

}  // namespace detail

/// Writes an answer with the names of vertices and strategies beside the indices, where the problem has them, and with
/// what is hidden of which edge, where the problem counts savings.
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
  out.member("lower_bound", s.lower_bound).member("status", name_of(s.status));
  out.line().key("statistics").begin_object().member("solver", s.statistics.solver);
  out.member("seconds", s.statistics.seconds).member("seconds_to_best", s.statistics.seconds_to_best);
  out.member("iterations", s.statistics.iterations).text_if_any("note", s.statistics.note);
  out.key("counters").begin_object();
  for (const auto& [name, value] : s.statistics.counters) out.member(name, value);
  out.end_object().end_object();
  out.line().key("choices").begin_list();
  for (std::size_t v = 0; v < s.choice.size(); ++v) {
    if (d.vertices[v].name.empty() && d.vertices[v].labels.empty()) continue;
    out.line().begin_object().member("vertex", v).text_if_any("name", d.vertices[v].name);
    out.member("strategy", d.name_of_strategy(v, s.choice[v])).end_object();
  }
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
[[nodiscard]] stored_solution<Cost> read_solution(text_input& input, const read_options& options = {}) {
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
  auto statistics = json_object({json_optional("solver", json_text(s.statistics.solver)),
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
        json_optional("lower_bound", json_number_or_null(bound)), json_optional("status", std::move(status)),
        json_optional("statistics", std::move(statistics)), json_optional("choices", json_anything())})
    fields.push_back(std::move(field));
  read_json(input, json_object(std::move(fields)), options);
  if (objective) s.objective = *objective;
  if (bound) s.lower_bound = *bound;
  if (s.status == solve_status::infeasible) s.lower_bound = std::numeric_limits<double>::infinity();
  return result;
}
template <cost_value Cost>
[[nodiscard]] stored_solution<Cost> read_solution(const std::filesystem::path& path, const read_options& options = {}) {
  text_input input(path);
  return read_solution<Cost>(input, options);
}

}  // namespace v0
}  // namespace shardweave
