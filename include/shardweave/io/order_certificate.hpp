#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/schedule_types.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The format `shardweave.certificate`, version 1, of orders: why no order of a task graph ends earlier.

namespace shardweave::inline v0 {
namespace detail {

inline void write_order_proof(json_writer& out, const order_certificate& c) {
  out.line().begin_object().member("lower_bound", c.lower_bound.count());
  if (c.buckets) {
    out.line().key("buckets").begin_list();
    for (const bucket& b : *c.buckets) {
      out.line().begin_object().list("members", b.members);
      if (b.coalesced) out.member("coalesced", true);
      out.end_object();
    }
    out.end_list();
  }
  for (const bool backward : {false, true}) {
    out.line().key(backward ? "tails" : "heads").begin_list();
    for (const order_join& j : backward ? c.tails : c.heads)
      out.line().begin_object().member("activity", j.activity).list("work", j.work).end_object();
    out.end_list();
  }
  if (!c.together.empty()) out.line().list("together", c.together);
  if (c.row) {
    out.line().key("row").begin_object().member("collective", c.row->collective);
    if (c.row->backward) out.member("backward", true);
    if (!c.row->weights.empty()) out.list("weights", c.row->weights);
    out.line().key("jobs").begin_list();
    for (const order_job& j : c.row->jobs)
      out.line().begin_object().member("collective", j.collective).list("work", j.work).end_object();
    out.end_list().end_object();
  }
  out.end_object();
}

/// The shape of one proof, with variables for what is being read.
class order_proof_reader {
 public:
  [[nodiscard]] json_shape shape(std::vector<order_certificate>& into) {
    auto some_bucket = json_object({json_required("members", json_numbers(bucket_.members)),
                                    json_optional("coalesced", json_flag(bucket_.coalesced))});
    auto buckets = json_items(bucket_, buckets_, std::move(some_bucket));
    buckets.begin = [this] { has_buckets_ = true; };
    auto job = json_object(
        {json_required("collective", json_number(job_.collective)), json_required("work", json_numbers(job_.work))});
    auto row = json_object({json_required("collective", json_number(row_.collective)),
                            json_optional("backward", json_flag(row_.backward)),
                            json_optional("weights", json_numbers(row_.weights)),
                            json_required("jobs", json_items(job_, row_.jobs, std::move(job)))});
    row.begin = [this] { has_row_ = true; };
    return json_list(json_object(
        {json_required("lower_bound", json_number(lower_bound_)), json_optional("buckets", std::move(buckets)),
         json_optional("heads", joins(one_.heads)), json_optional("tails", joins(one_.tails)),
         json_optional("together", json_numbers(one_.together)), json_optional("row", std::move(row))},
        [this, &into]() -> std::string {
          if (has_buckets_) one_.buckets = std::exchange(buckets_, {});
          if (has_row_) one_.row = std::exchange(row_, {});
          has_buckets_ = has_row_ = false;
          one_.lower_bound = nanoseconds(lower_bound_);
          into.push_back(std::exchange(one_, {}));
          return {};
        }));
  }

 private:
  [[nodiscard]] json_shape joins(std::vector<order_join>& into) {
    auto one = json_object(
        {json_required("activity", json_number(join_.activity)), json_required("work", json_numbers(join_.work))});
    return json_items(join_, into, std::move(one));
  }

  order_certificate one_;
  std::vector<bucket> buckets_;
  order_row row_;
  bucket bucket_;
  order_join join_;
  order_job job_;
  std::int64_t lower_bound_ = 0;
  bool has_buckets_ = false, has_row_ = false;
};

}  // namespace detail

/// Writes proofs about one task graph. Equal ones give equal files.
inline void write_certificate(json_writer& out, const order_certificates& all) {
  out.begin_object().member("format", "shardweave.certificate").member("version", 1).member("of", "order");
  out.line().member("problem", all.problem);
  if (all.of_fused_durations) out.member("durations", "fused");
  out.line().key("proofs").begin_list();
  for (const order_certificate& c : all.proofs) detail::write_order_proof(out, c);
  out.end_list().end_object().line();
}
inline void write_certificate(const std::filesystem::path& path, const order_certificates& all) {
  write_json_file(path, [&](json_writer& out) { write_certificate(out, all); });
}

/// Reads what `write_certificate` writes. Nothing is checked against a graph: `check_certificate` does that.
/// \throws error (format)
[[nodiscard]] inline order_certificates read_order_certificates(text_source input, const read_options& options = {}) {
  order_certificates all;
  detail::order_proof_reader proofs;
  auto of = json_value("\"order\"",
                       [](const json_scalar& s) { return s.type == json_scalar::kind::text && s.text == "order"; });
  auto durations = json_value("\"measured\" or \"fused\"", [&](const json_scalar& s) {
    all.of_fused_durations = s.text == "fused";
    return s.type == json_scalar::kind::text && (s.text == "fused" || s.text == "measured");
  });
  auto fields = json_header("shardweave.certificate", 1);
  for (json_field field :
       {json_required("of", std::move(of)), json_optional("problem", json_text(all.problem)),
        json_optional("durations", std::move(durations)), json_required("proofs", proofs.shape(all.proofs))})
    fields.push_back(std::move(field));
  read_json(input, json_object(std::move(fields)), options);
  return all;
}

}  // namespace shardweave::inline v0
