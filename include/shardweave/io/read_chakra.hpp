#pragma once

#include <shardweave/io/chakra_trace.hpp>
#include <shardweave/io/detail/chakra_nodes.hpp>
#include <shardweave/io/detail/protobuf_message.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/text_input.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Reads execution traces of MLCommons Chakra: protocol buffers, and both forms of JSON.

namespace shardweave::inline v0 {

namespace detail {

/// Messages of `et_def.proto`, each behind its length: the run, then its nodes.
class chakra_message_reader {
 public:
  explicit chakra_message_reader(text_input& input) : file_(input) {}

  chakra_trace read() {
    chakra_trace trace;
    if (const auto run = file_.next()) {
      each_field(*run, [&](const protobuf_field& field) {  // `attr` was field 1 before there was a version
        if (field.wire != protobuf_wire::length || field.number > 2) return;
        if (field.number == 1 && !field.bytes.starts_with('\n')) {
          if (trace.schema.empty()) trace.schema = field.bytes;
          return;
        }
        const auto [name, value] = attribute(field.bytes);
        if (name == "schema") trace.schema = value.text;
      });
    }
    while (const auto message = file_.next()) trace.nodes.push_back(node(*message));
    return trace;
  }

 private:
  template <class Take>
  void each_field(std::string_view message, const Take& take) {
    protobuf_fields fields(message);
    while (const auto field = fields.next()) take(*field);
    if (!fields.problem().empty()) file_.wrong(who_ + fields.problem());
  }

  static void append_ids(const protobuf_field& field, std::vector<std::uint64_t>& ids, std::string& problem) {
    if (field.wire == protobuf_wire::varint) return ids.push_back(field.value);
    std::string_view packed = field.bytes;
    while (!packed.empty()) {
      const auto id = take_varint(packed);
      if (!id) {
        problem = "has a dependency that is cut";
        return;
      }
      ids.push_back(*id);
    }
  }

  std::pair<std::string, json_scalar> attribute(std::string_view message) {
    std::string name;
    json_scalar value;
    each_field(message, [&](const protobuf_field& field) {
      if (field.number == 1 && field.wire == protobuf_wire::length) {
        name = field.bytes;
      } else if (field.number > 2) {
        value = chakra_value(field);
      }
    });
    return {std::move(name), value};
  }

  chakra_node node(std::string_view message) {
    chakra_node n;
    std::string problem;
    const auto number = [&](const char* what, std::uint64_t value, std::uint64_t limit) {
      if (value > limit && problem.empty())
        problem = std::string(what) + " is " + std::to_string(value) + ", expected at most " + std::to_string(limit);
      return static_cast<std::int64_t>(value <= limit ? value : 0);
    };
    who_.clear();
    each_field(message, [&](const protobuf_field& field) {
      const bool is_number = field.wire == protobuf_wire::varint;
      if (field.number == 1 && is_number) n.id = field.value;
      if (field.number == 2 && !is_number) n.name = field.bytes;
      if (field.number <= 2) who_ = chakra_label(n) + " ";
      if (field.number == 3 && is_number)
        n.type = static_cast<chakra_type>(number("type", field.value, chakra_type_names.size() - 1));
      if (field.number == 4) append_ids(field, n.ctrl_deps, problem);
      if (field.number == 5) append_ids(field, n.data_deps, problem);
      if (field.number == 7 && is_number) n.duration_us = number("duration_micros", field.value, longest_chakra_us);
      if (field.number == 8 && !is_number) {
        each_field(field.bytes, [&](const protobuf_field& part) {
          if (part.number == 1 && part.wire == protobuf_wire::length) n.input_values = part.bytes;
        });
      }
      if (field.number == 10 && !is_number) {
        const auto [name, value] = attribute(field.bytes);
        if (std::string wrong = set_chakra_attribute(n, name, value); problem.empty()) problem = std::move(wrong);
      }
    });
    if (!problem.empty()) file_.wrong(who_ + problem);
    if (n.type != chakra_type::metadata) n.input_values.clear();
    who_.clear();
    return n;
  }

  protobuf_file file_;
  std::string who_;  ///< "node 17 (name) ", once it is known
};

/// What the schema's tools write of such messages: one JSON value after the other, the run first; or the one object
/// with a list `workload_graph` that their reader of JSON takes.
class chakra_json_reader {
 public:
  chakra_trace read(text_input& input) {
    std::vector<json_field> fields = {json_optional("version", text(trace_.schema)),
                                      json_optional("workload_graph", json_list(flat_node()))};
    fields.push_back(json_optional("attr", json_list(attribute())));
    fields.push_back(json_optional("id", seen(identity())));
    fields.push_back(json_optional("name", seen(json_text(node_.name))));
    fields.push_back(json_optional("type", seen(type())));
    for (const char* name : {"dataDeps", "data_deps"})
      fields.push_back(json_optional(name, seen(ids(node_.data_deps))));
    for (const char* name : {"ctrlDeps", "ctrl_deps"})
      fields.push_back(json_optional(name, seen(ids(node_.ctrl_deps))));
    for (const char* name : {"durationMicros", "duration_micros"})
      fields.push_back(json_optional(name, seen(duration())));
    fields.push_back(json_optional("inputs", json_object({json_optional("values", text(node_.input_values))})));
    json_shape root = json_object(std::move(fields), [this] { return end_of_value(); });
    root.begin = [this] {
      node_ = {};
      is_node_ = false;
    };
    read_json_values(input, root);
    return std::move(trace_);
  }

 private:
  /// What others wrote beside what is needed: taken if it is a text.
  static json_shape text(std::string& into) {
    json_shape shape;
    shape.take = [&into](const json_scalar& s) {
      if (s.type == json_scalar::kind::text) into = s.text;
      return true;
    };
    return shape;
  }
  /// A field that only nodes have.
  json_shape seen(json_shape shape) {
    if (shape.type == json_shape::kind::list) {
      shape.begin = [this, begin = std::move(shape.begin)] {
        is_node_ = true;
        if (begin) begin();
      };
    } else {
      shape.take = [this, take = std::move(shape.take)](const json_scalar& s) {
        is_node_ = true;
        return take(s);
      };
    }
    return shape;
  }
  json_shape identity() {
    return json_value("a whole number, not negative", [this](const json_scalar& s) {
      const auto id = chakra_id(s);
      node_.id = id.value_or(0);
      return id.has_value();
    });
  }
  json_shape type() {
    return json_value("a type of node, as its name or number", [this](const json_scalar& s) {
      const auto known = chakra_enumerator(s, chakra_type_names);
      node_.type = static_cast<chakra_type>(known.value_or(0));
      return known.has_value();
    });
  }
  json_shape duration() {
    return json_value("whole microseconds, at most " + std::to_string(longest_chakra_us), [this](const json_scalar& s) {
      const auto count = chakra_count(s);
      if (count && *count <= longest_chakra_us) node_.duration_us = *count;
      return count && *count <= longest_chakra_us;
    });
  }
  static json_shape ids(std::vector<std::uint64_t>& into) {
    return json_list(json_value("the id of a node", [&into](const json_scalar& s) {
      const auto id = chakra_id(s);
      if (id) into.push_back(*id);
      return id.has_value();
    }));
  }

  /// {"name": "comm_size", "int64Val": "8"}: the value's name tells its type, which the value shows as well.
  json_shape attribute() {
    json_shape value;
    value.take = [this](const json_scalar& s) {
      if (field_ == "docString" || field_ == "doc_string") return true;
      value_ = s;
      value_text_ = s.text;
      value_.text = value_text_;
      return true;
    };
    json_shape one = json_object({json_required("name", json_text(attribute_))}, [this]() -> std::string {
      if (attribute_ == "schema" && value_.type == json_scalar::kind::text && !is_node_ && trace_.nodes.empty())
        trace_.schema = value_text_;
      return set_chakra_attribute(node_, attribute_, value_);
    });
    one.element = std::make_shared<const json_shape>(std::move(value));
    one.key = [this](std::string_view key) { field_ = key; };
    one.begin = [this] {
      value_ = {};
      attribute_.clear();
    };
    return one;
  }

  std::string end_of_value() {
    const bool is_run = !is_node_ && !has_run_;
    has_run_ = true;
    if (is_run) return {};
    if (node_.type != chakra_type::metadata) node_.input_values.clear();
    trace_.nodes.push_back(std::exchange(node_, {}));
    return {};
  }

  /// A node of `workload_graph`: its attributes are fields like the others.
  json_shape flat_node() {
    json_shape value;
    value.take = [this](const json_scalar& s) {
      if (std::string wrong = set_chakra_attribute(node_, field_, s); problem_.empty()) problem_ = std::move(wrong);
      return true;
    };
    json_shape one = json_object(
        {json_required("Id", identity()), json_optional("Name", json_text(node_.name)),
         json_required("NodeType", type()), json_optional("runtime", duration()),
         json_optional("data_deps", ids(node_.data_deps)), json_optional("ctrl_deps", ids(node_.ctrl_deps))},
        [this] {
          trace_.nodes.push_back(std::exchange(node_, {}));
          return std::exchange(problem_, {});
        });
    one.element = std::make_shared<const json_shape>(std::move(value));
    one.key = [this](std::string_view key) { field_ = key; };
    one.begin = [this] {
      node_ = {};
      problem_.clear();
    };
    return one;
  }

  chakra_trace trace_;
  chakra_node node_;
  std::string field_, attribute_, value_text_, problem_;
  json_scalar value_;
  bool is_node_ = false;
  bool has_run_ = false;
};

}  // namespace detail

/// How the text of a trace is written.
enum class chakra_format : std::uint8_t { messages, json };

/// Reads the execution trace of one rank. Protocol buffers are those of MLCommons' `et_def.proto` as its tools write
/// them: `GlobalMetadata`, then the nodes, each message behind its length (`TRACE.RANK.et`). JSON is what their
/// jsonizer makes of such a file, or the one object with `workload_graph` that their feeder reads. What is not needed
/// is passed over.
/// \throws error (format) naming the text, the byte and the node: what is cut or of another shape, a number that is
///         negative or out of range
/// Complexity: linear in the text
[[nodiscard]] inline chakra_trace read_chakra(text_input& input, chakra_format format) {
  if (format == chakra_format::json) return detail::chakra_json_reader().read(input);
  return detail::chakra_message_reader(input).read();
}

}  // namespace shardweave::inline v0
