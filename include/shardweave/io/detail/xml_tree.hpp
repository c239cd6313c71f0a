#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/text_input.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// An element of a small XML file: elements and attributes, no text, no namespaces.
struct xml_element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::size_t> children;
  std::size_t line = 0;
};

/// A whole XML document of at most 16 MiB; element 0 is the root. Comments, declarations and text between elements
/// are skipped.
class xml_tree {
 public:
  /// \throws error (format) that names the line
  explicit xml_tree(text_input& input) : source_(input.name()) {
    for (std::string_view piece = input.next(); !piece.empty(); piece = input.next()) {
      if (text_.size() + piece.size() > most_bytes) fail("the text is longer than 16 MiB");
      text_ += piece;
    }
    parse();
  }

  [[nodiscard]] const xml_element& operator[](std::size_t i) const { return elements_[i]; }

  /// The root of a file of NCCL, which must have this name and version 1.
  [[nodiscard]] const xml_element& nccl_root(const std::string& name, const std::string& kind) const {
    const xml_element& root = elements_.front();
    if (root.name != name) fail_at(root, "is not the <" + name + "> of an NCCL " + kind);
    if (const std::int64_t version = whole(root, "version", 0, 1'000'000); version != 1)
      fail_at(root, "has version " + std::to_string(version) + "; version 1 can be read");
    return root;
  }

  [[noreturn]] void fail_at(const xml_element& e, const std::string& what) const {
    refuse(error_category::format,
           source_ + ": line " + std::to_string(e.line) + ": <" + shortened(e.name) + "> " + what);
  }

  [[nodiscard]] static const std::string* find(const xml_element& e, std::string_view attribute) {
    for (const auto& [name, value] : e.attributes)
      if (name == attribute) return &value;
    return nullptr;
  }
  [[nodiscard]] const std::string& required(const xml_element& e, std::string_view attribute) const {
    const std::string* value = find(e, attribute);
    if (value == nullptr) fail_at(e, "lacks attribute " + std::string(attribute));
    return *value;
  }
  /// A whole number, decimal or hexadecimal behind 0x, from `least` to `most`.
  [[nodiscard]] std::int64_t whole(const xml_element& e, std::string_view attribute, const std::string& value,
                                   std::int64_t least, std::int64_t most) const {
    std::string_view digits = value;
    const bool hex = digits.starts_with("0x");
    if (hex) digits.remove_prefix(2);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, hex ? 16 : 10);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty() || number < least ||
        number > most)
      fail_at(e, std::string(attribute) + "=\"" + shortened(value) + "\" is not a whole number from " +
                     std::to_string(least) + " to " + std::to_string(most));
    return number;
  }
  [[nodiscard]] std::int64_t whole(const xml_element& e, std::string_view attribute, std::int64_t least,
                                   std::int64_t most) const {
    return whole(e, attribute, required(e, attribute), least, most);
  }
  [[nodiscard]] double decimal(const xml_element& e, std::string_view attribute, const std::string& value,
                               double most) const {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || !(number >= 0 && number <= most))
      fail_at(e, std::string(attribute) + "=\"" + shortened(value) + "\" is not a number from 0 on");
    return number;
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 24;
  static constexpr std::size_t most_depth = 64;

  [[noreturn]] void fail(const std::string& what) const {
    refuse(error_category::format, source_ + ": line " + std::to_string(line_) + ": " + what);
  }

  [[nodiscard]] bool ended() const { return at_ >= text_.size(); }
  [[nodiscard]] bool ahead(std::string_view word) const {
    return std::string_view(text_).substr(at_).starts_with(word);
  }
  void skip(std::size_t count) {
    for (; count > 0 && !ended(); --count, ++at_)
      if (text_[at_] == '\n') ++line_;
  }
  void skip_past(std::string_view word, const char* what) {
    const std::size_t found = text_.find(word, at_);
    if (found == std::string::npos) fail(std::string(what) + " has no end");
    skip(found + word.size() - at_);
  }
  [[nodiscard]] static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  void skip_blanks() {
    while (!ended() && is_blank(text_[at_])) skip(1);
  }
  [[nodiscard]] std::string name() {
    const std::size_t first = at_;
    while (!ended() && (is_letter(text_[at_]))) ++at_;
    if (at_ == first) fail(ended() ? "the text ends in the middle of an element" : "a name was expected");
    return text_.substr(first, at_ - first);
  }
  [[nodiscard]] static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == ':';
  }

  [[nodiscard]] std::string attribute_value() {
    skip_blanks();
    if (ended() || text_[at_] != '=') fail("an attribute lacks its =");
    ++at_;
    skip_blanks();
    if (ended() || (text_[at_] != '"' && text_[at_] != '\'')) fail("the value of an attribute is not in quotes");
    const char quote = text_[at_++];
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string::npos) fail("the value of an attribute has no end");
    const std::string_view raw = std::string_view(text_).substr(at_, end - at_);
    std::string value;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '&') {
        value += raw[i];
        continue;
      }
      static constexpr std::pair<std::string_view, char> entities[] = {
          {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
      bool known = false;
      for (const auto& [word, character] : entities)
        if (raw.substr(i).starts_with(word)) {
          value += character;
          i += word.size() - 1;
          known = true;
          break;
        }
      if (!known) fail("'" + shortened(raw.substr(i, 8)) + "' is not a known entity");
    }
    skip(end + 1 - at_);
    return value;
  }

  void parse() {
    std::vector<std::size_t> open;
    bool closed = false;
    while (!ended()) {
      if (text_[at_] != '<') {
        skip(1);  // text between elements says nothing in these formats
      } else if (ahead("<!--")) {
        skip_past("-->", "a comment");
      } else if (ahead("<?")) {
        skip_past("?>", "a declaration");
      } else if (ahead("<!")) {
        skip_past(">", "a declaration");
      } else if (ahead("</")) {
        at_ += 2;
        const std::string closing = name();
        if (open.empty() || elements_[open.back()].name != closing)
          fail("</" + shortened(closing) + "> closes what is not open");
        open.pop_back();
        closed = open.empty();
        skip_blanks();
        if (ended() || text_[at_] != '>') fail("</" + shortened(closing) + " lacks its >");
        ++at_;
      } else {
        if (closed) fail("a second root element begins");
        ++at_;
        if (element(open)) closed = open.empty();
      }
    }
    if (!open.empty()) fail("<" + shortened(elements_[open.back()].name) + "> has no end");
    if (elements_.empty()) fail("there is no element");
  }

  /// \return whether the element ended at once
  bool element(std::vector<std::size_t>& open) {
    const std::size_t number = elements_.size();
    xml_element e;
    e.line = line_;
    e.name = name();
    if (open.size() >= most_depth) fail("elements are nested deeper than " + std::to_string(most_depth));
    if (!open.empty()) elements_[open.back()].children.push_back(number);
    while (true) {
      skip_blanks();
      if (ended()) fail("<" + shortened(e.name) + " lacks its >");
      if (text_[at_] == '>' || ahead("/>")) break;
      std::string key = name();
      for (const auto& [known, value] : e.attributes)
        if (known == key) fail("<" + shortened(e.name) + "> has attribute " + shortened(key) + " twice");
      std::string value = attribute_value();
      e.attributes.emplace_back(std::move(key), std::move(value));
    }
    const bool at_once = text_[at_] == '/';
    at_ += at_once ? 2 : 1;
    elements_.push_back(std::move(e));
    if (!at_once) open.push_back(number);
    return at_once;
  }

  std::string source_;
  std::string text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::vector<xml_element> elements_;
};

}  // namespace shardweave::inline v0::detail
