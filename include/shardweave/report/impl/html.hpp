#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/detail/escape.hpp>
#include <shardweave/report/detail/html_page.hpp>
#include <shardweave/report/detail/trace_slices.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/report/memory_parts.hpp>
#include <shardweave/report/reason_text.hpp>
#include <shardweave/report/svg_progress.hpp>
#include <shardweave/report/text_sink.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/simulate/critical_path.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_tags.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// The text of a report: figures as tables, and the data for the page's script.

namespace shardweave {
inline namespace v0 {

namespace detail {
/// Texts by number, in the order in which they first come.
class numbered_texts {
 public:
  std::size_t number(std::string_view text) {
    const auto [at, fresh] = numbers_.try_emplace(std::string(text), all_.size());
    if (fresh) all_.emplace_back(text);
    return at->second;
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return all_; }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> all_;
};

/// JSON inside of HTML, member by member.
class html_data {
 public:
  using sink_type = const std::function<void(std::string_view)>;
  explicit html_data(sink_type& sink) : out_(sink) {}

  void open(char bracket) {
    separate();
    out_.text += bracket;
    first_ = true;
  }
  void close(char bracket) {
    out_.text += bracket;
    first_ = false;
    out_.pass();
  }
  html_data& key(std::string_view name) {
    text(name);
    out_.text += ':';
    first_ = true;
    return *this;
  }
  void number(std::int64_t value) {
    separate();
    out_.text += std::to_string(value);
    out_.pass();
  }
  void number(std::size_t value) { number(static_cast<std::int64_t>(value)); }
  void number(std::uint32_t value) { number(static_cast<std::int64_t>(value)); }
  void share(double value) {
    separate();
    out_.text += fixed_text(value, 6);
  }
  void null() {
    separate();
    out_.text += "null";
  }
  /// No text closes the element that it stands in.
  void text(std::string_view value) {
    separate();
    quoted_.clear();
    append_json(quoted_, value);
    for (const char c : quoted_) c == '<' ? void(out_.text += "\\u003c") : void(out_.text += c);
    out_.pass();
  }
  template <class Range, class Value>
  void numbers(std::string_view name, const Range& range, Value value) {
    key(name).open('[');
    for (const auto& x : range) number(static_cast<std::int64_t>(value(x)));
    close(']');
  }
  template <class Range>
  void texts(std::string_view name, const Range& range) {
    key(name).open('[');
    for (const auto& x : range) text(x);
    close(']');
  }
  /// Numbers below 10, a digit each.
  template <class Range, class Value>
  void digits(std::string_view name, const Range& range, Value value) {
    key(name);
    first_ = false;
    out_.text += '"';
    for (const auto& x : range) out_.text += static_cast<char>('0' + static_cast<int>(value(x)));
    out_.text += '"';
    out_.pass();
  }
  /// Each as what it is more than the one before it.
  template <class Range, class Value>
  void differences(std::string_view name, const Range& range, Value value) {
    std::int64_t before = 0;
    numbers(name, range, [&](const auto& x) {
      const std::int64_t now = static_cast<std::int64_t>(value(x));
      return now - std::exchange(before, now);
    });
  }
  /// What is no JSON: the page around it.
  void raw(std::string_view piece) {
    out_.text += piece;
    out_.pass();
  }
  void escaped(std::string_view piece) { append_xml(out_.text, piece); }
  void flush() { out_.flush(); }

 private:
  void separate() {
    if (!first_) out_.text += ',';
    first_ = false;
  }
  piecewise<sink_type> out_;
  std::string quoted_;
  bool first_ = true;
};

class html_writer {
 public:
  html_writer(html_data::sink_type& sink, std::span<const html_plan> plans, const html_options& options)
      : out_(sink), plans_(plans), options_(options) {
    if (plans.empty()) refuse(error_category::input, "the report has no plan, expected at least one");
    for (const html_plan& p : plans) {
      SHARDWEAVE_EXPECTS(p.graph != nullptr && p.order != nullptr && p.line != nullptr);
      SHARDWEAVE_EXPECTS(p.again.empty() || p.again.size() == p.graph->size());
      check_timeline(*p.graph, *p.order, *p.line);
      if (std::ranges::find(graphs_, p.graph) == graphs_.end()) graphs_.push_back(p.graph);
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
    for (const std::string_view piece : html_page_style) out_.raw(piece);
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
    data();
    out_.raw("</script>\n<script>\n");
    for (const std::string_view piece : html_page_script) out_.raw(piece);
    out_.raw("</script>\n</body>\n</html>\n");
    out_.flush();
  }

 private:
  [[nodiscard]] std::vector<std::pair<std::string_view, std::string_view>> parts() const {
    std::vector<std::pair<std::string_view, std::string_view>> all = {
        {"step", "The step"}, {"waits", "What it waits for"}, {"timeline", "Timeline"}, {"memory", "Memory"}};
    if (!options_.placement.empty()) all.emplace_back("placement", "Placement");
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

  // --- data -------------------------------------------------------------------------------------------------
  void data() {
    out_.open('{');
    out_.key("format").text("shardweave.report");
    out_.key("version").number(std::int64_t{1});
    out_.key("bounds").open('[');
    for (const html_bound& b : options_.bounds) {
      out_.open('{');
      out_.key("name").text(b.name);
      out_.key("ns").number(b.time.count());
      out_.close('}');
    }
    out_.close(']');
    out_.key("prices").open('[');
    for (const html_share& p : options_.prices) {
      out_.open('{');
      out_.key("name").text(p.name);
      out_.key("share").share(p.share);
      out_.close('}');
    }
    out_.close(']');
    constexpr std::array works = {critical_work::computation, critical_work::communication, critical_work::packing,
                                  critical_work::unpacking, critical_work::host};
    out_.key("works").open('[');
    for (const critical_work w : works) out_.text(to_string(w));
    out_.close(']');
    constexpr std::array reasons = {critical_reason::start,        critical_reason::dependency,
                                    critical_reason::compute_busy, critical_reason::channel_busy,
                                    critical_reason::wait,         critical_reason::packing,
                                    critical_reason::host_launch};
    out_.key("reasons").open('[');
    for (const critical_reason r : reasons) out_.text(to_string(r));
    out_.close(']');
    out_.key("graphs").open('[');
    for (const task_graph* g : graphs_) graph(*g);
    out_.close(']');
    out_.key("plans").open('[');
    for (const html_plan& p : plans_) plan(p);
    out_.close(']');
    out_.key("placement");
    options_.placement.empty() ? out_.null() : placement();
    out_.close('}');
  }

  /// A name is how many characters, all of them ASCII, it begins with as the one before it does, told by a character
  /// from
  /// '#' on, and the rest.
  void names(const task_graph& g) {
    constexpr std::size_t most = '}' - '#';
    out_.key("names").open('[');
    std::string_view before;
    std::string told;
    for (task_index t = 0; t < g.size(); ++t) {
      const std::string_view name = g.name_of(t);
      std::size_t n = 0;
      while (n < std::min({before.size(), name.size(), most}) && before[n] == name[n] && name[n] >= ' ' &&
             name[n] < '\x7F')
        ++n;
      told = static_cast<char>('#' + static_cast<int>(n));
      out_.text(told += name.substr(n));
      before = name;
    }
    out_.close(']');
  }

  void graph(const task_graph& g) {
    out_.open('{');
    out_.key("name").text(g.name);
    out_.key("tasks").number(g.size());
    names(g);
    numbered_texts texts;
    std::vector<std::size_t> op;
    std::string phases;
    std::vector<task_index> producers_back, collectives;
    std::vector<std::size_t> input_count;
    const std::vector<task_tags> tags = inferred_tags(g);
    for (task_index t = 0; t < g.size(); ++t) {
      op.push_back(texts.number(g.op(t)));
      phases += tags[t].when ? name_of(*tags[t].when).front() : '-';
      if (g.is_collective(t)) collectives.push_back(t);
      input_count.push_back(g.inputs(t).size());
      for (const task_index p : g.inputs(t)) producers_back.push_back(p);
    }
    out_.numbers("op", op, [](std::size_t n) { return n; });
    out_.key("phase").text(phases);
    out_.key("inputs").open('{');
    out_.numbers("count", input_count, [](std::size_t n) { return n; });
    out_.key("back").open('[');
    for (std::size_t t = 0, at = 0; t < input_count.size(); ++t)
      for (std::size_t i = 0; i < input_count[t]; ++i)
        out_.number(static_cast<std::int64_t>(t) - static_cast<std::int64_t>(producers_back[at++]));
    out_.close(']');
    out_.close('}');
    out_.key("collectives").open('{');
    out_.numbers("task", collectives, [](task_index t) { return t; });
    out_.numbers("op", collectives, [&](task_index t) { return texts.number(name_of(g.collective(t).op)); });
    out_.numbers("channel", collectives, [&](task_index t) { return g.collective(t).group; });
    out_.numbers("in", collectives, [&](task_index t) { return g.collective(t).bytes_in.count(); });
    out_.numbers("out", collectives, [&](task_index t) { return g.collective(t).bytes_out.count(); });
    out_.close('}');
    out_.texts("texts", texts.all());
    std::vector<task_index> again;
    for (const html_plan& p : plans_)
      if (p.graph == &g && !p.again.empty() && again.empty())
        for (task_index t = 0; t < g.size(); ++t)
          if (p.again[t] != 0) again.push_back(t);
    out_.numbers("again", again, [](task_index t) { return t; });
    out_.key("channels").open('[');
    for (std::uint32_t c = 0; c <= g.groups().size(); ++c) {
      out_.open('{');
      out_.key("name").text(channel_name(g, c));
      out_.key("ranks").number(c == compute_channel ? std::int64_t{1} : g.groups()[c - 1].size);
      out_.close('}');
    }
    out_.close(']');
    out_.close('}');
  }

  void plan(const html_plan& p) {
    const timeline& line = *p.line;
    out_.open('{');
    out_.key("name").text(p.name);
    out_.key("graph").number(static_cast<std::size_t>(std::ranges::find(graphs_, p.graph) - graphs_.begin()));
    out_.key("totals").open('{');
    out_.key("end_to_end_ns").number(line.end_to_end.count());
    out_.key("compute_ns").number(line.compute.count());
    out_.key("packing_ns").number(line.packing.count());
    out_.key("communication_ns").number(line.communication.count());
    out_.key("exposed_ns").number(line.exposed.count());
    out_.key("tail_ns").number(line.tail.count());
    out_.key("hidden_ns").number(line.hidden.count());
    out_.key("collectives").number(line.collectives);
    out_.key("hidden_count").number(line.hidden_count);
    out_.key("peak_bytes").number(line.peak.count());
    out_.close('}');
    spans(p);
    out_.key("memory");
    line.memory.empty() ? out_.null() : memory(p);
    out_.key("chain");
    if (p.is_simulated && !p.order->order.empty()) {
      const std::vector<critical_step> chain = critical_path(*p.graph, *p.order, line);
      out_.open('{');
      out_.differences("task", chain, [](const critical_step& c) { return c.task; });
      out_.digits("work", chain, [](const critical_step& c) { return c.work; });
      out_.digits("reason", chain, [](const critical_step& c) { return c.reason; });
      out_.numbers("length", chain, [](const critical_step& c) { return (c.end - c.start).count(); });
      out_.close('}');
    } else {
      out_.null();
    }
    buckets(p);
    refusals(p);
    out_.close('}');
  }

  void spans(const html_plan& p) {
    const task_graph& g = *p.graph;
    const std::vector<channel_span> all = channel_spans(g, *p.order, *p.line);
    const std::vector<bool> drawn = drawn_spans(g, all, {options_.most_spans, false, false});
    std::vector<channel_span> shown;
    std::vector<nanoseconds> launched(g.size() + p.order->buckets.size());  // of a bucket: its last member
    std::vector<std::int64_t> queued;
    std::vector<std::size_t> other;
    std::vector<channel_span> stalls;
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const channel_span& x = all[i];
      if (x.kind == span_kind::launch) launched[launch_of(g, x)] = x.start;
      const bool takes_time = x.end > x.start;
      if (x.kind == span_kind::wait && takes_time && g.completes(x.task) != no_index) stalls.push_back(x);
      if (!drawn[i]) {
        left_out += takes_time ? 1U : 0U;
        continue;
      }
      if (x.kind == span_kind::collective) queued.push_back((x.start - launched[launch_of(g, x)]).count());
      if (x.kind == span_kind::work && g.kind(x.task) != task_kind::compute) other.push_back(shown.size());
      shown.push_back(x);
    }
    const auto bucket_number = [](const channel_span& x) {
      return x.bucket == no_index ? std::int64_t{0} : std::int64_t{x.bucket} + 1;
    };
    out_.key("spans").open('{');
    std::vector<channel_span> communicating;
    std::ranges::copy_if(shown, std::back_inserter(communicating),
                         [](const channel_span& x) { return x.kind != span_kind::work; });
    out_.digits("kind", shown, [](const channel_span& x) { return x.kind; });
    out_.differences("task", shown, [](const channel_span& x) { return x.task; });
    out_.numbers("bucket", communicating, bucket_number);
    out_.differences("start", shown, [](const channel_span& x) { return x.start.count(); });
    out_.numbers("length", shown, [](const channel_span& x) { return (x.end - x.start).count(); });
    out_.numbers("queued", queued, [](std::int64_t ns) { return ns; });
    out_.differences("other", other, [](std::size_t i) { return i; });
    out_.key("left_out").number(left_out);
    out_.close('}');
    out_.key("stalls").open('{');
    out_.differences("wait", stalls, [](const channel_span& x) { return x.task; });
    out_.differences("collective", stalls, [&](const channel_span& x) {
      return x.bucket == no_index ? g.completes(x.task) : p.order->buckets[x.bucket].members.front();
    });
    out_.numbers("bucket", stalls, bucket_number);
    out_.numbers("length", stalls, [](const channel_span& x) { return (x.end - x.start).count(); });
    out_.close('}');
  }

  void memory(const html_plan& p) {
    const std::vector<memory_sample>& all = p.line->memory;
    const std::size_t step = 1 + (all.size() - 1) / std::max<std::size_t>(options_.most_samples, 1);
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < all.size(); i += step) {
      std::size_t most = i;
      for (std::size_t j = i; j < std::min(all.size(), i + step); ++j)
        if (all[j].live > all[most].live) most = j;
      shown.push_back(most);
    }
    const memory_by_part by_part = memory_parts(*p.graph, *p.order, p.again);
    out_.open('{');
    out_.differences("time", shown, [&](std::size_t i) { return all[i].time.count(); });
    out_.differences("live", shown, [&](std::size_t i) { return all[i].live.count(); });
    out_.key("parts").open('[');
    for (std::size_t part = 0; part < memory_part_count; ++part) {
      const auto held = [&](std::size_t i) { return by_part.held[i][part]; };
      if (std::ranges::all_of(shown, [&](std::size_t i) { return held(i) == bytes(); })) continue;
      out_.open('{');
      out_.key("name").text(name_of(static_cast<memory_part>(part)));
      out_.key("number").number(part);
      out_.differences("held", shown, [&](std::size_t i) { return held(i).count(); });
      out_.close('}');
    }
    out_.close(']');
    if (!by_part.on_host.empty())
      out_.differences("host", shown, [&](std::size_t i) { return by_part.on_host[i].count(); });
    out_.close('}');
  }

  void buckets(const html_plan& p) {
    out_.key("buckets").open('[');
    for (const bucket& b : p.order->buckets) {
      nanoseconds alone;
      for (const task_index t : b.members) alone += p.graph->duration(t);
      out_.open('{');
      out_.numbers("members", b.members, [](task_index t) { return t; });
      out_.key("channel").number(b.channel);
      out_.key("bytes_in").number(b.bytes_in.count());
      out_.key("bytes_out").number(b.bytes_out.count());
      out_.key("alone_ns").number(alone.count());
      out_.key("coalesced").number(std::int64_t{b.coalesced});
      out_.close('}');
    }
    out_.close(']');
  }

  void refusals(const html_plan& p) {
    std::map<decision_reason, std::vector<const decision*>> reasons;
    for (const decision& d : p.order->decisions) reasons[d.reason].push_back(&d);
    out_.key("refused").open('[');
    for (const auto& [reason, all] : reasons) {
      std::vector<task_index> subjects;
      for (const decision* d : all) subjects.push_back(d->subject);
      std::ranges::sort(subjects);
      const auto distinct = std::unique(subjects.begin(), subjects.end()) - subjects.begin();
      out_.open('{');
      out_.key("reason").text(to_string(reason));
      out_.key("meaning").text(reason_text(reason));
      out_.key("times").number(all.size());
      out_.key("collectives").number(static_cast<std::int64_t>(distinct));
      out_.key("items").open('[');
      for (std::size_t i = 0; i < std::min(all.size(), options_.most_refusals); ++i) {
        const decision& d = *all[i];
        if (d.subject >= p.graph->size()) continue;
        out_.open('[');
        out_.number(d.subject);
        out_.number(d.other >= p.graph->size() ? std::int64_t{-1} : std::int64_t{d.other});
        out_.number(d.found);
        out_.number(d.limit);
        out_.close(']');
      }
      out_.close(']');
      out_.close('}');
    }
    out_.close(']');
  }

  void placement() {
    numbered_texts kinds, parts, layers, labels, sizes;
    const std::vector<placed_value>& all = options_.placement;
    out_.open('{');
    out_.key("rows").open('{');
    out_.numbers("kind", all, [&](const placed_value& v) { return kinds.number(v.kind); });
    out_.numbers("part", all, [&](const placed_value& v) { return parts.number(v.part); });
    out_.numbers("layer", all, [&](const placed_value& v) { return layers.number(v.layer); });
    out_.numbers("label", all, [&](const placed_value& v) { return labels.number(v.label); });
    out_.numbers("size", all,
                 [&](const placed_value& v) { return sizes.number(std::to_string(v.per_device.count())); });
    out_.close('}');
    out_.texts("kinds", kinds.all());
    out_.texts("parts", parts.all());
    out_.texts("layers", layers.all());
    out_.texts("labels", labels.all());
    out_.texts("sizes", sizes.all());
    out_.close('}');
  }

  html_data out_;
  std::span<const html_plan> plans_;
  const html_options& options_;
  std::vector<const task_graph*> graphs_;
};
}  // namespace detail

SHARDWEAVE_INLINE void detail::write_html_report(const std::function<void(std::string_view)>& sink,
                                                 std::span<const html_plan> plans, const html_options& options) {
  detail::html_writer(sink, plans, options).write();
}

}  // namespace v0
}  // namespace shardweave
