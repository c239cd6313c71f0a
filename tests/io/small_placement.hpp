#pragma once

#include "io/refused.hpp"
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/io/write_placement.hpp>

#include <string>

/// A placement problem as a file has it, read and written.
namespace small_placements {

namespace sw = shardweave;

inline const std::string small = R"json({"format": "shardweave.placement", "version": 1, "name": "small", "unit": "us",
"vertices": [
 {"name": "x", "op": "input", "phase": "forward", "labels": ["R", "S(0)"], "compute": [0, 0.5], "memory": [8, 4]},
 {"name": "y", "compute": [1, null, 3], "tie": 7},
 {"name": "z", "compute": [1, 2, 3], "tie": 7}],
"matrices": [[0, 1, 2, null, 4, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]],
"edges": [{"from": 0, "to": 1, "slot": 1, "communication": 0}, {"from": 1, "to": 2, "transition": 1}],
"fixed": [{"vertex": 0, "strategies": [0, 1], "why": "input"}],
"pairs": [{"a": 0, "b": 2, "allowed": [[0, 0], [1, 2]], "why": "gradient"}],
"budgets": [{"name": "parameters", "low": 0.5, "high": 1, "terms": [{"vertex": 0, "usage": [1, 0.5]}]},
 {"name": "activations", "high": 9, "terms": [{"vertex": 1, "usage": [3, 4, 5], "live": [2, 6]}]}],
"overlap": {"order": "vertex order", "edges": [{"edge": 0, "direction": "earlier"}, {"edge": 1, "direction": "later"},
 {"edge": 0, "window": [0, 2], "channel": 3}]},
"reference": {"objective": 12.5, "without_savings": 13, "savings": 0.5, "solver": "hand", "proven": true,
 "assignment": [1, 2, 2]}})json";

inline sw::placement_description<double> read(const std::string& text, bool strict = true) {
  auto input = sw::text_input::of_memory("T", text);
  return sw::read_placement(input, {.strict = strict});
}

inline std::string message(const std::string& text) {
  return refused([&] { return read(text); });
}

template <class Cost>
std::string written(const sw::placement_description<Cost>& d) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_placement(out, d); });
}

}  // namespace small_placements
