#pragma once

#include <shardweave/io/detail/plain_numbers.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// Says how a JSON text must look and where its values go: a tree of shapes bound to variables. A format's
/// reader builds one tree and lets `read_json` run the text through it; no document is ever built.

namespace shardweave::inline v0 {

/// A value without parts.
struct json_scalar {
  enum class kind { null, boolean, integer, number, text };
  kind type = kind::null;
  bool flag = false;
  std::int64_t integer = 0;
  double number = 0;           ///< of a number that is not a 64-bit integer
  std::string_view text = {};  ///< a string's content, a number's digits as they stand in the text
};

struct json_field;

/// What may stand at one place, and what is done with it. Callbacks that return text return "" if all is
/// well, else what is wrong, worded to follow the name of the place: "has no strategies".
struct json_shape {
  enum class kind { scalar, list, object, anything };
  kind type = kind::anything;
  std::string expected = {};  ///< "a whole number", for messages
  std::function<bool(const json_scalar&)> take =
      {};  ///< of a scalar: false if it is of the wrong type; of anything: told, if it is one
  std::shared_ptr<const json_shape> element = {};  ///< of a list; of an object: of fields without a name here
  std::function<std::string()> each = {};          ///< called after every element
  std::vector<json_field> fields;                  ///< of an object, at most 64
  std::function<void(std::string_view)> key = {};  ///< of an object: told the names of such fields
  /// Of a list of scalars without `each`: offered the text from where an element is due, it may take elements from its
  /// front, as `element` would, each with the comma behind it. Returns the bytes taken, and adds up the elements.
  std::function<std::size_t(std::string_view text, std::size_t& count)> many = {};
  std::function<void()> begin = {};       ///< of a list or object: called when it opens
  std::function<std::string()> end = {};  ///< of a list or object: called when it is complete
};

/// A named member of an object.
struct json_field {
  std::string name;
  json_shape shape;
  bool required = false;
};

/// A member without which an object is refused.
[[nodiscard]] inline json_field json_required(std::string name, json_shape shape) {
  return {std::move(name), std::move(shape), true};
}
/// A member that may be absent.
[[nodiscard]] inline json_field json_optional(std::string name, json_shape shape) {
  return {std::move(name), std::move(shape), false};
}

/// Any value, passed over.
[[nodiscard]] inline json_shape json_anything() { return {}; }

/// A string, number, truth value or null.
/// \param expected  for messages: "a whole number"
/// \param take  false: of the wrong type
[[nodiscard]] inline json_shape json_value(std::string expected, std::function<bool(const json_scalar&)> take) {
  json_shape shape;
  shape.type = json_shape::kind::scalar;
  shape.expected = std::move(expected);
  shape.take = std::move(take);
  return shape;
}

/// The number as a double: the nearest one, read from the digits, because Boost 1.81 rounds many wrongly.
/// Nothing for what is no number or too large for a double.
[[nodiscard]] inline std::optional<double> number_of(const json_scalar& s) {
  if (s.type == json_scalar::kind::integer)  // the digits tell "-0" from "0"
    return s.integer == 0 && s.text.starts_with('-') ? -0.0 : static_cast<double>(s.integer);
  if (s.type != json_scalar::kind::number) return std::nullopt;
  double value = 0;
  const auto [end, code] = std::from_chars(s.text.data(), s.text.data() + s.text.size(), value);
  if (code == std::errc()) return value;
  if (s.number > 1 || s.number < -1) return std::nullopt;
  return s.text.starts_with('-') ? -0.0 : 0.0;  // too small for a double
}

/// The number as an integer; decimals and exponents are well as long as the value is whole and exact.
template <std::integral Integer>
[[nodiscard]] std::optional<Integer> integer_of(const json_scalar& s) {
  std::int64_t value = s.integer;
  if (s.type == json_scalar::kind::number) {
    constexpr double limit = 0x1p63;
    const std::optional<double> nearest = number_of(s);  // Boost's own depends on where the text is cut
    if (!nearest || !(*nearest > -limit && *nearest < limit) || s.text.find_first_of(".eE") == std::string_view::npos)
      return std::nullopt;
    value = static_cast<std::int64_t>(*nearest);
    if (static_cast<double>(value) != *nearest) return std::nullopt;
  } else if (s.type != json_scalar::kind::integer) {
    return std::nullopt;
  }
  if (!std::in_range<Integer>(value)) return std::nullopt;
  return static_cast<Integer>(value);
}

/// A string, copied to `into`.
[[nodiscard]] inline json_shape json_text(std::string& into) {
  return json_value("a string", [&into](const json_scalar& s) {
    if (s.type == json_scalar::kind::text) into = s.text;
    return s.type == json_scalar::kind::text;
  });
}

/// A truth value, copied to `into`.
[[nodiscard]] inline json_shape json_flag(bool& into) {
  return json_value("true or false", [&into](const json_scalar& s) {
    if (s.type == json_scalar::kind::boolean) into = s.flag;
    return s.type == json_scalar::kind::boolean;
  });
}

/// What messages expect of a number for a variable of this type.
template <class Number>
[[nodiscard]] std::string json_number_name() {
  using limits = std::numeric_limits<Number>;
  if constexpr (!std::integral<Number>) return "a number";
  if constexpr (sizeof(Number) < sizeof(std::int64_t))
    return "a whole number from " + std::to_string(limits::min()) + " to " + std::to_string(limits::max());
  return std::unsigned_integral<Number> ? "a whole number, not negative" : "a whole number";
}

/// A number, converted to the variable's type; integers are refused unless they are whole and fit.
template <class Number>
  requires std::is_arithmetic_v<Number>
[[nodiscard]] std::optional<Number> json_number_of(const json_scalar& s) {
  if constexpr (std::integral<Number>) {
    return integer_of<Number>(s);
  } else {
    return number_of(s);
  }
}

template <class Number>
  requires std::is_arithmetic_v<Number>
[[nodiscard]] json_shape json_number(Number& into) {
  return json_value(json_number_name<Number>(), [&into](const json_scalar& s) {
    const auto value = json_number_of<Number>(s);
    if (value) into = *value;
    return value.has_value();
  });
}

/// A number for a variable that tells whether it was there.
template <class Number>
  requires std::is_arithmetic_v<Number>
[[nodiscard]] json_shape json_number(std::optional<Number>& into) {
  return json_value(json_number_name<Number>(), [&into](const json_scalar& s) {
    into = json_number_of<Number>(s);
    return into.has_value();
  });
}

/// A position in a list, for a variable (or an optional one) whose largest value says that there is none: as a number
/// this one is refused.
template <class Into>
[[nodiscard]] json_shape json_index(Into& into) {
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  return json_value("a whole number from 0 to " + std::to_string(none - 1), [&into](const json_scalar& s) {
    const auto value = integer_of<std::uint32_t>(s);
    if (!value || *value == none) return false;
    into = *value;
    return true;
  });
}

/// A number, or null where there is none, as our files say infinity and "not a number".
template <class Number>
  requires std::is_arithmetic_v<Number>
[[nodiscard]] json_shape json_number_or_null(std::optional<Number>& into) {
  return json_value(json_number_name<Number>() + " or null", [&into](const json_scalar& s) {
    into = json_number_of<Number>(s);
    return into.has_value() || s.type == json_scalar::kind::null;
  });
}

/// \param each  called after every element, which by then has gone where the element's shape sends it
[[nodiscard]] inline json_shape json_list(json_shape element, std::function<std::string()> each = {}) {
  json_shape shape;
  shape.type = json_shape::kind::list;
  shape.expected = "a list";
  shape.element = std::make_shared<const json_shape>(std::move(element));
  shape.each = std::move(each);
  return shape;
}

/// A list of numbers; replaces what the variable held.
template <class Number>
[[nodiscard]] json_shape json_numbers(std::vector<Number>& into) {
  json_shape shape = json_list(json_value(json_number_name<Number>(), [&into](const json_scalar& s) {
    const auto value = json_number_of<Number>(s);
    if (value) into.push_back(*value);
    return value.has_value();
  }));
  shape.begin = [&into] { into.clear(); };
  struct sink {
    std::vector<Number>& into;
    bool take(const detail::plain_number& number) {
      std::optional<Number> value;
      if constexpr (std::integral<Number>) {
        value = number.to_integer<Number>();
      } else {
        value = number.to_double();
      }
      if (value) into.push_back(*value);
      return value.has_value();
    }
    static bool take_null() { return false; }
  };
  shape.many = [&into](std::string_view text, std::size_t& count) {
    return detail::take_numbers(text, count, sink{into});
  };
  return shape;
}

/// A list of strings; replaces what the variable held.
[[nodiscard]] inline json_shape json_texts(std::vector<std::string>& into) {
  json_shape shape = json_list(json_value("a string", [&into](const json_scalar& s) {
    if (s.type == json_scalar::kind::text) into.emplace_back(s.text);
    return s.type == json_scalar::kind::text;
  }));
  shape.begin = [&into] { into.clear(); };
  return shape;
}

/// \param end  called after the last field, to check or to use what the fields left in their variables
[[nodiscard]] inline json_shape json_object(std::vector<json_field> fields, std::function<std::string()> end = {}) {
  json_shape shape;
  shape.type = json_shape::kind::object;
  shape.expected = "an object";
  shape.fields = std::move(fields);
  shape.end = std::move(end);
  return shape;
}

/// An object whose field names are data, which go to `name` before each value; the names are not compared.
[[nodiscard]] inline json_shape json_map(std::string& name, json_shape element, std::function<std::string()> each) {
  json_shape shape = json_object({});
  shape.element = std::make_shared<const json_shape>(std::move(element));
  shape.key = [&name](std::string_view key) { name = key; };
  shape.each = std::move(each);
  return shape;
}

/// A list of objects: each is read into `item`, which starts from its default value, and appended.
template <class Item>
[[nodiscard]] json_shape json_items(Item& item, std::vector<Item>& into, json_shape element) {
  return json_list(std::move(element), [&item, &into] {
    into.push_back(std::exchange(item, Item{}));
    return std::string();
  });
}

/// The two fields that every file of ours has; `read_json` then refuses other formats and newer versions.
[[nodiscard]] inline std::vector<json_field> json_header(std::string format, std::int64_t version) {
  std::string expected = "\"" + format + "\"";
  json_shape format_shape = json_value(std::move(expected), [format = std::move(format)](const json_scalar& s) {
    return s.type == json_scalar::kind::text && s.text == format;
  });
  json_shape version_shape =
      json_value("a version from 1 to " + std::to_string(version) + ", which are those this reader knows",
                 [version](const json_scalar& s) {
                   return s.type == json_scalar::kind::integer && s.integer >= 1 && s.integer <= version;
                 });
  return {json_required("format", std::move(format_shape)), json_required("version", std::move(version_shape))};
}

}  // namespace shardweave::inline v0
