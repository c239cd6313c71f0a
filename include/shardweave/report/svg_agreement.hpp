#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/report/detail/escape.hpp>
#include <shardweave/report/unit_text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Predicted over measured figures, as a picture.

namespace shardweave::inline v0 {

/// Figures of one kind, in one colour.
struct agreement_series {
  std::string name = {};
  std::vector<double> measured = {};
  std::vector<double> predicted = {};  ///< as many
};

/// How the picture of `svg_agreement` looks.
struct svg_agreement_options {
  std::string title = {};
  double band = 0.1;       ///< within so much of what was measured is shaded
  std::size_t side = 420;  ///< of the square, pixels
};

/// A static SVG: a point for each figure, both axes in the same decades, the diagonal, and a band around it.
/// \throws error (input) if there is no point, one is not positive, or a series has lists of two lengths
/// Complexity: O(points)
[[nodiscard]] inline std::string svg_agreement(std::span<const agreement_series> series,
                                               const svg_agreement_options& options = {}) {
  constexpr std::array<std::string_view, 10> colours = {"#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f",
                                                        "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#5b5b5b"};
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const agreement_series& s : series) {
    if (s.measured.size() != s.predicted.size())
      refuse(error_category::input, "series '" + s.name + "' has " + std::to_string(s.measured.size()) +
                                        " measured and " + std::to_string(s.predicted.size()) +
                                        " predicted figures, expected as many");
    for (const auto* list : {&s.measured, &s.predicted})
      for (const double x : *list) {
        if (!(x > 0) || !std::isfinite(x))
          refuse(error_category::input,
                 "series '" + s.name + "' has a figure of " + std::to_string(x) + ", expected a positive number");
        low = std::min(low, x);
        high = std::max(high, x);
      }
  }
  if (!(high > 0)) refuse(error_category::input, "a picture of no figures, expected one at least");
  const double first = std::floor(std::log10(low)), last = std::max(first + 1, std::ceil(std::log10(high)));
  const auto side = static_cast<double>(options.side);
  constexpr double left = 64, top = 36;
  const auto along = [&](double x) { return (std::log10(x) - first) / (last - first) * side; };
  const auto at = [](double pixel) { return fixed_text(pixel, 1); };
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + at(side + left + 130) + " " +
                    at(side + top + 40) + "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" " +
                    "height=\"100%\" fill=\"#ffffff\"/>\n<text x=\"" + at(left) + "\" y=\"20\" font-size=\"14\">";
  detail::append_xml(out, options.title);
  out += "</text>\n<svg x=\"" + at(left) + "\" y=\"" + at(top) + "\" width=\"" + at(side) + "\" height=\"" + at(side) +
         "\">\n";
  const double up = std::log10(1 + options.band) / (last - first) * side;
  const double down = -std::log10(1 - std::min(options.band, 0.99)) / (last - first) * side;
  out += "<polygon fill=\"#eeeeee\" points=\"0," + at(side - up) + " " + at(side) + "," + at(-up) + " " + at(side) +
         "," + at(down) + " 0," + at(side + down) + "\"/>\n";
  for (double decade = first; decade <= last; ++decade) {
    const double p = (decade - first) / (last - first) * side;
    out += "<path stroke=\"#cccccc\" fill=\"none\" d=\"M" + at(p) + ",0V" + at(side) + "M0," + at(side - p) + "H" +
           at(side) + "\"/>\n";
  }
  out += "<path stroke=\"#888888\" d=\"M0," + at(side) + "L" + at(side) + ",0\"/>\n";
  for (std::size_t i = 0; i < series.size(); ++i)
    for (std::size_t k = 0; k < series[i].measured.size(); ++k)
      out += "<circle r=\"3\" fill-opacity=\"0.7\" fill=\"" + std::string(colours[i % colours.size()]) + "\" cx=\"" +
             at(along(series[i].measured[k])) + "\" cy=\"" + at(side - along(series[i].predicted[k])) + "\"/>\n";
  out += "</svg>\n";
  for (double decade = first; decade <= last; ++decade) {
    const double p = (decade - first) / (last - first) * side;
    const std::string number = fixed_text(std::pow(10, decade), static_cast<int>(std::max(0.0, -decade)));
    out += "<text text-anchor=\"middle\" x=\"" + at(left + p) + "\" y=\"" + at(top + side + 16) + "\">" + number +
           "</text>\n<text text-anchor=\"end\" x=\"" + at(left - 6) + "\" y=\"" + at(top + side - p + 4) + "\">" +
           number + "</text>\n";
  }
  out += "<text text-anchor=\"middle\" x=\"" + at(left + side / 2) + "\" y=\"" + at(top + side + 34) +
         "\">measured</text>\n<text text-anchor=\"middle\" transform=\"translate(14," + at(top + side / 2) +
         ") rotate(-90)\">predicted</text>\n";
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double y = top + 12 + 18 * static_cast<double>(i);
    out += "<circle r=\"4\" fill=\"" + std::string(colours[i % colours.size()]) + "\" cx=\"" + at(left + side + 16) +
           "\" cy=\"" + at(y) + "\"/>\n<text x=\"" + at(left + side + 26) + "\" y=\"" + at(y + 4) + "\">";
    detail::append_xml(out, series[i].name);
    out += "</text>\n";
  }
  return out + "</svg>\n";
}

}  // namespace shardweave::inline v0
