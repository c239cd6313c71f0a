#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/placement_certificate.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The format `shardweave.certificate`, version 1, of placements: why no assignment costs less.

namespace shardweave::inline v0 {
namespace detail {

inline void write_knapsack(json_writer& out, const row_knapsack& k) {
  out.line().begin_object().member("budget", k.budget).member("time", k.time).member("cells", k.cells);
  out.key("members").begin_list();
  for (const row_knapsack::member& one : k.members)
    out.line().begin_object().member("vertex", one.vertex).list("amounts", one.amounts).end_object();
  out.end_list().end_object();
}

inline void write_multipliers(json_writer& out, const placement_multipliers& m) {
  out.line().begin_object().member("message_bits", m.message_bits).member("price_bits", m.price_bits);
  if (m.only_limits) out.member("only_limits", true);
  if (m.savings) out.member("savings", *m.savings);
  out.key("prices").begin_list();
  for (const row_price& p : m.prices)
    out.begin_object().member("budget", p.budget).member("time", p.time).member("price", p.price).end_object();
  out.end_list();
  if (!m.knapsacks.empty()) {
    out.line().key("knapsacks").begin_list();
    for (const row_knapsack& k : m.knapsacks) write_knapsack(out, k);
    out.end_list();
  }
  out.line().key("messages").begin_list();
  for (std::size_t i = 0; i < m.messages.size(); ++i) {
    const moved_cost one = m.messages[i];
    out.line().begin_object().member("from", one.first).member("to", one.second).list("amounts", one.amounts);
    out.end_object();
  }
  out.end_list().end_object();
}

/// The shape of a certificate's file, with variables for what is being read.
class multipliers_reader {
 public:
  [[nodiscard]] json_shape shape(std::vector<placement_multipliers>& into) {
    auto message = json_object({json_required("from", json_number(message_.first)),
                                json_required("to", json_number(message_.second)),
                                json_required("amounts", json_numbers(amounts_))});
    auto price = json_object({json_required("budget", json_number(price_.budget)),
                              json_optional("time", json_number(price_.time)),
                              json_required("price", json_number(price_.price))});
    auto member = json_object({json_required("vertex", json_number(member_.vertex)),
                               json_required("amounts", json_numbers(member_.amounts))});
    auto knapsack = json_object({json_required("budget", json_number(knapsack_.budget)),
                                 json_optional("time", json_number(knapsack_.time)),
                                 json_required("cells", json_number(knapsack_.cells)),
                                 json_required("members", json_items(member_, knapsack_.members, std::move(member)))});
    auto one = json_object({json_optional("message_bits", json_number(one_.message_bits)),
                            json_optional("price_bits", json_number(one_.price_bits)),
                            json_optional("only_limits", json_flag(one_.only_limits)),
                            json_optional("savings", json_number(one_.savings)),
                            json_optional("prices", json_items(price_, one_.prices, std::move(price))),
                            json_optional("knapsacks", json_items(knapsack_, one_.knapsacks, std::move(knapsack))),
                            json_optional("messages", json_list(std::move(message), [this] {
                                            one_.messages.add({message_.first, message_.second, amounts_});
                                            message_ = {};
                                            return std::string();
                                          }))});
    return json_items(one_, into, std::move(one));
  }

 private:
  placement_multipliers one_;
  moved_cost message_;
  std::vector<std::int64_t> amounts_;
  row_price price_;
  row_knapsack knapsack_;
  row_knapsack::member member_;
};

inline void write_reduction(json_writer& out, const placement_reduction& r) {
  out.line().begin_object().key("rows").begin_list();
  for (const budget_row& row : r.rows)
    out.begin_object().member("budget", row.budget).member("time", row.time).end_object();
  out.end_list().line().key("steps").begin_list();
  for (const auto& step : r.steps) out.values(step);
  out.end_list();
  if (!r.dominated.empty()) {
    out.line().key("dominated").begin_list();
    for (const dominated_strategy& one : r.dominated)
      out.values(std::array{one.step, one.vertex, std::uint32_t{one.removed}, std::uint32_t{one.by}});
    out.end_list();
  }
  out.end_object();
}

template <cost_value Cost>
void write_savings_prices(json_writer& out, const placement_certificate<Cost>& c) {
  out.line().member("overlap", name_of(c.counted));
  if (c.counted == savings_form::windows && c.windows.prefetch != no_position)
    out.member("prefetch", c.windows.prefetch);
  if (c.counted == savings_form::windows && c.windows.every_edge) out.member("every_edge", true);
  out.line().key("savings").begin_list();
  for (const savings_prices& one : c.savings) {
    out.line().begin_object().member("price_bits", one.bits).key("runs").begin_list();
    for (const savings_prices::run& r : one.runs)
      out.begin_object()
          .member("channel", r.channel)
          .member("position", r.position)
          .member("price", r.price)
          .end_object();
    out.end_list().end_object();
  }
  out.end_list();
}

/// \param of    of what the certificate is
/// \param more  writes further fields
template <cost_value Cost, class More>
void write_certificate(json_writer& out, const placement_certificate<Cost>& c, const char* of, More more) {
  out.begin_object().member("format", "shardweave.certificate").member("version", 1).member("of", of);
  out.line().member("problem", c.problem);
  c.infeasible ? out.member("infeasible", true) : out.member("lower_bound", c.lower_bound);
  if (c.cutoff) out.member("cutoff", *c.cutoff);
  more(out);
  if (c.counted != savings_form::off) write_savings_prices(out, c);
  out.line().key("ruled_out").begin_list();
  for (const strategies_ruled_out& r : c.ruled_out) {
    out.line().begin_object().member("vertex", r.vertex).list("strategies", r.strategies);
    out.member("budget", r.budget).member("time", r.time).member("limit", r.of_lower_limit ? "low" : "high");
    out.end_object();
  }
  if (!c.reductions.empty()) {
    out.end_list().line().key("reductions").begin_list();
    for (const placement_reduction& r : c.reductions) write_reduction(out, r);
  }
  out.end_list().line().key("multipliers").begin_list();
  for (const placement_multipliers& m : c.multipliers) write_multipliers(out, m);
  out.end_list().line().key("cases").begin_list();
  for (const placement_case& one : c.cases) {
    out.line().begin_object();
    if (one.reduction) {
      out.member("reduction", *one.reduction).list("cases", one.cases);
    } else if (one.multipliers) {
      out.member("multipliers", *one.multipliers);
      if (!one.elimination_order.empty()) out.list("elimination_order", one.elimination_order);
      if (!one.cases.empty()) out.list("cases", one.cases);
    } else {
      out.member("vertex", one.vertex).key("parts").begin_list();
      for (const auto& part : one.parts) out.values(part);
      out.end_list().list("cases", one.cases);
    }
    out.end_object();
  }
  out.end_list().end_object().line();
}

/// \param of_what  the certificate must be
/// \param more     further fields
template <cost_value Cost>
[[nodiscard]] placement_certificate<Cost> read_certificate(text_input& input, const read_options& options,
                                                           const std::string& of_what, std::vector<json_field> more) {
  placement_certificate<Cost> c;
  std::optional<Cost> bound;
  auto of = json_value("\"" + of_what + "\"",
                       [&](const json_scalar& s) { return s.type == json_scalar::kind::text && s.text == of_what; });
  strategies_ruled_out out;
  auto limit = json_value("\"high\" or \"low\"", [&](const json_scalar& s) {
    out.of_lower_limit = s.text == "low";
    return s.type == json_scalar::kind::text && (s.text == "low" || s.text == "high");
  });
  auto ruled_out = json_object(
      {json_required("vertex", json_number(out.vertex)), json_required("strategies", json_numbers(out.strategies)),
       json_required("budget", json_number(out.budget)), json_optional("time", json_number(out.time)),
       json_optional("limit", std::move(limit))});
  multipliers_reader multipliers;
  placement_reduction reduction;
  budget_row row;
  auto rows =
      json_object({json_required("budget", json_number(row.budget)), json_optional("time", json_number(row.time))});
  std::vector<std::uint32_t> step;
  std::vector<std::uint32_t> dominated;
  auto some_reduction = json_object(
      {json_optional("rows", json_items(row, reduction.rows, std::move(rows))),
       json_required("steps", json_list(json_numbers(step),
                                        [&] {
                                          reduction.steps.push_back(step);
                                          return std::string();
                                        })),
       json_optional("dominated", json_list(json_numbers(dominated), [&] {
                       if (dominated.size() != 4)
                         return "has " + std::to_string(dominated.size()) +
                                " numbers, expected a step, a vertex and two strategies";
                       reduction.dominated.push_back({dominated[0], dominated[1], dominated[2], dominated[3]});
                       return std::string();
                     }))});
  placement_case one;
  std::vector<strategy> part;
  bool is_split = false;
  auto parts = json_list(json_numbers(part), [&] {
    one.parts.push_back(part);
    return std::string();
  });
  parts.begin = [&] { is_split = true; };
  auto some_case =
      json_object({json_optional("reduction", json_number(one.reduction)),
                   json_optional("multipliers", json_number(one.multipliers)),
                   json_optional("elimination_order", json_numbers(one.elimination_order)),
                   json_optional("vertex", json_number(one.vertex)), json_optional("parts", std::move(parts)),
                   json_optional("cases", json_numbers(one.cases))},
                  [&] {
                    const int kinds =
                        (one.reduction ? 1 : 0) + (one.multipliers ? 1 : 0) + (std::exchange(is_split, false) ? 1 : 0);
                    return std::string(kinds == 1 ? "" : "needs one of reduction, multipliers and parts");
                  });
  auto form = json_value("\"windows\", \"strict\", \"inclusive\" or \"inclusive-twice\"", [&](const json_scalar& s) {
    for (const savings_form known :
         {savings_form::windows, savings_form::strict, savings_form::inclusive, savings_form::inclusive_twice})
      if (s.type == json_scalar::kind::text && s.text == name_of(known)) c.counted = known;
    return c.counted != savings_form::off;
  });
  savings_prices prices;
  savings_prices::run run;
  auto runs = json_object({json_optional("channel", json_number(run.channel)),
                           json_required("position", json_number(run.position)),
                           json_required("price", json_number(run.price))});
  auto some_prices = json_object({json_optional("price_bits", json_number(prices.bits)),
                                  json_required("runs", json_items(run, prices.runs, std::move(runs)))});
  auto fields = json_header("shardweave.certificate", 1);
  for (json_field field :
       {json_required("of", std::move(of)), json_optional("problem", json_text(c.problem)),
        json_optional("lower_bound", json_number(bound)), json_optional("cutoff", json_number(c.cutoff)),
        json_optional("infeasible", json_flag(c.infeasible)), json_optional("overlap", std::move(form)),
        json_optional("prefetch", json_number(c.windows.prefetch)),
        json_optional("every_edge", json_flag(c.windows.every_edge)),
        json_optional("savings", json_items(prices, c.savings, std::move(some_prices))),
        json_optional("ruled_out", json_items(out, c.ruled_out, std::move(ruled_out))),
        json_optional("reductions", json_items(reduction, c.reductions, std::move(some_reduction))),
        json_required("multipliers", multipliers.shape(c.multipliers)),
        json_required("cases", json_items(one, c.cases, std::move(some_case)))})
    fields.push_back(std::move(field));
  for (json_field& field : more) fields.push_back(std::move(field));
  read_json(input,
            json_object(std::move(fields),
                        [&] {
                          return std::string(
                              bound.has_value() != c.infeasible ? "" : "needs lower_bound or infeasible, and not both");
                        }),
            options);
  if (bound) c.lower_bound = *bound;
  return c;
}

}  // namespace detail

/// Of what a certificate is: "placement", "step" or what else its file says. Reads no further than it must.
/// \throws error (format) for text that is no certificate
[[nodiscard]] inline std::string certificate_subject(text_input& input) {
  std::string subject;
  bool known = false;
  auto of = json_value("a string", [&](const json_scalar& s) {
    known = s.type == json_scalar::kind::text;
    if (known) subject = s.text;
    return known;
  });
  read_json(input, json_object({json_optional("of", std::move(of))}), {}, &known);
  if (!known) refuse(error_category::format, input.name() + ": is no certificate: it has no field 'of'");
  return subject;
}

/// Writes a certificate. Equal ones give equal files.
template <cost_value Cost>
void write_certificate(json_writer& out, const placement_certificate<Cost>& c) {
  detail::write_certificate(out, c, "placement", [](json_writer&) {});
}
/// \param stop  as `write_json_file` takes it
template <cost_value Cost>
void write_certificate(const std::filesystem::path& path, const placement_certificate<Cost>& c,
                       const stop_token& stop = {}) {
  write_json_file(
      path, [&](json_writer& out) { write_certificate(out, c); }, stop);
}

/// Reads what `write_certificate` writes. Nothing is checked against a problem: `check_certificate` does that.
/// \throws error (format)
template <cost_value Cost>
[[nodiscard]] placement_certificate<Cost> read_placement_certificate(text_source input,
                                                                     const read_options& options = {}) {
  return detail::read_certificate<Cost>(input, options, "placement", {});
}

}  // namespace shardweave::inline v0
