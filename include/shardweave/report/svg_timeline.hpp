#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/detail/escape.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// A timeline as a picture that stands still, for documents and build results.

namespace shardweave::inline v0 {

/// How the picture of `svg_timeline` looks.
struct svg_timeline_options {
  std::string title = {};          ///< empty = the graph's name
  std::size_t width = 1200;        ///< of the time axis, pixels
  std::size_t row_height = 28;     ///< pixels
  std::size_t most_shapes = 4000;  ///< a shape takes some 60 bytes; rows are drawn coarser beyond it
  std::size_t hints = 100;         ///< the longest stretches tell their names under the pointer
  bool memory = true;              ///< a curve of the live bytes, if the timeline has memory samples
  nanoseconds until = {};          ///< the time axis is at least that long, as that of another picture
};

namespace detail {
/// What fills one cell of a row: the kind that takes most of it, and how full it is, in quarters.
struct row_cell {
  std::size_t colour = 0;
  std::size_t quarters = 0;  ///< 0 = empty
  friend bool operator==(const row_cell&, const row_cell&) = default;
};

inline constexpr std::array<std::string_view, 5> svg_colours = {"#4e79a7", "#e15759", "#f28e2b", "#59a14f", "#bab0ac"};
inline constexpr std::array<std::string_view, 5> svg_legend = {"computation", "stall", "packing", "collective",
                                                               "other work"};

[[nodiscard]] inline std::size_t svg_colour(const task_graph& g, const channel_span& span) {
  switch (span.kind) {
    case span_kind::wait:
      return 1;
    case span_kind::pack:
    case span_kind::unpack:
      return 2;
    case span_kind::collective:
      return 3;
    default:
      return g.kind(span.task) == task_kind::compute ? 0 : 4;
  }
}

/// Draws one timeline. Cells are cut in whole numbers, so that none is lost or counted twice.
class svg_timeline_writer {
 public:
  svg_timeline_writer(const task_graph& g, const schedule& s, const timeline& line, const svg_timeline_options& options)
      : g_(g), s_(s), line_(line), options_(options), spans_(channel_spans(g, s, line)) {
    until_ = options.until.count();
    for (const channel_span& span : spans_) until_ = std::max(until_, span.end.count());
    const std::size_t rows = g.groups().size() + 1;
    const std::size_t width = std::max<std::size_t>(options.width, 1);
    cells_ = std::clamp<std::size_t>(options.most_shapes / rows, 1, width);
  }

  [[nodiscard]] std::size_t width() const { return left + options_.width + right; }
  [[nodiscard]] std::size_t height() const {
    return top + (g_.groups().size() + 1) * options_.row_height + 24 + (has_curve() ? memory_height + 16 : 0) + 24;
  }
  /// \param y  where the picture begins in another one
  [[nodiscard]] std::string text(std::size_t y = 0) {
    const std::size_t rows = g_.groups().size() + 1;
    const bool curve = has_curve();
    const std::size_t bottom = top + rows * options_.row_height;
    const std::size_t tall = height();
    out_ += "<svg xmlns=\"http://www.w3.org/2000/svg\"" + (y > 0 ? " y=\"" + std::to_string(y) + "\"" : "") +
            " width=\"" + std::to_string(width()) + "\" height=\"" + std::to_string(tall) +
            "\" font-family=\"sans-serif\" font-size=\"12\">\n";
    out_ += "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    label(8, 18,
          (options_.title.empty() ? g_.name : options_.title) + ": " + time_text(line_.end_to_end) + ", " +
              time_text(line_.exposed) + " exposed, peak " + size_text(line_.peak));
    axis(bottom);
    for (std::uint32_t c = 0; c < rows; ++c) row(c);
    hints();
    if (curve) memory(bottom + 24);
    legend(tall - 10);
    return std::move(out_) + "</svg>\n";
  }

 private:
  static constexpr std::size_t left = 150, right = 20, top = 34, memory_height = 70;

  [[nodiscard]] bool has_curve() const { return options_.memory && !line_.memory.empty() && until_ > 0; }

  /// Horizontal position, in tenths of a pixel.
  [[nodiscard]] std::string x_of(std::int64_t time) const {
    const double x =
        static_cast<double>(left) +
        (until_ == 0 ? 0.0
                     : static_cast<double>(time) / static_cast<double>(until_) * static_cast<double>(options_.width));
    return short_text(x);
  }
  [[nodiscard]] static std::string short_text(double x) {
    std::string text = fixed_text(x, 1);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  }
  void label(std::size_t x, std::size_t y, std::string_view text, std::string_view more = "") {
    out_ += "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\"" + std::string(more) + ">";
    append_xml(out_, text);
    out_ += "</text>\n";
  }
  /// First moment of a cell; computed without overflow for any time and cell count that occur.
  [[nodiscard]] std::int64_t begin_of(std::size_t cell) const {
    const auto c = static_cast<std::int64_t>(cell), n = static_cast<std::int64_t>(cells_);
    return until_ / n * c + until_ % n * c / n;
  }

  /// Time stamps at 1, 2 or 5 times a power of ten, at most some ten of them.
  void axis(std::size_t bottom) {
    std::int64_t step = 1;
    for (std::int64_t next = 0; until_ / step > 10; ++next)
      step = step / (next % 3 == 1 ? 2 : 1) * (next % 3 == 1 ? 5 : 2);
    for (std::int64_t t = 0; t <= until_; t += step) {
      out_ += "<path d=\"M" + x_of(t) + " " + std::to_string(top) + "V" + std::to_string(bottom) +
              "\" stroke=\"#dddddd\"/>\n";
      out_ += "<text x=\"" + x_of(t) + "\" y=\"" + std::to_string(bottom + 14) + "\" text-anchor=\"middle\">";
      std::string stamp = time_text(nanoseconds(t));  // round numbers: without ".00"
      if (const std::size_t point = stamp.find(".00"); point != std::string::npos) stamp.erase(point, 3);
      append_xml(out_, stamp);
      out_ += "</text>\n";
      if (until_ == 0) break;
    }
  }

  [[nodiscard]] std::vector<row_cell> cells_of(std::uint32_t channel) const {
    std::vector<std::array<std::int64_t, svg_colours.size()>> time(cells_);
    std::size_t cell = 0;
    for (const channel_span& span : spans_) {
      if (span.channel != channel || span.end <= span.start) continue;
      std::int64_t at = span.start.count();
      while (cell > 0 && begin_of(cell) > at) --cell;  // only where a measured timeline goes back
      while (at < span.end.count()) {
        while (cell + 1 < cells_ && begin_of(cell + 1) <= at) ++cell;
        const std::int64_t end = cell + 1 < cells_ ? std::min(span.end.count(), begin_of(cell + 1)) : span.end.count();
        time[cell][svg_colour(g_, span)] += end - at;
        at = end;
      }
    }
    std::vector<row_cell> cells(cells_);
    for (std::size_t i = 0; i < cells_; ++i) {
      std::int64_t all = 0;
      for (const std::int64_t t : time[i]) all += t;
      if (all == 0) continue;
      const std::int64_t length = (i + 1 < cells_ ? begin_of(i + 1) : until_) - begin_of(i);
      cells[i].colour = static_cast<std::size_t>(std::max_element(time[i].begin(), time[i].end()) - time[i].begin());
      // rounded up: what is there is seen
      cells[i].quarters = static_cast<std::size_t>(
          std::clamp<std::int64_t>((4 * all + length - 1) / std::max<std::int64_t>(length, 1), 1, 4));
    }
    return cells;
  }

  void row(std::uint32_t channel) {
    const std::size_t y = top + channel * options_.row_height;
    label(8, y + options_.row_height / 2 + 4, channel_name(g_, channel));
    const std::vector<row_cell> cells = cells_of(channel);
    const std::string bar = std::to_string(options_.row_height > 6 ? options_.row_height - 6 : 1);
    for (std::size_t i = 0, end = 0; i < cells.size(); i = end) {
      while (end < cells.size() && cells[end] == cells[i]) ++end;
      if (cells[i].quarters == 0) continue;
      constexpr std::array<std::string_view, 5> faint = {"", " opacity=\".4\"", " opacity=\".6\"", " opacity=\".8\"",
                                                         ""};
      out_ += "<path fill=\"" + std::string(svg_colours[cells[i].colour]) + "\"" +
              std::string(faint[cells[i].quarters]) + " d=\"M" + x_of(begin_of(i)) + " " + std::to_string(y + 3) + "H" +
              x_of(end < cells_ ? begin_of(end) : until_) + "v" + bar + "H" + x_of(begin_of(i)) + "z\"/>\n";
    }
  }

  void hints() {
    std::vector<std::size_t> longest;
    for (std::size_t i = 0; i < spans_.size(); ++i)
      if (spans_[i].end > spans_[i].start) longest.push_back(i);
    std::stable_sort(longest.begin(), longest.end(), [&](std::size_t a, std::size_t b) {
      return spans_[a].end - spans_[a].start > spans_[b].end - spans_[b].start;
    });
    longest.resize(std::min(longest.size(), options_.hints));
    for (const std::size_t i : longest) {
      const channel_span& span = spans_[i];
      out_ += "<path fill-opacity=\"0\" d=\"M" + x_of(span.start.count()) + " " +
              std::to_string(top + span.channel * options_.row_height) + "H" + x_of(span.end.count()) + "v" +
              std::to_string(options_.row_height) + "H" + x_of(span.start.count()) + "z\"><title>";
      append_xml(out_, std::string(g_.name_of(span.task)).substr(0, 200));
      if (span.bucket != no_index)
        out_ +=
            ", bucket " + std::to_string(span.bucket) + " of " + std::to_string(s_.buckets[span.bucket].members.size());
      out_ += ", " + time_text(span.end - span.start) + "</title></path>\n";
    }
  }

  /// The most bytes alive in each cell, as a curve.
  void memory(std::size_t y) {
    std::vector<std::int64_t> most(cells_);
    std::int64_t peak = 1;
    for (const memory_sample& sample : line_.memory) {
      const double share = static_cast<double>(sample.time.count()) / static_cast<double>(until_);
      const auto cell = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(cells_));
      std::int64_t& here = most[std::min(cell, cells_ - 1)];
      here = std::max(here, sample.live.count());
      peak = std::max(peak, here);
    }
    for (std::size_t i = 1; i < cells_; ++i)
      if (most[i] == 0) most[i] = most[i - 1];  // no sample: nothing changed
    label(8, y + memory_height / 2 - 4, "memory");
    label(8, y + memory_height / 2 + 12, "up to " + size_text(bytes(peak)));
    const auto floor = static_cast<double>(y + memory_height);
    out_ += "<path fill=\"#76b7b2\" d=\"M" + x_of(0) + " " + std::to_string(y + memory_height);
    for (std::size_t i = 0; i < cells_; ++i) {
      if (i > 0 && most[i] == most[i - 1]) continue;
      out_ += "H" + x_of(begin_of(i)) + "V" +
              short_text(floor -
                         static_cast<double>(memory_height) * static_cast<double>(most[i]) / static_cast<double>(peak));
    }
    out_ += "H" + x_of(until_) + "V" + std::to_string(y + memory_height) + "z\"/>\n";
  }

  void legend(std::size_t y) {
    for (std::size_t i = 0; i < svg_colours.size(); ++i) {
      const std::size_t x = left + 130 * i;
      out_ += "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y - 10) +
              "\" width=\"12\" height=\"12\" fill=\"" + std::string(svg_colours[i]) + "\"/>\n";
      label(x + 18, y, svg_legend[i]);
    }
  }

  const task_graph& g_;
  const schedule& s_;
  const timeline& line_;
  const svg_timeline_options& options_;
  std::vector<channel_span> spans_;
  std::int64_t until_ = 0;
  std::size_t cells_ = 1;
  std::string out_;
};
}  // namespace detail

/// A static SVG: a row per channel, stretches coloured by what fills them, the time below, live bytes if the
/// timeline has memory samples. A row is cut into cells of at least a pixel; a cell has the colour of what takes
/// most of it, and is the fainter the less of it is taken. So the picture's size depends on its width and on
/// the number of channels, not on that of tasks.
///
/// \pre the schedule is valid, and the timeline is of this graph and schedule
/// \throws error (input) for a timeline of another size
/// Complexity: O(V (channels + log V)) time, O(V) memory
[[nodiscard]] inline std::string svg_timeline(const task_graph& g, const schedule& s, const timeline& line,
                                              const svg_timeline_options& options = {}) {
  return detail::svg_timeline_writer(g, s, line, options).text();
}

}  // namespace shardweave::inline v0
