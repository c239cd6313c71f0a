#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/tasks/detail/lower_median.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// What a profiler saw on a device, and the durations that it gives the tasks of a graph.

namespace shardweave::inline v0 {

/// Shapes of tensors.
using tensor_shapes = std::vector<std::vector<std::int64_t>>;

/// One call of an operator.
struct profiled_call {
  std::string op = {};        ///< with or without its namespace: "aten::mm"
  tensor_shapes inputs = {};  ///< of its tensor arguments with a dimension or more, in argument order
  nanoseconds duration = {};  ///< of all that it launched on the device, summed
};

/// One run of a collective.
struct profiled_collective {
  collective op = collective::other;
  std::int64_t group_size = 0;
  bytes bytes_in = {};  ///< this rank's
  nanoseconds duration = {};
};

/// What a profiler saw.
struct profiled_run {
  std::vector<profiled_call> calls = {};
  std::vector<profiled_collective> collectives = {};
  std::vector<std::string> unclaimed = {};  ///< names of kernels of no known call and no known collective, each once
};

/// Durations of a task graph by a profile.
struct profiled_durations {
  std::vector<nanoseconds> durations = {};  ///< of all tasks; what is not matched keeps the graph's
  std::size_t matched = 0;
  std::vector<task_index> unmatched = {};  ///< tasks that work, and that the profile does not know
  std::vector<std::string> unused = {};    ///< operators with calls that no task matches, each once
};

namespace detail {
/// "mm" of "aten.mm.default" and of "aten::mm".
[[nodiscard]] inline std::string_view bare_operator(std::string_view op) {
  if (const auto at = op.rfind("::"); at != std::string_view::npos) return op.substr(at + 2);
  for (const std::string_view space : {"aten.", "prims."})
    if (op.starts_with(space)) op.remove_prefix(space.size());
  return op.substr(0, op.find('.'));
}
}  // namespace detail

/// The durations that a profile gives the tasks of a graph.
///
/// A computation (`compute`, or `other` with a duration) is matched by its operator, without namespace and overload,
/// and by the shapes of all its inputs with a dimension or more, in order; a collective by its operation, the size of
/// its group and the bytes that a rank puts in. Of several calls that match the lower median counts. Names of tasks do
/// not count, nor does the order in which things ran: any number of steps may be in the profile. All other tasks
/// (views, waits, inputs, what takes no time) keep what they have. Tables of collectives stay as they are: what merged
/// collectives take is the graph's to say.
/// Complexity: O((V + E + calls) log calls)
[[nodiscard]] inline profiled_durations durations_by(const task_graph& g, const profiled_run& seen) {
  using call_key = std::pair<std::string_view, tensor_shapes>;
  using collective_key = std::tuple<collective, std::int64_t, std::int64_t>;
  struct found {
    std::vector<nanoseconds> durations = {};
    std::optional<nanoseconds> median = std::nullopt;  ///< once a task asked
  };
  std::map<call_key, found> calls;
  std::map<collective_key, found> collectives;
  for (const profiled_call& c : seen.calls)
    calls[{detail::bare_operator(c.op), c.inputs}].durations.push_back(c.duration);
  for (const profiled_collective& c : seen.collectives)
    collectives[{c.op, c.group_size, c.bytes_in.count()}].durations.push_back(c.duration);

  profiled_durations result;
  const auto match = [&](task_index t, auto& known, const auto& key) {
    const auto at = known.find(key);
    if (at == known.end()) {
      result.unmatched.push_back(t);
      return;
    }
    if (!at->second.median) at->second.median = detail::lower_median(at->second.durations);
    result.durations[t] = *at->second.median;
    ++result.matched;
  };
  for (task_index t = 0; t < g.size(); ++t) {
    result.durations.push_back(g.duration(t));
    if (g.is_collective(t)) {
      const collective_info c = g.collective(t);
      match(t, collectives, collective_key{c.op, g.groups()[c.group].size, c.bytes_in.count()});
    } else if (g.kind(t) == task_kind::compute || (g.kind(t) == task_kind::other && g.duration(t) > nanoseconds(0))) {
      call_key key{detail::bare_operator(g.op(t)), {}};
      for (const task_index p : g.inputs(t)) {
        if (g.output_count(p) == 0) continue;
        const auto shape = g.output(p, 0).shape;
        if (!shape.empty()) key.second.emplace_back(shape.begin(), shape.end());
      }
      match(t, calls, key);
    }
  }
  for (const auto& [key, all] : calls)
    if (!all.median && (result.unused.empty() || result.unused.back() != key.first))
      result.unused.emplace_back(key.first);
  return result;
}

}  // namespace shardweave::inline v0
