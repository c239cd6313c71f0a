#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/io/write_placement.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/step/work_table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What the step of a placement takes, as field `work` of a file of format `shardweave.placement`, and certificates of
/// it.

namespace shardweave::inline v0 {
namespace detail {

/// Tables of work are written row by row, each once.
inline void write_work(json_writer& out, const step_work& work) {
  std::vector<std::pair<const work_table*, const std::vector<double>*>> matrices;
  const auto number_of = [&](const work_table& t, const std::vector<double>& amounts) {
    matrices.emplace_back(&t, &amounts);
    return matrices.size() - 1;
  };
  out.line().key("work").begin_object().member("channels", work.channels);
  if (!work.limits.empty()) out.list("limits", work.limits);
  out.line().key("times").begin_list();
  for (const auto& list : work.times) out.values(list);
  out.end_list().line().list("vertices", work.times_of);
  out.line().key("tables").begin_list();
  for (const work_table& t : work.tables) {
    const auto write_loads = [&](const std::vector<std::vector<double>>& loads) {
      out.begin_list();
      for (const auto& load : loads) load.empty() ? out.null() : out.value(number_of(t, load));
      out.end_list();
    };
    out.line().begin_object().key("loads");
    write_loads(t.loads);
    if (!t.otherwise.empty()) {
      out.key("otherwise").begin_list();
      for (const auto& loads : t.otherwise) write_loads(loads);
      out.end_list();
    }
    if (!t.chains.empty()) out.member("chain", number_of(t, t.chains));
    out.end_object();
  }
  out.end_list().line().key("matrices").begin_list();
  for (const auto& [t, amounts] : matrices) {
    out.line().begin_list();
    for (const std::uint32_t i : t->row_class)
      for (const std::uint32_t j : t->column_class) out.value((*amounts)[t->class_amount(i, j)]);
    out.end_list();
  }
  out.end_list().line().key("edges").begin_list();
  for (const work_edge& e : work.edges) {
    out.begin_object().member("from", e.from).member("to", e.to).member("tables", e.table).member("share", e.share);
    if (e.since != work_edge::no_vertex) out.member("since", e.since);
    out.end_object();
  }
  out.end_list();
  if (!work.late.empty()) {
    out.line().key("late").begin_list();
    for (const late_work& l : work.late)
      out.line().begin_object().member("edge", l.edge).list("vertices", l.vertices).end_object();
    out.end_list();
  }
  out.end_object();
}

class work_reader {
 public:
  [[nodiscard]] json_shape shape() {
    const auto matrices = [](std::vector<std::optional<std::uint32_t>>& to) {
      return json_value("a matrix or null", [&to](const json_scalar& s) {
        to.push_back(json_number_of<std::uint32_t>(s));
        return to.back().has_value() || s.type == json_scalar::kind::null;
      });
    };
    auto otherwise = json_list(json_list(matrices(way_)), [this] {
      numbers_.otherwise.push_back(std::exchange(way_, {}));
      return std::string();
    });
    auto table = json_object({json_required("loads", json_list(matrices(numbers_.loads))),
                              json_optional("otherwise", std::move(otherwise)),
                              json_optional("chain", json_number(numbers_.chain))});
    auto edge = json_object({json_required("from", json_number(edge_.from)), json_required("to", json_number(edge_.to)),
                             json_required("tables", json_number(edge_.table)),
                             json_required("share", json_number(edge_.share)),
                             json_optional("since", json_index(edge_.since))});
    auto late = json_object(
        {json_required("edge", json_number(late_.edge)), json_required("vertices", json_numbers(late_.vertices))});
    const auto lists = [](std::vector<double>& one, std::vector<std::vector<double>>& all) {
      return json_list(json_numbers(one), [&one, &all] {
        all.push_back(one);
        return std::string();
      });
    };
    return json_object(
        {json_required("channels", json_number(work_.channels)), json_optional("limits", json_numbers(work_.limits)),
         json_required("times", lists(times_, work_.times)), json_required("vertices", json_numbers(work_.times_of)),
         json_required("tables", json_items(numbers_, tables_, std::move(table))),
         json_required("matrices", lists(entries_, matrices_)),
         json_required("edges", json_items(edge_, work_.edges, std::move(edge))),
         json_optional("late", json_items(late_, work_.late, std::move(late)))});
  }

  /// \throws error (input) for numbers and sizes that do not fit together
  [[nodiscard]] step_work finish(const placement_description<double>& d) {
    const auto refuse_work = [](const std::string& what) { refuse(error_category::input, "work: " + what); };
    if (work_.limits.size() >= work_.channels)
      refuse_work(std::to_string(work_.limits.size()) + " limits for " + std::to_string(work_.channels) +
                  " channels, one of which is the compute stream");
    for (const double limit : work_.limits)
      if (!std::isfinite(limit)) refuse_work("a limit is not a number");
    for (const auto* lists : {&work_.times, &matrices_})
      for (const auto& list : *lists)
        if (!std::all_of(list.begin(), list.end(), [](double t) { return t >= 0 && std::isfinite(t); }))
          refuse_work("a time is negative or not a number");
    for (std::size_t v = 0; v < work_.times_of.size(); ++v)
      if (work_.times_of[v] >= work_.times.size())
        refuse_work("vertex " + std::to_string(v) + " names times " + std::to_string(work_.times_of[v]) + " of " +
                    std::to_string(work_.times.size()));
    std::vector<std::pair<std::size_t, std::size_t>> size(tables_.size());
    for (std::size_t e = 0; e < work_.edges.size(); ++e) {
      const work_edge& edge = work_.edges[e];
      const std::string who = "edge " + std::to_string(e);
      const bool has_since = edge.since == work_edge::no_vertex || edge.since < d.vertices.size();
      if (edge.from >= d.vertices.size() || edge.to >= d.vertices.size() || edge.table >= tables_.size() || !has_since)
        refuse_work(who + " names a vertex or tables that are not there");
      const std::pair found(d.vertices[edge.from].compute.size(), d.vertices[edge.to].compute.size());
      if (size[edge.table] != found && size[edge.table] != std::pair<std::size_t, std::size_t>())
        refuse_work(who + " has tables of another size");
      size[edge.table] = found;
      work_.shares = std::max(work_.shares, std::size_t{edge.share} + 1);
    }
    if (work_.shares > work_.edges.size()) refuse_work("a share's number is above that of the last edge");
    std::vector<bool> is_late(d.vertices.size()), has_late(work_.edges.size());
    const auto repeats = [](std::vector<bool>& seen, std::uint32_t at) {
      if (at >= seen.size() || seen[at]) return true;
      seen[at] = true;
      return false;
    };
    for (std::size_t l = 0; l < work_.late.size(); ++l) {
      const auto& [edge, vertices] = work_.late[l];
      if (repeats(has_late, edge) || !std::ranges::is_sorted(vertices) ||
          std::ranges::any_of(vertices, [&](std::uint32_t v) { return repeats(is_late, v); }))
        refuse_work("late " + std::to_string(l) +
                    " names an edge or vertices that are not there, are named before, or not in order");
    }
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      const std::string who = "tables " + std::to_string(t);
      const auto [rows, columns] = size[t];
      const auto matrix = [&](const std::optional<std::uint32_t>& m) -> const std::vector<double>* {
        if (!m) return nullptr;
        if (*m >= matrices_.size() || matrices_[*m].size() != rows * columns)
          refuse_work(who + " name matrix " + std::to_string(*m) + ", which is not there or of another size");
        return &matrices_[*m];
      };
      const auto loads_of = [&](const std::vector<std::optional<std::uint32_t>>& numbers) {
        if (numbers.size() != work_.channels)
          refuse_work(who + " have " + std::to_string(numbers.size()) + " loads for " + std::to_string(work_.channels) +
                      " channels");
        std::vector<const std::vector<double>*> loads;
        for (const auto& m : numbers) loads.push_back(matrix(m));
        return loads;
      };
      const auto loads = loads_of(tables_[t].loads);
      std::vector<std::vector<const std::vector<double>*>> otherwise;
      for (const auto& numbers : tables_[t].otherwise) otherwise.push_back(loads_of(numbers));
      const std::vector<double>* chains = matrix(tables_[t].chain);
      std::vector<std::uint32_t> all_rows(rows), all_columns(columns);
      std::iota(all_rows.begin(), all_rows.end(), 0U);
      std::iota(all_columns.begin(), all_columns.end(), 0U);
      const std::vector<double> nothing(work_.channels);
      edge_work taken{.loads = nothing, .otherwise = {otherwise.size(), nothing}};
      work_.tables.push_back(work_table_builder(work_.channels, who)
                                 .table(all_rows, all_columns, [&, width = columns](std::uint32_t a, std::uint32_t b) {
                                   const std::size_t at = a * width + b;
                                   const auto take = [&](auto& to, const auto& from) {
                                     for (std::size_t c = 0; c < from.size(); ++c)
                                       if (from[c] != nullptr) to[c] = (*from[c])[at];
                                   };
                                   take(taken.loads, loads);
                                   for (std::size_t w = 0; w < otherwise.size(); ++w)
                                     take(taken.otherwise[w], otherwise[w]);
                                   taken.chain = chains == nullptr ? 0 : (*chains)[at];
                                   return taken;
                                 }));
    }
    return std::move(work_);
  }

 private:
  struct table_numbers {
    std::vector<std::optional<std::uint32_t>> loads;
    std::vector<std::vector<std::optional<std::uint32_t>>> otherwise;
    std::optional<std::uint32_t> chain;
  };
  step_work work_;
  std::vector<table_numbers> tables_;
  std::vector<std::vector<double>> matrices_;
  table_numbers numbers_;
  std::vector<std::optional<std::uint32_t>> way_;
  work_edge edge_;
  late_work late_;
  std::vector<double> times_, entries_;
};

}  // namespace detail

/// A placement problem, and what plans of it take.
struct step_problem {
  placement_description<double> description;
  std::optional<step_work> work = std::nullopt;
};

/// Writes a placement problem with the work of its step.
inline void write_step_problem(json_writer& out, const placement_description<double>& d, const step_work& work) {
  write_placement(out, d, [&work](json_writer& more) { detail::write_work(more, work); });
}
inline void write_step_problem(const std::filesystem::path& path, const placement_description<double>& d,
                               const step_work& work) {
  write_json_file(path, [&](json_writer& out) { write_step_problem(out, d, work); });
}

/// Reads a placement problem and its field `work`, if it has one.
/// \throws error as `read_placement` does
[[nodiscard]] inline step_problem read_step_problem(text_source input, const read_options& options = {}) {
  detail::work_reader reader;
  bool has_work = false;
  json_shape shape = reader.shape();
  shape.begin = [&] { has_work = true; };
  step_problem result{.description = detail::placement_reader().read(input, options, std::move(shape))};
  if (has_work) detail::with_name_of(input, [&] { result.work = reader.finish(result.description); });
  return result;
}

/// Writes a certificate of the step: that of the placement under prices, with the prices before it.
inline void write_certificate(json_writer& out, const step_certificate& c) {
  detail::write_certificate(out, c.placement, "step", [&](json_writer& more) {
    more.line().member("weight_bits", c.weight_bits).line().key("claims").begin_list();
    for (std::size_t r = 0; r < c.claims.size(); ++r) {
      const step_claim& claim = c.claims[r];
      more.line().begin_object();
      if (claim.channel != step_claim::path) more.member("channel", claim.channel);
      if (claim.channel == step_claim::path || claim.has_head) more.member("first", claim.first);
      if (claim.has_head) more.list("head", claim.head).list("later", claim.later);
      if (!claim.waits.empty()) more.list("waits", claim.waits);
      if (claim.price > 0) more.member("price", claim.price).member("held", claim.held);
      more.member("weight", c.weights[r]).list("edges", claim.edges).end_object();
    }
    more.end_list();
  });
}
/// \param stop  as `write_json_file` takes it
inline void write_certificate(const std::filesystem::path& path, const step_certificate& c,
                              const stop_token& stop = {}) {
  write_json_file(
      path, [&](json_writer& out) { write_certificate(out, c); }, stop);
}

/// Reads what `write_certificate` writes of a step. Nothing is checked against a problem.
/// \throws error (format)
[[nodiscard]] inline step_certificate read_step_certificate(text_source input, const read_options& options = {}) {
  step_certificate c;
  step_claim claim;
  std::optional<std::uint32_t> channel, first;
  std::int64_t weight = 0;
  auto one =
      json_object({json_optional("channel", json_number(channel)), json_optional("first", json_number(first)),
                   json_optional("head", json_numbers(claim.head)), json_optional("later", json_numbers(claim.later)),
                   json_optional("waits", json_numbers(claim.waits)), json_optional("price", json_number(claim.price)),
                   json_optional("held", json_number(claim.held)), json_required("weight", json_number(weight)),
                   json_required("edges", json_numbers(claim.edges))},
                  [&]() -> std::string {
                    if (!channel && !first) return "needs channel or first";
                    claim.channel = channel.value_or(step_claim::path);
                    claim.first = first.value_or(0);
                    claim.has_head = channel && first;
                    c.claims.push_back(std::exchange(claim, {}));
                    c.weights.push_back(weight);
                    channel.reset();
                    first.reset();
                    return {};
                  });
  c.placement = detail::read_certificate<double>(
      input, options, "step",
      {json_required("weight_bits", json_number(c.weight_bits)), json_required("claims", json_list(std::move(one)))});
  return c;
}

}  // namespace shardweave::inline v0
