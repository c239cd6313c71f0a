#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/report/detail/html_data.hpp>
#include <shardweave/report/detail/report_data.hpp>
#include <shardweave/report/detail/report_script.hpp>
#include <shardweave/report/detail/report_style.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/report/svg_progress.hpp>
#include <shardweave/report/unit_text.hpp>

#include <algorithm>
#include <cstdint>

/// \file
/// The page of a report.

namespace shardweave::inline v0 {

namespace detail {

/// The page: its head, what is readable without scripts, its parts and their data.
class html_writer {
 public:
  html_writer(html_data::sink_type& sink, std::span<const html_plan> plans, const html_options& options)
      : out_(sink), plans_(plans), options_(options) {
    if (plans.empty()) refuse(error_category::input, "the report has no plan, expected at least one");
    for (const html_plan& p : plans) {
      SHARDWEAVE_EXPECTS(p.graph != nullptr && p.order != nullptr && p.line != nullptr);
      SHARDWEAVE_EXPECTS(p.again.empty() || p.again.size() == p.graph->size());
      check_timeline(*p.graph, *p.order, *p.line);
    }
  }

  void write() {
    const std::string title = options_.title.empty() ? plans_.front().graph->name : options_.title;
    out_.raw(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>");
    out_.escaped(title.empty() ? "plan" : title);
    out_.raw("</title>\n<style>\n");
    for (const std::string_view piece : report_style) out_.raw(piece);
    out_.raw(
        "</style>\n<script>document.documentElement.dataset.theme = "
        "matchMedia(\"(prefers-color-scheme: dark)\").matches ? \"dark\" : \"light\";</script>\n</head>\n<body>\n"
        "<a class=\"skip\" href=\"#timeline\">to the timeline</a>\n<header>\n<h1>");
    out_.escaped(title.empty() ? "plan" : title);
    out_.raw("</h1>\n");
    if (!options_.subtitle.empty()) {
      out_.raw("<p class=\"about\">");
      out_.escaped(options_.subtitle);
      out_.raw("</p>\n");
    }
    tiles();
    out_.raw("</header>\n<nav aria-label=\"Parts of the report\"><div>");
    for (const auto& [id, name] : parts()) {
      out_.raw("<a href=\"#" + std::string(id) + "\">");
      out_.escaped(name);
      out_.raw("</a>");
    }
    out_.raw("<button id=\"theme\" hidden>light / dark</button></div></nav>\n<main>\n");
    for (const auto& [id, name] : parts()) {
      out_.raw("<section id=\"" + std::string(id) + "\"><h2>");
      out_.escaped(name);
      out_.raw("</h2>");
      if (id == "plans") comparison();
      if (id == "search")  // as wide as it is readable
        out_.raw("<div class=\"scroll\"><div style=\"min-width:44rem\">\n" +
                 svg_progress(options_.search, {.background = false}) + "</div></div>");
      out_.raw("</section>\n");
    }
    out_.raw(
        "</main>\n<footer>Made by shardweave. Times and sizes are those of the timelines; nothing here is fetched "
        "from anywhere.</footer>\n<script type=\"application/json\" id=\"data\">");
    report_data(out_, plans_, options_).write();
    out_.raw("</script>\n<script>\n");
    for (const std::string_view piece : report_script) out_.raw(piece);
    out_.raw("</script>\n</body>\n</html>\n");
    out_.flush();
  }

 private:
  [[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> parts() const {
    std::vector<std::pair<std::string_view, std::string_view>> all = {
        {"step", "The step"}, {"waits", "What it waits for"}, {"timeline", "Timeline"}, {"memory", "Memory"}};
    if (std::ranges::any_of(plans_, is_placed)) all.emplace_back("placement", "Placement");
    all.emplace_back("buckets", "Buckets");
    if (!options_.search.empty()) all.emplace_back("search", "The search");
    all.emplace_back("plans", plans_.size() > 1 ? "Plans side by side" : "Figures");
    return all;
  }

  void tile(std::string_view name, std::string_view value) {
    out_.raw("<div><dt>");
    out_.escaped(name);
    out_.raw("</dt><dd>");
    out_.escaped(value);
    out_.raw("</dd></div>");
  }
  void tiles() {
    const timeline& line = *plans_.front().line;
    out_.raw("<dl class=\"tiles\">");
    tile("end to end", time_text(line.end_to_end));
    for (const html_bound& b : options_.bounds) {
      tile("no earlier: " + b.name, time_text(b.time));
      if (b.time > nanoseconds(0))
        tile("above that at most",
             percent_text(static_cast<double>(line.end_to_end.count()) / static_cast<double>(b.time.count()) - 1, 2));
    }
    tile("waits for communication", time_text(line.exposed + line.tail));
    tile("peak memory", size_text(line.peak));
    for (const html_figure& f : options_.figures) tile(f.name, f.value);
    out_.raw("</dl>\n");
  }

  /// Every figure of the timelines, readable without scripts.
  void comparison() {
    out_.raw("<div class=\"scroll\"><table id=\"figures\"><thead><tr><th></th>");
    for (const html_plan& p : plans_) {
      out_.raw("<th class=\"n\" scope=\"col\">");
      out_.escaped(p.name);
      out_.raw("</th>");
    }
    const bool differs = plans_.size() == 2;
    if (differs) out_.raw("<th class=\"n\" scope=\"col\">difference</th>");
    out_.raw("</tr></thead><tbody>\n");
    const auto row = [&](std::string_view name, auto value, auto text) {
      out_.raw("<tr><th scope=\"row\">");
      out_.escaped(name);
      out_.raw("</th>");
      const auto cell = [&](std::int64_t amount, std::string_view sign) {
        out_.raw("<td class=\"n\">");
        out_.escaped(std::string(sign) + text(amount));
        out_.raw("</td>");
      };
      for (const html_plan& p : plans_) cell(value(p), "");
      if (differs) {
        const std::int64_t d = value(plans_[0]) - value(plans_[1]);
        cell(d < 0 ? -d : d, d < 0 ? "\xE2\x88\x92" : d > 0 ? "+" : "");
      }
      out_.raw("</tr>\n");
    };
    const auto time = [](std::int64_t ns) { return time_text(nanoseconds(ns)); };
    const auto size = [](std::int64_t n) { return size_text(bytes(n)); };
    const auto count = [](std::int64_t n) { return count_text(n); };
    row(
        "end to end", [](const html_plan& p) { return p.line->end_to_end.count(); }, time);
    row(
        "computation", [](const html_plan& p) { return p.line->compute.count(); }, time);
    row(
        "packing", [](const html_plan& p) { return p.line->packing.count(); }, time);
    row(
        "communication", [](const html_plan& p) { return p.line->communication.count(); }, time);
    row(
        "hidden", [](const html_plan& p) { return p.line->hidden.count(); }, time);
    row(
        "stalls", [](const html_plan& p) { return p.line->exposed.count(); }, time);
    row(
        "after the last computation", [](const html_plan& p) { return p.line->tail.count(); }, time);
    row(
        "peak memory", [](const html_plan& p) { return p.line->peak.count(); }, size);
    row(
        "tasks", [](const html_plan& p) { return static_cast<std::int64_t>(p.graph->size()); }, count);
    row(
        "launched collectives", [](const html_plan& p) { return static_cast<std::int64_t>(p.line->collectives); },
        count);
    row(
        "of these without a stall", [](const html_plan& p) { return static_cast<std::int64_t>(p.line->hidden_count); },
        count);
    row(
        "buckets", [](const html_plan& p) { return static_cast<std::int64_t>(p.order->buckets.size()); }, count);
    out_.raw("</tbody></table></div>");
  }

  html_data out_;
  std::span<const html_plan> plans_;
  const html_options& options_;
};

}  // namespace detail

SHARDWEAVE_INLINE void detail::write_html_report(const std::function<void(std::string_view)>& sink,
                                                 std::span<const html_plan> plans, const html_options& options) {
  detail::html_writer(sink, plans, options).write();
}

}  // namespace shardweave::inline v0
