#pragma once

#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/content_hash.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The format `shardweave.schedule`, version 1: an order of a task graph with its buckets.

namespace shardweave::inline v0 {

/// Writes a schedule of the graph.
/// Complexity: linear in the schedule
inline void write_schedule(json_writer& out, const task_graph& g, const schedule& s) {
  out.begin_object().member("format", "shardweave.schedule").member("version", 1);
  out.line().key("graph").begin_object().member("name", g.name).member("hash", content_hash_text(g)).end_object();
  out.line().list("order", s.order).line().key("buckets").begin_list();
  for (const bucket& b : s.buckets) {
    out.line().begin_object().list("members", b.members).member("channel", g.groups()[b.channel].id);
    out.member("bytes_in", b.bytes_in.count()).member("bytes_out", b.bytes_out.count());
    if (b.coalesced) out.member("coalesced", true);
    out.end_object();
  }
  out.end_list().line().key("after").begin_list();
  for (const auto& [earlier, later] : s.after) out.begin_list().value(earlier).value(later).end_list();
  out.end_list().line().key("hides").begin_list();
  for (const hiding_record& h : s.hides)
    out.line()
        .begin_object()
        .member("collective", h.collective)
        .list("behind", h.behind)
        .member("hidden", h.hidden.count())
        .member("exposed", h.exposed.count())
        .end_object();
  out.end_list().line().key("decisions").begin_list();
  for (const decision& d : s.decisions) {
    out.line().begin_object().member("reason", to_string(d.reason)).member("subject", d.subject);
    if (d.other != no_index) out.member("other", d.other);
    if (d.found != 0 || d.limit != 0) out.member("found", d.found).member("limit", d.limit);
    out.end_object();
  }
  out.end_list().line().key("statistics").begin_object();
  for (const statistic& x : s.statistics) out.member(x.name, x.value);
  out.end_object().member("within_memory", s.within_memory).end_object().line();
}

/// The same to a file.
/// \throws error (system)
inline void write_schedule(const std::filesystem::path& path, const task_graph& g, const schedule& s) {
  write_json_file(path, [&](json_writer& out) { write_schedule(out, g, s); });
}

namespace detail {

/// The shape of a schedule file.
class schedule_reader {
 public:
  explicit schedule_reader(const task_graph& g) : graph_(&g) {}

  schedule read(text_input& input, const read_options& options) {
    auto fields = json_header("shardweave.schedule", 1);
    for (json_field field :
         {json_optional("graph", graph()), json_required("order", json_numbers(s_.order)),
          json_optional("buckets", buckets()), json_optional("after", after()), json_optional("hides", hides()),
          json_optional("decisions", decisions()), json_optional("statistics", statistics()),
          json_optional("within_memory", json_flag(s_.within_memory))})
      fields.push_back(std::move(field));
    read_json(input, json_object(std::move(fields)), options);
    return with_name_of(input, [&] {
      validate_schedule(*graph_, s_);
      check_records();
      return std::move(s_);
    });
  }

 private:
  /// What the records say of tasks that are not there nobody could look up.
  void check_records() const {
    const auto check = [&](const char* list, std::size_t i, task_index t) {
      if (t >= graph_->size())
        refuse(error_category::input, std::string(list) + "[" + std::to_string(i) + "] names task " +
                                          std::to_string(t) + ", but there are only " + std::to_string(graph_->size()));
    };
    for (std::size_t i = 0; i < s_.hides.size(); ++i) {
      check("hides", i, s_.hides[i].collective);
      for (const task_index t : s_.hides[i].behind) check("hides", i, t);
    }
    for (std::size_t i = 0; i < s_.decisions.size(); ++i)
      for (const task_index t : {s_.decisions[i].subject, s_.decisions[i].other})
        if (t != no_index) check("decisions", i, t);
  }

  json_shape graph() {
    return json_object({json_optional("name", json_text(name_)), json_optional("hash", json_text(hash_))},
                       [this]() -> std::string {
                         if (hash_.empty() || hash_ == content_hash_text(*graph_)) return {};
                         return "is '" + shortened(name_) + "' with hash " + shortened(hash_) + ", expected '" +
                                graph_->name + "' with hash " + content_hash_text(*graph_);
                       });
  }

  json_shape buckets() {
    auto channel = json_value("the id of a process group", [this](const json_scalar& s) {
      const auto id = integer_of<std::int64_t>(s);
      for (std::uint32_t i = 0; id && i < graph_->groups().size(); ++i)
        if (graph_->groups()[i].id == *id) {
          bucket_.channel = i;
          return true;
        }
      return false;
    });
    auto one = json_object({json_required("members", json_numbers(bucket_.members)),
                            json_required("channel", std::move(channel)),
                            json_required("bytes_in", json_number(bucket_.bytes_in)),
                            json_required("bytes_out", json_number(bucket_.bytes_out)),
                            json_optional("coalesced", json_flag(bucket_.coalesced))});
    return json_items(bucket_, s_.buckets, std::move(one));
  }

  json_shape after() {
    return json_list(json_numbers(two_), [this]() -> std::string {
      if (two_.size() != 2) return "has " + std::to_string(two_.size()) + " numbers, expected 2 tasks: earlier, later";
      s_.after.emplace_back(two_[0], two_[1]);
      return {};
    });
  }

  json_shape hides() {
    auto one = json_object({json_required("collective", json_number(hide_.collective)),
                            json_optional("behind", json_numbers(hide_.behind)),
                            json_optional("hidden", json_number(hide_.hidden)),
                            json_optional("exposed", json_number(hide_.exposed))});
    return json_items(hide_, s_.hides, std::move(one));
  }

  json_shape decisions() {
    auto reason = json_value("the name of a reason", [this](const json_scalar& s) {
      constexpr auto last = static_cast<std::uint8_t>(decision_reason::overlap);
      for (std::uint8_t i = 0; i <= last; ++i)
        if (s.type == json_scalar::kind::text && s.text == to_string(static_cast<decision_reason>(i))) {
          decision_.reason = static_cast<decision_reason>(i);
          return true;
        }
      return false;
    });
    auto one = json_object(
        {json_required("reason", std::move(reason)), json_optional("subject", json_number(decision_.subject)),
         json_optional("other", json_index(decision_.other)), json_optional("found", json_number(decision_.found)),
         json_optional("limit", json_number(decision_.limit))});
    return json_items(decision_, s_.decisions, std::move(one));
  }

  json_shape statistics() {
    return json_map(statistic_name_, json_number_or_null(statistic_), [this] {
      if (statistic_) s_.statistics.push_back({statistic_name_, *statistic_});
      return std::string();
    });
  }

  const task_graph* graph_;
  schedule s_;
  std::string name_, hash_;
  bucket bucket_;
  std::vector<task_index> two_;
  hiding_record hide_;
  decision decision_;
  std::string statistic_name_;
  std::optional<double> statistic_;
};

}  // namespace detail

/// Reads a schedule of the graph. `order` is all that a file needs. Statistics without a number are left out.
/// \throws error (format) for text of another shape or a schedule of another graph, (input) as `validate_schedule`, or
///         where what it says of hiding and decisions names a task that is not there
/// Complexity: O(V + E), and linear in the text
[[nodiscard]] inline schedule read_schedule(text_source input, const task_graph& g, const read_options& options = {}) {
  return detail::schedule_reader(g).read(input, options);
}

}  // namespace shardweave::inline v0
