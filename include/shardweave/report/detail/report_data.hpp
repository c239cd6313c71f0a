#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/detail/html_data.hpp>
#include <shardweave/report/detail/trace_slices.hpp>
#include <shardweave/report/html_plan.hpp>
#include <shardweave/report/memory_parts.hpp>
#include <shardweave/report/reason_text.hpp>
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
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

/// \file
/// Plans as the data of a report.

namespace shardweave::inline v0::detail {

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

/// Whether a report shows how the values of a plan are placed.
[[nodiscard]] inline bool is_placed(const html_plan& p) { return !p.placement.empty(); }

/// Writes plans as the data that the page's script reads: tasks and channels of each graph; spans, stalls, memory, the
/// chain that makes the step, buckets and refusals of each plan.
class report_data {
 public:
  /// \pre all outlive this object, and the plans are as `write_html` asks for
  report_data(html_data& out, std::span<const html_plan> plans, const html_options& options)
      : out_(out), plans_(plans), options_(options) {
    for (const html_plan& p : plans)
      if (std::ranges::find(graphs_, p.graph) == graphs_.end()) graphs_.push_back(p.graph);
  }

  void write() {
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
    std::ranges::any_of(plans_, is_placed) ? placements() : out_.null();
    out_.close('}');
  }

 private:
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

  /// Of each plan that has one; what stands in the same rows as in the first of them is not said again.
  void placements() {
    numbered_texts kinds, parts, layers, labels, sizes;
    const auto where = [](const placed_value& v) { return std::tie(v.kind, v.part, v.layer); };
    const html_plan* first = nullptr;
    out_.open('{');
    out_.key("plans").open('[');
    for (const html_plan& p : plans_) {
      const auto& all = p.placement;
      if (!is_placed(p)) continue;
      const bool has_own_rows = first == nullptr || !std::ranges::equal(all, first->placement, {}, where, where);
      out_.open('{');
      out_.key("plan").number(static_cast<std::size_t>(&p - plans_.data()));
      out_.key("rows").open('{');
      if (has_own_rows) {
        out_.numbers("kind", all, [&](const placed_value& v) { return kinds.number(v.kind); });
        out_.numbers("part", all, [&](const placed_value& v) { return parts.number(v.part); });
        out_.numbers("layer", all, [&](const placed_value& v) { return layers.number(v.layer); });
      }
      out_.numbers("label", all, [&](const placed_value& v) { return labels.number(v.label); });
      out_.numbers("size", all,
                   [&](const placed_value& v) { return sizes.number(std::to_string(v.per_device.count())); });
      out_.close('}');
      out_.close('}');
      if (first == nullptr) first = &p;
    }
    out_.close(']');
    out_.texts("kinds", kinds.all());
    out_.texts("parts", parts.all());
    out_.texts("layers", layers.all());
    out_.texts("labels", labels.all());
    out_.texts("sizes", sizes.all());
    out_.close('}');
  }

  html_data& out_;
  std::span<const html_plan> plans_;
  const html_options& options_;
  std::vector<const task_graph*> graphs_;
};

}  // namespace shardweave::inline v0::detail
