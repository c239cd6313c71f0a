#pragma once

#include <shardweave/core/enumerator_named.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The plain records of which a task graph is made.

namespace shardweave::inline v0 {

/// The position of a task in its graph. The positions are the original order.
using task_index = std::uint32_t;
/// "No such task", "no such storage".
inline constexpr std::uint32_t no_index = std::numeric_limits<std::uint32_t>::max();

/// What a task does to the compute stream and to its channel.
enum class task_kind : std::uint8_t {
  compute,     ///< an operation with a FLOP formula: matrix products, attention
  collective,  ///< launches communication on the channel of its group; the compute stream goes on
  wait,        ///< the compute stream waits until a collective is done
  view,        ///< no work: aliases or parts of another task's result
  input,       ///< a parameter, a datum, a saved value; live from the start
  output,      ///< returns results; the last task
  other        ///< any other work on the compute stream
};

/// The names that files use, in the order of the enumerators.
inline constexpr std::array<std::string_view, 7> task_kind_names = {"compute", "collective", "wait", "view",
                                                                    "input",   "output",     "other"};

/// The name that files use, for example "collective".
[[nodiscard]] constexpr std::string_view to_string(task_kind kind) {
  return task_kind_names[static_cast<std::size_t>(kind)];
}

/// The kind of that name; nothing if there is none.
[[nodiscard]] constexpr std::optional<task_kind> task_kind_from(std::string_view name) {
  return enumerator_named<task_kind>(task_kind_names, name);
}

/// What a task gives, in training; of a collective: what it moves.
enum class task_role : std::uint8_t {
  none,             ///< not told
  parameter,        ///< a parameter, or what is made of parameters alone
  gradient,         ///< the gradient of a parameter, or what becomes nothing but such gradients; a tangent
  activation,       ///< any other value of the model, and the gradient of one
  optimizer_state,  ///< what the optimizer keeps from step to step
  data              ///< an input that is none of these: tokens, labels, constants
};

/// The names that files use, in the order of the enumerators.
inline constexpr std::array<std::string_view, 6> task_role_names = {"none",       "parameter",       "gradient",
                                                                    "activation", "optimizer_state", "data"};

/// The name that files use, for example "optimizer_state".
[[nodiscard]] constexpr std::string_view to_string(task_role role) {
  return task_role_names[static_cast<std::size_t>(role)];
}

/// The role of exactly that name; nothing if there is none.
[[nodiscard]] constexpr std::optional<task_role> task_role_from(std::string_view name) {
  return enumerator_named<task_role>(task_role_names, name);
}

/// What a task is for in training, as a caller states it. All of it may be unknown: `inferred_tags` fills in what names
/// and structure tell.
struct task_tags {
  task_role role = task_role::none;
  std::optional<phase> when = std::nullopt;
  std::optional<bool> is_fsdp = std::nullopt;  ///< of a collective: gathers a parameter or scatters its gradient
  bool is_param = false;                       ///< of an input: a parameter that a collective gathers
  friend bool operator==(const task_tags&, const task_tags&) = default;
};

/// Where a storage lives. Only storages on the accelerator count as memory.
enum class storage_device : std::uint8_t { gpu, cpu };

/// A piece of memory. The first task that lists it allocates it; later ones see views of it.
struct storage {
  bytes size = {};
  storage_device device = storage_device::gpu;
  friend bool operator==(const storage&, const storage&) = default;
};

/// A process group. Each is a channel: its collectives run one after the other in launch order.
struct process_group {
  std::int64_t id = 0;  ///< as the source names it
  std::string name = {};
  std::int64_t size = 0;                              ///< ranks in it; 0 = unknown
  std::optional<std::int64_t> stride = std::nullopt;  ///< distance of neighbouring ranks
  std::vector<std::int64_t> ranks = {};               ///< of this rank's group; empty = unknown
  std::string dim = {};                               ///< mesh dimension, for example "dp"
  std::string role = {};                              ///< what it is for, free text
  friend bool operator==(const process_group&, const process_group&) = default;
};

/// What a collective task communicates, as a caller states it.
struct collective_record {
  shardweave::collective op = shardweave::collective::other;
  std::uint32_t group = 0;  ///< position in the list of groups
  bytes bytes_in = {};      ///< this rank's input
  bytes bytes_out = {};     ///< this rank's output
  std::string dtype = {};
  std::string reduce = "none";
  friend bool operator==(const collective_record&, const collective_record&) = default;
};

/// One tensor that a task gives, as a caller states it.
struct output_record {
  bytes size = {};
  std::uint32_t storage = no_index;  ///< position in the list of storages; `no_index` = holds no memory
  std::string dtype = {};
  std::vector<std::int64_t> shape = {};
  friend bool operator==(const output_record&, const output_record&) = default;
};

/// A task as a caller states it; the graph keeps it in flat form.
struct task_record {
  std::string name = {};
  std::string op = {};
  task_kind kind = task_kind::other;
  nanoseconds duration = {};
  std::vector<task_index> inputs = {};  ///< producers in argument order, repeats kept
  std::vector<task_index> after = {};   ///< further tasks that must come before
  std::optional<collective_record> collective = std::nullopt;
  std::optional<task_index> completes = std::nullopt;  ///< of a wait: the collective (`for` in files)
  std::vector<output_record> outputs = {};
  std::optional<bool> is_fsdp = std::nullopt;  ///< of a collective: gathers a parameter or scatters its gradient
  bool is_param = false;                       ///< of an input: a parameter that a collective gathers
  task_role role = task_role::none;
  std::optional<phase> when = std::nullopt;  ///< absent = not told
  friend bool operator==(const task_record&, const task_record&) = default;
};

/// Figures of the device behind the durations.
struct device_figures {
  std::string name = {};
  double dram_bytes_per_ns = 0;  ///< bandwidth of the device's memory; 0 = unknown: packing costs nothing
  double bf16_tflops = 0;        ///< peak rate of dense products in bf16, in 10^12 operations per second
  double flop_efficiency = 0;    ///< share of that peak that products reach
  std::int64_t gpus_per_node = 0;
  friend bool operator==(const device_figures&, const device_figures&) = default;
};

}  // namespace shardweave::inline v0
