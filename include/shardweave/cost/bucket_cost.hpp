#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>

#include <span>

/// \file
/// What merging collectives into one launch saves, and what it costs.

namespace shardweave::inline v0 {

/// The two sides of a bucket, in microseconds.
struct bucket_trade {
  double apart_us = 0;   ///< one launch per member
  double merged_us = 0;  ///< one launch of all
  double copies_us = 0;  ///< to pack the members before it and to unpack them after it
  [[nodiscard]] double saved_us() const { return apart_us - merged_us - copies_us; }
  [[nodiscard]] bool is_worthwhile() const { return saved_us() > 0; }
};

/// Prices a bucket without overlap: what the launches take one after the other, and together. Packing reads and writes
/// every byte of the inputs once, unpacking every byte of the outputs; on an all-gather or reduce-scatter the smaller
/// side holds a rank's share.
/// \param sizes   of the members, as `collective_cost_model` counts them
/// \param memory_bandwidth  GB/s (10^9) of device memory that a copy reaches; 0 = no copies are needed
template <class Model>
[[nodiscard]] bucket_trade price_bucket(const Model& model, collective kind, std::span<const bytes> sizes,
                                        group_shape group, double memory_bandwidth) {
  bucket_trade trade;
  bytes total{};
  for (const bytes size : sizes) {
    trade.apart_us += detail::estimate_by(model, kind, size, group).time_us;
    total += size;
  }
  trade.merged_us = detail::estimate_by(model, kind, total, group).time_us;
  if (memory_bandwidth > 0 && sizes.size() > 1) {
    const bool has_shares = kind == collective::all_gather || kind == collective::reduce_scatter;
    const double sides = 1 + (has_shares ? 1 / static_cast<double>(group.ranks()) : 1);
    trade.copies_us = 2 * sides * static_cast<double>(total.count()) / (1e3 * memory_bandwidth);
  }
  return trade;
}

/// How many times longer a collective of `total` bytes takes when it is cut into buckets of `bucket` bytes, the last of
/// them smaller where it does not divide, without overlap and without copies.
/// \pre total and bucket are positive
template <class Model>
[[nodiscard]] double bucketing_factor(const Model& model, collective kind, bytes total, bytes bucket,
                                      group_shape group) {
  const double whole = detail::estimate_by(model, kind, total, group).time_us;
  if (!(whole > 0)) return 1;
  const auto full = total / bucket;
  const bytes rest = total - bucket * full;
  double sum = static_cast<double>(full) * detail::estimate_by(model, kind, bucket, group).time_us;
  if (rest.count() > 0) sum += detail::estimate_by(model, kind, rest, group).time_us;
  return sum / whole;
}

}  // namespace shardweave::inline v0
