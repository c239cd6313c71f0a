#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/spmd/demand.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// The demands of a user, record by record: added, removed, written down and replayed.

namespace shardweave::inline v0 {

/// Demands in the order in which they were made. A number is never given twice; what is removed is gone.
class constraint_log {
 public:
  /// A demand and its number.
  struct record {
    std::uint32_t id = 0;
    demand what;
  };

  /// Returns the number of the record.
  /// \throws error (input) for a pattern that is empty or has white space, which no line could state
  std::uint32_t add(demand what) {
    std::visit(
        [](const auto& d) {
          if constexpr (requires { d.pattern; })
            if (d.pattern.empty() || d.pattern.find_first_of(" \t\r\n") != std::string::npos)
              refuse(error_category::input,
                     "the pattern '" + d.pattern + "' is empty or has white space, expected names without");
        },
        what);
    records_.push_back({next_, std::move(what)});
    return next_++;
  }
  /// False if there is none of this number.
  bool remove(std::uint32_t id) {
    return std::erase_if(records_, [id](const record& r) { return r.id == id; }) > 0;
  }
  [[nodiscard]] const std::vector<record>& records() const { return records_; }

  /// A line per record, with its number: "3 placed layers.*.wq S(0)R".
  [[nodiscard]] std::string to_string() const {
    std::string text;
    for (const record& r : records_) text += std::to_string(r.id) + " " + shardweave::to_string(r.what) + "\n";
    return text;
  }
  /// Reads what `to_string` writes; empty lines are left out.
  /// \throws error (format) naming a line that is no record, or whose number does not grow
  [[nodiscard]] static constraint_log parse(std::string_view text) {
    constraint_log log;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.empty()) continue;
      record r;
      const auto [rest, code] = std::from_chars(line.data(), line.data() + line.size(), r.id);
      const bool is_last = r.id == std::numeric_limits<std::uint32_t>::max();  // none could follow it
      if (code != std::errc{} || rest == line.data() + line.size() || *rest != ' ' || r.id < log.next_ || is_last)
        refuse(error_category::format, "'" + std::string(line) + "' is no record, expected a number of at least " +
                                           std::to_string(log.next_) + " and a demand");
      r.what = parse_demand(line.substr(static_cast<std::size_t>(rest + 1 - line.data())));
      log.next_ = r.id + 1;
      log.records_.push_back(std::move(r));
    }
    return log;
  }

 private:
  std::vector<record> records_;
  std::uint32_t next_ = 1;
};

namespace detail {

/// Whether a name fits a pattern in which * stands for any text. Of what stands between two stars the first place will
/// do, whatever follows.
/// Complexity: O(name * pattern)
[[nodiscard]] inline bool fits(std::string_view name, std::string_view pattern) {
  std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  for (pattern.remove_prefix(star + 1);; pattern.remove_prefix(star + 1)) {
    star = pattern.find('*');
    if (star == std::string_view::npos) return name.ends_with(pattern);
    const std::size_t at = name.find(pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + star);
  }
}

}  // namespace detail

/// The constraints that the demands of a log mean for a model, each under the words of its record: "#3 placed ...".
/// Records take effect together, in whatever order they were made: a parameter that one places outright, by itself or
/// by what must be placed with it (`placed_together`), does not count for the share that another demands.
///
/// \param only  if not empty, the numbers of the records that count
/// \throws error (constraint) naming the record if it names no operation, or a placement that one does not offer
[[nodiscard]] constraint_set constraints_of(const spmd_cost_model& model, const constraint_log& log,
                                            const std::vector<std::uint32_t>& only = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/constraint_log.hpp>
#endif
