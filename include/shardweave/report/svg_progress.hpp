#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/report/detail/escape.hpp>
#include <shardweave/report/unit_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

/// \file
/// How the best answer and the bound on all answers came together, as a picture.

namespace shardweave::inline v0 {

/// What was known at a moment of a search for the least time.
struct progress_point {
  double seconds = 0;                                     ///< since the search began
  double best = std::numeric_limits<double>::infinity();  ///< nanoseconds; not finite = none yet
  double bound = 0;                                       ///< nanoseconds; not positive, or not finite = none yet
  friend bool operator==(const progress_point&, const progress_point&) = default;
};

/// How the picture of `svg_progress` looks.
struct svg_progress_options {
  std::string title = {};
  std::size_t width = 720;   ///< of the axes, pixels
  std::size_t height = 260;  ///< of the axes, pixels
  bool background = true;    ///< white; without it the picture is drawn in the colours of the page around it
};

namespace detail {

/// About so many round numbers (1, 2 or 5 times a power of ten apart) from the first to the last of a range.
[[nodiscard]] inline std::vector<double> round_numbers(double first, double last, double count) {
  const double rough = std::max(last - first, 1e-300) / count, decade = std::pow(10, std::floor(std::log10(rough)));
  const double step = rough <= decade       ? decade
                      : rough <= 2 * decade ? 2 * decade
                      : rough <= 5 * decade ? 5 * decade
                                            : 10 * decade;
  std::vector<double> numbers;
  for (double i = std::ceil(first / step - 1e-9); i * step <= last + 1e-9 * step; ++i) numbers.push_back(i * step);
  return numbers;
}

}  // namespace detail

/// A static SVG: seconds to the right, the best answer and the bound as lines of steps, the gap between them shaded.
/// Points are what was reported, in the order of time: a best that is worse than one before, or a bound that is lower,
/// counts as the one before.
/// \param points  at least one of them with a best
/// \throws error (input) if none has a best, or time runs backwards
/// Complexity: O(points)
[[nodiscard]] inline std::string svg_progress(std::span<const progress_point> points,
                                              const svg_progress_options& options = {}) {
  std::vector<progress_point> known;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (progress_point p : points) {
    if (!known.empty()) {
      if (!(p.seconds >= known.back().seconds))
        refuse(error_category::input, "a point of progress at " + number_text(p.seconds) + " s after one at " +
                                          number_text(known.back().seconds) + " s, expected the order of time");
      p.best = std::min(std::isfinite(p.best) ? p.best : known.back().best, known.back().best);
      p.bound = std::max(std::isfinite(p.bound) ? p.bound : 0.0, known.back().bound);
    }
    if (!std::isfinite(p.bound) || p.bound < 0) p.bound = 0;
    known.push_back(p);
    if (!std::isfinite(p.best)) continue;
    high = std::max(high, p.best);
    low = std::min(low, p.bound > 0 ? p.bound : p.best);
  }
  if (!(high > 0)) refuse(error_category::input, "a picture of progress without an answer, expected one at least");
  low -= 0.05 * std::max(high - low, 0.01 * high);
  high += 0.05 * std::max(high - low, 0.01 * high);
  const double end = std::max(known.back().seconds, 1e-3), last = known.back().best, bound = known.back().bound;
  const auto width = static_cast<double>(options.width), height = static_cast<double>(options.height);
  constexpr double left = 84, top = 36, right = 150;
  const auto at = [](double pixel) { return fixed_text(pixel, 1); };
  const auto x = [&](double seconds) { return at(left + seconds / end * width); };
  const auto y = [&](double value) { return at(top + (high - value) / (high - low) * height); };
  const auto text_of = [](double value) {
    return time_text(nanoseconds(static_cast<std::int64_t>(std::llround(value))));
  };

  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + at(left + width + right) + " " +
                    at(top + height + 44) + "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n";
  if (options.background) out += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  out += "<text x=\"" + at(left) + "\" y=\"20\" font-size=\"14\">";
  detail::append_xml(out, options.title);
  out += "</text>\n";
  for (const double v : detail::round_numbers(low, high, 5))
    out += "<path stroke=\"#888888\" stroke-opacity=\"0.4\" d=\"M" + at(left) + "," + y(v) + "h" + at(width) +
           "\"/>\n<text text-anchor=\"end\" x=\"" + at(left - 6) + "\" y=\"" + y(v) + "\" dy=\"4\">" + text_of(v) +
           "</text>\n";
  const std::vector<double> seconds = detail::round_numbers(0, end, 8);
  for (const double s : seconds) {
    const double apart = seconds.size() > 1 ? seconds[1] - seconds[0] : 1;
    const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(apart) - 1e-9)));
    out += "<path stroke=\"#888888\" d=\"M" + x(s) + "," + at(top + height) +
           "v4\"/>\n<text text-anchor=\"middle\" x=\"" + x(s) + "\" y=\"" + at(top + height + 18) + "\">" +
           fixed_text(s, decimals) + "</text>\n";
  }
  out += "<text text-anchor=\"middle\" x=\"" + at(left + width / 2) + "\" y=\"" + at(top + height + 36) +
         "\">seconds of searching</text>\n";
  // what is known holds until the next point
  for (std::size_t i = 0; i < known.size(); ++i) {
    const double until = i + 1 < known.size() ? known[i + 1].seconds : end;
    if (std::isfinite(known[i].best) && known[i].bound > 0 && until > known[i].seconds)
      out += "<path fill=\"#4e79a7\" fill-opacity=\"0.15\" d=\"M" + x(known[i].seconds) + "," + y(known[i].best) + "H" +
             x(until) + "V" + y(known[i].bound) + "H" + x(known[i].seconds) + "Z\"/>\n";
  }
  const auto line = [&](const char* colour, auto is_known, auto value) {
    std::string path;
    for (const progress_point& p : known)
      if (is_known(p))
        path += (path.empty() ? "M" + x(p.seconds) + "," + y(value(p)) : "H" + x(p.seconds) + "V" + y(value(p)));
    if (path.empty()) return;
    out += "<path stroke=\"" + std::string(colour) + "\" stroke-width=\"2\" fill=\"none\" d=\"" + path + "H" + x(end) +
           "\"/>\n";
  };
  line(
      "#e15759", [](const progress_point& p) { return std::isfinite(p.best); },
      [](const progress_point& p) { return p.best; });
  line(
      "#4e79a7", [&](const progress_point& p) { return p.bound > 0 && std::isfinite(p.best); },
      [](const progress_point& p) { return p.bound; });
  const bool are_close = bound > 0 && (last - bound) / (high - low) * height < 16;
  const auto label = [&](const char* colour, double value, double shift, const std::string& text) {
    out += "<text fill=\"" + std::string(colour) + "\" x=\"" + at(left + width + 8) + "\" y=\"" + y(value) +
           "\" dy=\"" + at(shift) + "\">" + text + "</text>\n";
  };
  label("#e15759", last, are_close ? -4 : 4, "best " + text_of(last));
  if (bound > 0) {
    label("#4e79a7", bound, are_close ? 14 : 4, "bound " + text_of(bound));
    label("currentColor", bound, are_close ? 30 : 20, "gap " + percent_text(last / bound - 1, 2));
  }
  return out + "</svg>\n";
}

}  // namespace shardweave::inline v0
