#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// A chart with two logarithmic axes, as SVG.

namespace tables {

struct plotted_point {
  double x = 0;
  double y = 0;
};

/// Dots for measurements, lines for models. Colours are those of a palette that colour-blind readers tell apart, and
/// read on light and dark pages.
class log_plot {
 public:
  log_plot(std::string title, std::string x_name, std::string y_name)
      : title_(std::move(title)), x_name_(std::move(x_name)), y_name_(std::move(y_name)) {}

  log_plot& dots(std::string name, std::vector<plotted_point> points) {
    series_.push_back({std::move(name), std::move(points), true});
    return *this;
  }
  log_plot& line(std::string name, std::vector<plotted_point> points) {
    series_.push_back({std::move(name), std::move(points), false});
    return *this;
  }

  [[nodiscard]] std::string svg() const {
    double x0 = 1e300, x1 = 0, y0 = 1e300, y1 = 0;
    for (const series& s : series_)
      for (const plotted_point& p : s.points) {
        x0 = std::min(x0, p.x), x1 = std::max(x1, p.x);
        y0 = std::min(y0, p.y), y1 = std::max(y1, p.y);
      }
    const double decade_low = std::floor(std::log10(y0));
    const double decade_high = std::max(std::ceil(std::log10(y1)), decade_low + 1);
    const double log_x0 = std::log2(x0), log_x1 = std::max(std::log2(x1), log_x0 + 1);
    const auto at_x = [&](double x) { return left + (std::log2(x) - log_x0) / (log_x1 - log_x0) * (right - left); };
    const auto at_y = [&](double y) {
      return bottom - (std::log10(y) - decade_low) / (decade_high - decade_low) * (bottom - top);
    };
    std::string out =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 420\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<rect width=\"760\" height=\"420\" fill=\"#ffffff\"/>\n";
    out += text(left, 20, title_, "start", 14);
    for (double d = decade_low; d <= decade_high; ++d) {
      const double y = at_y(std::pow(10, d));
      out += grid(left, y, right, y) + text(left - 6, y + 4, decimal(std::pow(10, d)), "end");
    }
    const double apart = log_x1 - log_x0 > 8 ? 5 : 1;
    for (double b = std::ceil(log_x0 / apart) * apart; b <= log_x1; b += apart) {
      const double x = at_x(std::exp2(b));
      out += grid(x, top, x, bottom) + text(x, bottom + 16, size_name(b), "middle");
    }
    out += text((left + right) / 2, bottom + 34, x_name_, "middle") + text(left, top - 8, y_name_, "start");
    for (const bool dots : {false, true})  // dots lie over lines
      for (std::size_t i = 0; i < series_.size(); ++i)
        if (series_[i].are_dots == dots) out += drawn(i, at_x, at_y);
    return out + "</svg>\n";
  }

 private:
  struct series {
    std::string name;
    std::vector<plotted_point> points;
    bool are_dots;
  };
  static constexpr double left = 64, right = 590, top = 50, bottom = 372;
  static constexpr const char* colours[] = {"#222222", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"};

  template <class AtX, class AtY>
  [[nodiscard]] std::string drawn(std::size_t i, AtX at_x, AtY at_y) const {
    const series& s = series_[i];
    const std::string colour = colours[i % std::size(colours)];
    const double y = top + 14 + 18 * static_cast<double>(i);
    std::string out;
    if (s.are_dots) {
      for (const plotted_point& p : s.points) out += dot(at_x(p.x), at_y(p.y), colour);
      out += dot(right + 22, y - 4, colour);
    } else {
      out += "<polyline fill=\"none\" stroke-width=\"1.8\" stroke=\"" + colour + "\" points=\"";
      for (const plotted_point& p : s.points) out += one(at_x(p.x)) + "," + one(at_y(p.y)) + " ";
      out += "\"/>\n<line stroke-width=\"2.4\" stroke=\"" + colour + "\" x1=\"" + one(right + 12) + "\" x2=\"" +
             one(right + 32) + "\" y1=\"" + one(y - 4) + "\" y2=\"" + one(y - 4) + "\"/>\n";
    }
    return out + text(right + 38, y, s.name, "start");
  }

  static std::string one(double v) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.1f", v);
    return digits;
  }
  static std::string decimal(double v) {
    char digits[32];
    std::snprintf(digits, sizeof digits, v < 1 ? "%g" : "%.0f", v);
    return digits;
  }
  static std::string size_name(double log2_bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB"};
    const auto unit = static_cast<std::size_t>(std::min(log2_bytes / 10, 3.0));
    return decimal(std::exp2(log2_bytes - 10 * static_cast<double>(unit))) + " " + units[unit];
  }
  static std::string grid(double x1, double y1, double x2, double y2) {
    return "<line stroke=\"#cccccc\" stroke-width=\"0.7\" x1=\"" + one(x1) + "\" y1=\"" + one(y1) + "\" x2=\"" +
           one(x2) + "\" y2=\"" + one(y2) + "\"/>\n";
  }
  static std::string dot(double x, double y, const std::string& colour) {
    return "<circle r=\"2.6\" fill=\"" + colour + "\" cx=\"" + one(x) + "\" cy=\"" + one(y) + "\"/>\n";
  }
  static std::string text(double x, double y, std::string_view what, std::string_view anchor, int size = 12) {
    std::string out = "<text x=\"" + one(x) + "\" y=\"" + one(y) + "\" fill=\"#222222\" text-anchor=\"";
    out += anchor;
    out += "\" font-size=\"" + std::to_string(size) + "\">";
    for (const char c : what) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out + "</text>\n";
  }

  std::string title_, x_name_, y_name_;
  std::vector<series> series_;
};

}  // namespace tables
