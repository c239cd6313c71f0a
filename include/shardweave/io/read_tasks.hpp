#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Reads task graphs in the library's own format, `shardweave.tasks` version 1.

namespace shardweave::inline v0 {

/// A time or a size: a whole number of its unit.
template <class Unit>
[[nodiscard]] json_shape json_number(quantity<Unit>& into) {
  return json_value("a whole number", [&into](const json_scalar& s) {
    const auto count = integer_of<std::int64_t>(s);
    if (count) into = quantity<Unit>(*count);
    return count.has_value();
  });
}
/// A list of whole numbers, which replaces what `into` holds.
template <class Unit>
[[nodiscard]] json_shape json_numbers(std::vector<quantity<Unit>>& into) {
  json_shape shape = json_list(json_value("a whole number", [&into](const json_scalar& s) {
    const auto count = integer_of<std::int64_t>(s);
    if (count) into.emplace_back(*count);
    return count.has_value();
  }));
  shape.begin = [&into] { into.clear(); };
  return shape;
}

namespace detail {

/// The shape of a task file. Groups are named by id, and may come after what names them, so tasks wait until all
/// is read.
class task_graph_reader {
 public:
  task_graph read(text_input& input, const read_options& options) {
    strict_ = options.strict;
    auto memory = json_object({json_optional("baseline", json_number(baseline_))}, [this] {
      builder_.memory_baseline = baseline_;
      return std::string();
    });
    auto models = json_object({json_optional("collectives", tables()), json_optional("device", device())});
    auto alternatives = json_object({json_optional("duration_fused", json_numbers(builder_.fused_durations))});
    auto fields = json_header("shardweave.tasks", 1);
    for (json_field field :
         {json_optional("name", json_text(builder_.name)),
          json_optional("description", json_text(builder_.description)), json_optional("unit", unit()),
          json_optional("groups", groups()), json_required("tasks", tasks()), json_optional("storages", storages()),
          json_optional("memory", std::move(memory)), json_optional("models", std::move(models)),
          json_optional("alternatives", std::move(alternatives)), json_optional("check", json_anything()),
          json_optional("reference", json_anything())})
      fields.push_back(std::move(field));
    read_json(input, json_object(std::move(fields)), options);
    return with_name_of(input, [&] { return finish(); });
  }

 private:
  static json_shape exactly(const std::string& word) {
    return json_value("\"" + word + "\"",
                      [word](const json_scalar& s) { return s.type == json_scalar::kind::text && s.text == word; });
  }
  static json_shape unit() {
    return json_object({json_optional("time", exactly("ns")), json_optional("size", exactly("byte"))});
  }

  json_shape groups() {
    auto one = json_object(
        {json_required("id", json_number(group_.id)), json_optional("name", json_text(group_.name)),
         json_optional("size", json_number(group_.size)), json_optional("stride", json_number(group_.stride)),
         json_optional("ranks", json_numbers(group_.ranks)), json_optional("dim", json_text(group_.dim)),
         json_optional("role", json_text(group_.role))});
    return json_list(std::move(one), [this]() -> std::string {
      const std::int64_t id = group_.id;
      const std::uint32_t number = builder_.add_group(std::exchange(group_, {}));
      if (number_of_group_.try_emplace(id, number).second) return {};
      return "has the id " + std::to_string(id) + ", which another group has too";
    });
  }

  json_shape storages() {
    auto place = json_value("\"gpu\" or \"cpu\"", [this](const json_scalar& s) {
      if (s.type != json_scalar::kind::text || (s.text != "gpu" && s.text != "cpu")) return false;
      storage_.device = s.text == "gpu" ? storage_device::gpu : storage_device::cpu;
      return true;
    });
    auto one =
        json_object({json_required("bytes", json_number(storage_.size)), json_optional("device", std::move(place))});
    return json_list(std::move(one), [this] {
      builder_.add_storage(std::exchange(storage_, {}));
      return std::string();
    });
  }

  /// One of some names. Where it is none of them, readers that are not strict take it as not told.
  template <class Names, class Take>
  json_shape one_of(const Names& names, Take take) {
    std::string known;
    for (const std::string_view name : names) known += (known.empty() ? "" : ", ") + std::string(name);
    return json_value(strict_ ? "one of " + known : "a name", [this, take](const json_scalar& s) {
      return s.type == json_scalar::kind::text && (take(s.text) || !strict_);
    });
  }
  json_shape role() {
    return one_of(task_role_names, [this](std::string_view name) {
      const auto known = task_role_from(name);
      task_.role = known.value_or(task_role::none);
      return known.has_value();
    });
  }
  json_shape when() {
    return one_of(phase_names, [this](std::string_view name) {
      task_.when = phase_from(name);
      return task_.when.has_value();
    });
  }
  /// The name of a collective; one that is not known is another one, or refused by strict readers.
  /// \param unknown  takes a name that is not known
  json_shape collective_name(shardweave::collective& into, std::string* unknown = nullptr) {
    return one_of(collective_names, [&into, unknown](std::string_view name) {
      const auto known = collective_from(name);
      into = known.value_or(shardweave::collective::other);
      if (!known && unknown != nullptr) *unknown = name;
      return known.has_value();
    });
  }

  json_shape collective() {
    auto one = json_object(
        {json_required("op", collective_name(collective_.op, &unknown_name_)),
         json_required("group", json_number(group_id_)), json_required("bytes_in", json_number(collective_.bytes_in)),
         json_required("bytes_out", json_number(collective_.bytes_out)),
         json_optional("dtype", json_text(collective_.dtype)), json_optional("reduce", json_text(collective_.reduce))},
        [this] {
          task_.collective = std::exchange(collective_, {});
          return std::string();
        });
    return one;
  }

  json_shape outputs() {
    auto one = json_object(
        {json_required("bytes", json_number(output_.size)), json_optional("storage", json_index(output_.storage)),
         json_optional("dtype", json_text(output_.dtype)), json_optional("shape", json_numbers(output_.shape))});
    return json_items(output_, task_.outputs, std::move(one));
  }

  json_shape tasks() {
    std::string kinds;
    for (const std::string_view name : task_kind_names) kinds += (kinds.empty() ? "" : ", ") + std::string(name);
    auto kind = json_value("one of " + kinds, [this](const json_scalar& s) {
      const auto known = s.type == json_scalar::kind::text ? task_kind_from(s.text) : std::nullopt;
      if (known) task_.kind = *known;
      return known.has_value();
    });
    auto fsdp = json_value("true or false", [this](const json_scalar& s) {
      task_.is_fsdp = s.flag;
      return s.type == json_scalar::kind::boolean;
    });
    auto one =
        json_object({json_optional("name", json_text(task_.name)), json_optional("op", json_text(task_.op)),
                     json_required("kind", std::move(kind)), json_required("duration", json_number(task_.duration)),
                     json_required("inputs", json_numbers(task_.inputs)),
                     json_optional("after", json_numbers(task_.after)), json_optional("collective", collective()),
                     json_optional("for", json_index(task_.completes)), json_optional("outputs", outputs()),
                     json_optional("is_fsdp", std::move(fsdp)), json_optional("param", json_flag(task_.is_param)),
                     json_optional("role", role()), json_optional("phase", when())});
    return json_list(std::move(one), [this] {
      if (task_.collective) group_ids_.push_back(group_id_);
      if (task_.op.empty()) task_.op = unknown_name_;
      unknown_name_.clear();
      tasks_.push_back(std::exchange(task_, {}));
      return std::string();
    });
  }

  json_shape tables() {
    auto one = json_object(
        {json_required("op", collective_name(table_.op)), json_required("group", json_number(table_.group)),
         json_required("bytes_in", json_numbers(table_.bytes_in)), json_required("time", json_numbers(table_.time)),
         json_optional("source", json_anything()), json_optional("max_relative_error", json_anything())});
    return json_items(table_, tables_, std::move(one));
  }

  json_shape device() {
    device_figures& d = builder_.device;
    return json_object({json_optional("name", json_text(d.name)),
                        json_optional("dram_bytes_per_ns", json_number(d.dram_bytes_per_ns)),
                        json_optional("bf16_tflops_dense", json_number(d.bf16_tflops)),
                        json_optional("flop_efficiency", json_number(d.flop_efficiency)),
                        json_optional("gpus_per_node", json_number(d.gpus_per_node))});
  }

  [[nodiscard]] std::uint32_t group_number(std::int64_t id, const std::string& who) const {
    const auto at = number_of_group_.find(id);
    if (at == number_of_group_.end())
      refuse(error_category::input, who + " names group " + std::to_string(id) + ", but no group has this id");
    return at->second;
  }

  task_graph finish() {
    std::size_t next = 0;
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (tasks_[t].collective)
        tasks_[t].collective->group =
            group_number(group_ids_[next++], "task " + std::to_string(t) + " (" + tasks_[t].name + ")");
      builder_.add_task(std::exchange(tasks_[t], {}));
    }
    for (table& t : tables_) {
      const std::uint32_t group = group_number(t.group, "the duration table of " + std::string(name_of(t.op)));
      // of which other collective it is, is not known: nothing asks for it
      if (t.op != shardweave::collective::other)
        builder_.add_table(duration_table(t.op, group, std::move(t.bytes_in), std::move(t.time)));
    }
    return std::move(builder_).build();
  }

  struct table {
    shardweave::collective op = shardweave::collective::other;
    std::int64_t group = 0;
    std::vector<bytes> bytes_in;
    std::vector<nanoseconds> time;
  };

  task_graph_builder builder_;
  std::map<std::int64_t, std::uint32_t> number_of_group_;
  std::vector<task_record> tasks_;
  std::vector<std::int64_t> group_ids_;  ///< of the collectives among them
  std::vector<table> tables_;

  process_group group_;
  storage storage_;
  task_record task_;
  collective_record collective_;
  std::int64_t group_id_ = 0;
  output_record output_;
  table table_;
  bytes baseline_;
  std::string unknown_name_;  ///< of the task's collective, where its name is none of ours
  bool strict_ = false;
};

}  // namespace detail

/// Reads a task graph of format `shardweave.tasks`.
/// \throws error (format) for text of another shape or a newer version, (input) for what does not make a graph
/// Complexity: linear in the text
[[nodiscard]] inline task_graph read_task_graph(text_source input, const read_options& options = {}) {
  return detail::task_graph_reader().read(input, options);
}

}  // namespace shardweave::inline v0
