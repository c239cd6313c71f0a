#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

/// A picture as the elements that it is made of.
namespace svg_elements {

/// Checks that tags are balanced, attributes quoted and references known; returns how many elements there are.
inline std::size_t elements_of(const std::string& svg) {
  std::vector<std::string> open;
  std::size_t elements = 0;
  for (std::size_t at = 0; at < svg.size();) {
    if (svg[at] == '&') {
      const std::string name = svg.substr(at, svg.find(';', at) - at);
      REQUIRE((name == "&amp" || name == "&lt" || name == "&gt" || name == "&quot"));
    }
    if (svg[at] != '<') {
      REQUIRE(svg[at] != '>');
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    bool quoted = false;
    for (; end < svg.size() && (quoted || svg[end] != '>'); ++end) {
      if (svg[end] == '"') quoted = !quoted;
      REQUIRE(svg[end] != '<');
    }
    REQUIRE(end < svg.size());
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag[0] == '/') {
      REQUIRE(!open.empty());
      REQUIRE(open.back() == tag.substr(1));
      open.pop_back();
    } else {
      ++elements;
      if (tag.back() != '/') open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end + 1;
  }
  REQUIRE(open.empty());
  return elements;
}

}  // namespace svg_elements
