#pragma once

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What stands in a report, as its script reads it.
namespace html_page {

using json = boost::json::value;

inline std::string between(const std::string& text, std::string_view open, std::string_view close) {
  const std::size_t at = text.find(open);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + open.size();
  return text.substr(from, text.find(close, from) - from);
}

inline json data_of(const std::string& page) {
  return boost::json::parse(between(page, "<script type=\"application/json\" id=\"data\">", "</script>"));
}

inline std::vector<std::int64_t> numbers(const json& list) {
  std::vector<std::int64_t> all;
  for (const json& x : list.as_array()) all.push_back(x.as_int64());
  return all;
}

inline std::vector<std::int64_t> sums(const json& differences) {
  std::vector<std::int64_t> all = numbers(differences);
  for (std::size_t i = 1; i < all.size(); ++i) all[i] += all[i - 1];
  return all;
}

/// The cells of the row of that name in the table of figures.
inline std::vector<std::string> row_of(const std::string& page, const std::string& name) {
  std::string row = between(page, "<th scope=\"row\">" + name + "</th>", "</tr>");
  std::vector<std::string> cells;
  while (row.find("<td") != std::string::npos) {
    cells.push_back(between(row, "<td class=\"n\">", "</td>"));
    row.erase(0, row.find("</td>") + 5);
  }
  return cells;
}

}  // namespace html_page
