#pragma once

#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/json_shape.hpp>

#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Between Boost's parser and the shapes.

namespace shardweave::inline v0::detail {

/// Receives the events of Boost's incremental parser and keeps a stack of the shapes that are open.
class json_handler {
 public:
  constexpr static std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  constexpr static std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  constexpr static std::size_t max_key_size = 1U << 16;
  constexpr static std::size_t max_string_size = 1U << 26;
  using error_code = boost::json::error_code;
  using string_view = boost::json::string_view;

  json_handler(const json_shape& root, bool strict, const bool* enough)
      : root_(&root), strict_(strict), enough_(enough) {}

  /// What is wrong, with its place; empty if nothing is.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool stopped() const { return enough_ != nullptr && *enough_; }

  /// "vertices[3].compute[1]"; "the text" at the top.
  [[nodiscard]] std::string place() const {
    std::string path;
    for (const frame& f : stack_) {
      if (f.shape->type == json_shape::kind::list) {
        if (f.index != none) path += "[" + std::to_string(f.index) + "]";
      } else if (f.shape->type == json_shape::kind::object && f.index < f.shape->fields.size()) {
        path += (path.empty() ? "" : ".") + f.shape->fields[f.index].name;
      }
    }
    return path.empty() ? "the text" : path;
  }

  /// Whether the value that is read is a list whose elements may be taken in bulk.
  [[nodiscard]] bool is_in_bulk() const {
    return !stack_.empty() && stack_.back().shape->type == json_shape::kind::list && stack_.back().shape->many;
  }
  /// Whether such a list has just been opened.
  [[nodiscard]] bool opens_bulk() const { return is_in_bulk() && stack_.back().index == 0 && held_.empty(); }
  /// Offers it the text from where an element is due. \returns the bytes that were taken
  std::size_t take_bulk(std::string_view text) {
    frame& top = stack_.back();
    return top.shape->many(text, top.index);
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code& ec) { return open(json_shape::kind::object, "an object", ec); }
  bool on_object_end(std::size_t, error_code& ec) {
    frame& top = stack_.back();
    const json_shape& shape = *top.shape;
    top.index = none;
    for (std::size_t i = 0; i < shape.fields.size(); ++i)
      if (shape.fields[i].required && (top.seen >> i & 1U) == 0)
        return fail("has no field '" + shape.fields[i].name + "'", ec);
    return close(ec);
  }
  bool on_array_begin(error_code& ec) { return open(json_shape::kind::list, "a list", ec); }
  bool on_array_end(std::size_t, error_code& ec) {
    stack_.back().index = none;
    return close(ec);
  }

  bool on_key_part(string_view part, std::size_t, error_code&) { return held_.append(part.data(), part.size()), true; }
  bool on_key(string_view last, std::size_t, error_code& ec) {
    frame& top = stack_.back();
    const std::string_view key = whole(last);
    if (top.shape->type == json_shape::kind::object) {
      const auto& fields = top.shape->fields;
      top.index = static_cast<std::size_t>(
          std::find_if(fields.begin(), fields.end(), [&](const json_field& f) { return f.name == key; }) -
          fields.begin());
      if (top.index == fields.size()) {
        if (top.shape->key) {
          top.shape->key(key);
        } else if (strict_) {
          return fail("has the unknown field '" + shortened(key) + "'", ec);
        }
      } else if ((top.seen >> top.index & 1U) != 0) {
        top.index = none;
        return fail("has the field '" + shortened(key) + "' twice", ec);
      } else {
        top.seen |= std::uint64_t{1} << top.index;
      }
    }
    held_.clear();
    return true;
  }

  bool on_string_part(string_view part, std::size_t, error_code&) {
    return held_.append(part.data(), part.size()), true;
  }
  bool on_string(string_view last, std::size_t, error_code& ec) {
    return scalar({.type = json_scalar::kind::text, .text = whole(last)}, ec);
  }
  bool on_number_part(string_view part, error_code&) { return held_.append(part.data(), part.size()), true; }
  bool on_int64(std::int64_t value, string_view last, error_code& ec) {
    return scalar({.type = json_scalar::kind::integer, .integer = value, .text = whole(last)}, ec);
  }
  bool on_uint64(std::uint64_t value, string_view last, error_code& ec) {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return on_int64(static_cast<std::int64_t>(value), last, ec);
    return on_double(static_cast<double>(value), last, ec);
  }
  bool on_double(double value, string_view last, error_code& ec) {
    return scalar({.type = json_scalar::kind::number, .number = value, .text = whole(last)}, ec);
  }
  bool on_bool(bool value, error_code& ec) {
    return scalar({.type = json_scalar::kind::boolean, .flag = value, .text = value ? "true" : "false"}, ec);
  }
  bool on_null(error_code& ec) { return scalar({.type = json_scalar::kind::null, .text = "null"}, ec); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct frame {
    const json_shape* shape;
    std::size_t index;       ///< of the element or field being read
    std::uint64_t seen = 0;  ///< fields, one bit each
  };

  static const json_shape& anything() {
    static const json_shape shape;
    return shape;
  }

  /// The shape of the value that comes next.
  [[nodiscard]] const json_shape& next() const {
    if (stack_.empty()) return *root_;
    const frame& top = stack_.back();
    if (top.shape->type == json_shape::kind::object && top.index < top.shape->fields.size())
      return top.shape->fields[top.index].shape;
    return top.shape->element ? *top.shape->element : anything();
  }

  /// Parts that arrived before and the last one.
  std::string_view whole(string_view last) {
    if (held_.empty()) return {last.data(), last.size()};
    held_.append(last.data(), last.size());
    return held_;
  }

  bool fail(const std::string& what, error_code& ec) {
    problem_ = place() + " " + what;
    return stop(ec);
  }
  static bool stop(error_code& ec) {
    ec = boost::json::make_error_code(boost::json::error::exception);
    return false;
  }

  bool mismatch(const std::string& found, const json_shape& shape, error_code& ec) {
    return fail("is " + found + ", expected " + shape.expected, ec);
  }

  bool open(json_shape::kind kind, const char* found, error_code& ec) {
    const json_shape& shape = next();
    if (shape.type != kind && shape.type != json_shape::kind::anything) return mismatch(found, shape, ec);
    stack_.push_back({&shape, kind == json_shape::kind::list ? 0 : none});
    if (shape.begin) shape.begin();
    return !stopped() || stop(ec);
  }

  bool close(error_code& ec) {
    const json_shape& shape = *stack_.back().shape;
    if (shape.end)
      if (const std::string wrong = shape.end(); !wrong.empty()) return fail(wrong, ec);
    stack_.pop_back();
    return after_value(ec);
  }

  bool scalar(const json_scalar& s, error_code& ec) {
    const json_shape& shape = next();
    if (shape.type != json_shape::kind::anything) {
      if (shape.type != json_shape::kind::scalar || !shape.take(s)) {
        const std::string text = shortened(s.text);
        return mismatch(s.type == json_scalar::kind::text ? "\"" + text + "\"" : text, shape, ec);
      }
    } else if (shape.take) {
      shape.take(s);
    }
    held_.clear();
    return after_value(ec);
  }

  bool after_value(error_code& ec) {
    if (!stack_.empty()) {
      frame& top = stack_.back();
      if (top.shape->element && top.shape->each)
        if (const std::string wrong = top.shape->each(); !wrong.empty()) return fail(wrong, ec);
      top.index = top.shape->type == json_shape::kind::list ? top.index + 1 : none;
    }
    return !stopped() || stop(ec);
  }

  const json_shape* root_;
  bool strict_;
  const bool* enough_;
  std::vector<frame> stack_;
  std::string held_;
  std::string problem_;
};

}  // namespace shardweave::inline v0::detail
