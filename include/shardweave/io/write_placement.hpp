#pragma once

#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/placement/description.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

/// \file
/// Writes placement problems in the library's own format, `shardweave.placement` version 1.

namespace shardweave::inline v0 {
namespace detail {

template <cost_value Cost>
void write_costs(json_writer& out, const Cost cost) {
  is_forbidden(cost) ? out.null() : out.value(cost);
}

/// One number per vertex that is tied; ties that share a vertex are one. Numbered by first vertex.
inline std::vector<std::optional<std::uint32_t>> tie_numbers(std::size_t vertices, const std::vector<tie>& ties) {
  const std::vector<std::uint32_t> leader = tie_leaders(vertices, ties);
  std::vector<bool> tied(vertices);
  for (const tie& t : ties)
    for (const std::uint32_t v : t.vertices) tied[v] = true;
  std::vector<std::optional<std::uint32_t>> number(vertices);
  std::uint32_t next = 0;
  for (std::uint32_t v = 0; v < vertices; ++v)
    if (tied[v]) number[v] = leader[v] == v ? next++ : *number[leader[v]];
  return number;
}

template <cost_value Cost>
void write_vertices(json_writer& out, const placement_description<Cost>& d) {
  const auto tie_of = tie_numbers(d.vertices.size(), d.constraints.ties);
  out.line().key("vertices").begin_list();
  for (std::size_t v = 0; v < d.vertices.size(); ++v) {
    const auto& vertex = d.vertices[v];
    out.line()
        .begin_object()
        .member("name", vertex.name)
        .text_if_any("op", vertex.op)
        .text_if_any("phase", vertex.phase);
    if (!vertex.labels.empty()) out.list("labels", vertex.labels);
    out.key("compute").begin_list();
    for (const Cost c : vertex.compute) write_costs(out, c);
    out.end_list();
    if (tie_of[v]) out.member("tie", *tie_of[v]);
    if (!vertex.memory.empty()) out.list("memory", vertex.memory);
    out.end_object();
  }
  out.end_list();
}

template <cost_value Cost>
void write_edges(json_writer& out, const placement_description<Cost>& d) {
  out.line().key("matrices").begin_list();
  for (const auto& table : d.tables) {
    out.line().begin_list();
    for (std::size_t i = 0; i < table->rows(); ++i)
      for (std::size_t j = 0; j < table->columns(); ++j) write_costs(out, (*table)(i, j));
    out.end_list();
  }
  out.end_list().line().key("edges").begin_list();
  for (const described_edge& e : d.edges) {
    out.line().begin_object().member("from", e.from).member("to", e.to).member("slot", e.slot);
    if (e.communication != no_table) out.member("communication", e.communication);
    if (e.transition != no_table) out.member("transition", e.transition);
    out.end_object();
  }
  out.end_list();
}

inline void write_constraints(json_writer& out, const constraint_set& constraints) {
  out.line().key("fixed").begin_list();
  for (const fixed_strategies& f : constraints.fixed)
    out.line()
        .begin_object()
        .member("vertex", f.vertex)
        .list("strategies", f.allowed)
        .text_if_any("why", f.why)
        .end_object();
  out.end_list().line().key("pairs").begin_list();
  for (const pairing& p : constraints.pairs) {
    out.line().begin_object().member("a", p.a).member("b", p.b).key("allowed").begin_list();
    for (const auto& [a, b] : p.allowed) out.begin_list().value(a).value(b).end_list();
    out.end_list().text_if_any("why", p.why).end_object();
  }
  out.end_list().line().key("budgets").begin_list();
  for (const budget& b : constraints.budgets) {
    out.line().begin_object().member("name", b.name);
    if (std::isfinite(b.low)) out.member("low", b.low);
    if (std::isfinite(b.high)) out.member("high", b.high);
    out.key("terms").begin_list();
    for (const budget_term& t : b.terms) {
      out.line().begin_object().member("vertex", t.vertex).list("usage", t.usage);
      if (t.live) out.key("live").begin_list().value(t.live->first).value(t.live->end).end_list();
      out.end_object();
    }
    out.end_list().end_object();
  }
  out.end_list();
}

inline void write_overlap(json_writer& out, const std::vector<hideable_edge>& overlap) {
  out.line().key("overlap").begin_object().member("order", "vertex order").key("edges").begin_list();
  for (const hideable_edge& h : overlap)
    for (const hiding way : {hiding::earlier, hiding::later}) {
      const bool has_window = h.direction == hiding::none;
      if (has_window ? way == hiding::later : !allows(h.direction, way)) continue;
      out.line().begin_object().member("edge", h.edge);
      if (has_window) {
        out.key("window").begin_list().value(h.first).value(h.last).end_list();
      } else {
        out.member("direction", way == hiding::earlier ? "earlier" : "later");
      }
      if (h.channel != 0) out.member("channel", h.channel);
      out.end_object();
    }
  out.end_list().end_object();
}

}  // namespace detail

/// Writes a problem so that reading gives it back, number by number; ties that share a vertex come back as one.
template <cost_value Cost>
void write_placement(json_writer& out, const placement_description<Cost>& d,
                     const std::function<void(json_writer&)>& more = {}) {
  out.begin_object().member("format", "shardweave.placement").member("version", 1);
  out.line().member("name", d.name).member("description", d.text).member("unit", d.unit);
  detail::write_vertices(out, d);
  detail::write_edges(out, d);
  detail::write_constraints(out, d.constraints);
  if (!d.overlap.empty()) detail::write_overlap(out, d.overlap);
  if (d.reference) {
    out.line().key("reference").begin_object().member("objective", d.reference->objective);
    if (d.reference->without_savings) out.member("without_savings", *d.reference->without_savings);
    out.member("solver", d.reference->solver).member("proven", d.reference->proven);
    out.list("assignment", d.reference->choice).end_object();
  }
  if (more) more(out);
  out.end_object().line();
}

/// The same to a file, compressed if its name ends in ".gz".
/// \throws error (system)
template <cost_value Cost>
void write_placement(const std::filesystem::path& path, const placement_description<Cost>& d) {
  write_json_file(path, [&](json_writer& out) { write_placement(out, d); });
}

}  // namespace shardweave::inline v0
