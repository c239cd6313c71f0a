#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/detail/nccl_table.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/cost/nccl_constants.hpp>
#include <shardweave/cost/nccl_explanation.hpp>
#include <shardweave/cost/nccl_filter.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_rule.hpp>
#include <shardweave/cost/nccl_transfers.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// \file
/// NCCL's own cost model, as it is.

namespace shardweave::inline v0 {

/// What a host may set beside the machine.
struct nccl_tuner_options {
  nccl_version version = nccl_version::v2_30;
  nccl_filter filter = {};
  nccl_rules rules = {};                        ///< of a tuner file; where one matches, it chooses
  std::vector<nccl_known_layout> layouts = {};  ///< channels that are known; closed form where none is
};

namespace detail {

/// The share by which a tree runs slower at this size, as NCCL looks it up: by whole powers of two.
[[nodiscard]] inline double correction_step(const nccl_constants& c, nccl_protocol p, bool nvls_tree,
                                            std::int64_t size) {
  const std::int64_t lines = size / 64;
  if (lines < 1) return 1;
  const auto at = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(lines)) - 1);
  const std::size_t known = nvls_tree ? 24 : 23;
  return at < known ? c.tree_correction[static_cast<std::size_t>(p)][at] : 1;
}

}  // namespace detail

/// The estimate by which NCCL chooses algorithm and protocol, for one operation on plain buffers: latencies and
/// bandwidths of a release over the channels that its search finds (nccl_layout_of). Exact, so it keeps the
/// original's jumps: trees are corrected in steps of powers of two, the latency of rings over nodes jumps by 1.4,
/// and it need not grow with the size. For planning take `nccl_smooth`.
///
/// It knows no launch, no contention and only the network latency that is declared: a model of kernels, not of
/// calls. An all_to_all and a shift, which NCCL does not price, are answered by `nccl_transfers`.
///
/// Made once per machine (time and memory: about 1 kB per device of a node); copies share it. An estimate costs the
/// same for every group.
///
/// Source: NCCL, releases 2.20.3 to 2.30.7: formulas and figures only.
class nccl_tuner {
 public:
  /// \throws error (input) as `nccl_node::validate`, like the other constructors
  explicit nccl_tuner(const device_profile& device, nccl_tuner_options options = {})
      : nccl_tuner(nccl_node_of(device), std::move(options)) {}
  explicit nccl_tuner(nccl_node node, nccl_tuner_options options = {})
      : nccl_tuner(std::move(node), nccl_constants::of(options.version), std::move(options)) {}
  /// With constants of a host's own; `options.version` is not looked at.
  nccl_tuner(nccl_node node, const nccl_constants& constants, nccl_tuner_options options)
      : table_(std::make_shared<const detail::nccl_table>(std::move(node), constants, options.filter, options.layouts)),
        transfers_(table_->node()),
        rules_(options.rules.empty() ? nullptr : std::make_shared<const nccl_rules>(std::move(options.rules))) {}

  [[nodiscard]] const nccl_node& node() const { return table_->node(); }
  [[nodiscard]] const nccl_constants& constants() const { return table_->constants(); }
  /// \pre the group fits the machine
  [[nodiscard]] const nccl_layout& layout(group_shape group) const { return table_->layout(group); }

  /// \throws error (input) if the machine cannot hold the group, or the filter leaves no way
  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    table_->check(group);
    if (group.ranks() == 1) return {};
    if (!nccl_operation_of(kind)) return transfers_(kind, size, group, false);
    const question q(*table_, size, group);
    if (rules_) {
      const nccl_rule* rule = first_match(*rules_, *nccl_operation_of(kind), size.count(), group.nodes, group.ranks());
      if (rule != nullptr)
        for (const detail::nccl_way& way : table_->ways(kind, group))
          if (way.algorithm == rule->algorithm && way.protocol == rule->protocol) return answer(q, way, rule->channels);
    }
    const detail::nccl_way* best = nullptr;
    double least = 0;
    for (const detail::nccl_way& way : table_->ways(kind, group)) {
      const double time = q.latency(way) + q.transfer(way);
      if (best != nullptr && time >= least) continue;
      best = &way;
      least = time;
    }
    if (best == nullptr) refuse_none(kind);
    return answer(q, *best, -1);
  }

  /// All candidates with their times. Complexity: that of some twenty estimates.
  /// \throws error as `estimate` does
  [[nodiscard]] nccl_explanation explain(collective kind, bytes size, group_shape group) const {
    nccl_explanation e = prepare(kind, size, group);
    e.estimate = estimate(kind, size, group);
    if (!nccl_operation_of(kind) || group.ranks() == 1) return e;
    const question q(*table_, size, group);
    for (nccl_candidate& c : e.candidates)
      if (const detail::nccl_way* way = find(kind, group, c)) {
        c.latency_us = q.latency(*way);
        c.time_us = c.latency_us + q.transfer(*way);
        c.bandwidth = 1e-3 / (way->time_per_byte(q.left) / q.correction(*way));
        c.channels = way->channels_for(q.bytes_asked, q.ranks);
      }
    mark_chosen(e);
    const bool ruled =
        rules_ && first_match(*rules_, *nccl_operation_of(kind), size.count(), group.nodes, group.ranks()) != nullptr;
    if (ruled) e.note = "a rule of the tuner file matches";
    return e;
  }

  /// Latency in microseconds and bandwidth in GB/s of one algorithm and protocol, as NCCL's tuning log prints them;
  /// both 0 where there is no such way.
  /// \throws error (input) if the machine cannot hold the group
  [[nodiscard]] std::pair<double, double> logged(collective kind, group_shape group, nccl_algorithm a,
                                                 nccl_protocol p) const {
    table_->check(group);
    if (group.ranks() == 1 || !nccl_operation_of(kind)) return {0, 0};
    nccl_candidate c;
    c.algorithm = a;
    c.protocol = p;
    const detail::nccl_way* way = find(kind, group, c);
    if (way == nullptr) return {0, 0};
    const question q(*table_, bytes(0), group);
    return {way->latency(q.nodes, q.doublings), 1e-3 / way->time_per_byte(q.left)};
  }

 private:
  friend class nccl_smooth;

  /// What the times of all ways of one question have in common.
  struct question {
    question(const detail::nccl_table& t, bytes size, group_shape group)
        : table(t),
          count(size.count()),
          bytes_asked(static_cast<double>(size.count())),
          ranks(static_cast<double>(group.ranks())),
          nodes(static_cast<double>(group.nodes)),
          doublings(detail::doublings_of(group.nodes)),
          left((ranks - 1) / ranks),
          channels(t.layout(group).channels) {}

    [[nodiscard]] double latency(const detail::nccl_way& way) const {
      const double plain = way.latency(nodes, doublings);
      // NCCL counts whole bytes per rank and channel
      if (!way.plateau || count / (static_cast<std::int64_t>(channels) * static_cast<std::int64_t>(ranks)) < 64)
        return plain;
      const nccl_constants& c = table.constants();
      return plain * (table.node().compute_capability < 80 ? c.plateau_volta : c.plateau);
    }
    [[nodiscard]] double correction(const detail::nccl_way& way) const {
      if (!way.corrected) return 1;
      return detail::correction_step(table.constants(), way.protocol, way.algorithm == nccl_algorithm::nvls_tree,
                                     count);
    }
    [[nodiscard]] double transfer(const detail::nccl_way& way) const {
      return bytes_asked * way.time_per_byte(left) / correction(way);
    }

    const detail::nccl_table& table;
    std::int64_t count;
    double bytes_asked;
    double ranks;
    double nodes;
    double doublings;
    double left;
    std::int32_t channels;
  };

  [[nodiscard]] static collective_estimate answer(const question& q, const detail::nccl_way& way,
                                                  std::int64_t channels) {
    collective_estimate result;
    result.latency_us = q.latency(way);
    result.bandwidth_us = q.transfer(way);
    result.time_us = result.latency_us + result.bandwidth_us;
    result.channels = channels > 0 ? static_cast<int>(channels) : way.channels_for(q.bytes_asked, q.ranks);
    result.algorithm = name_of(way.algorithm);
    result.protocol = name_of(way.protocol);
    return result;
  }

  [[noreturn]] static void refuse_none(collective kind) {
    refuse(error_category::input,
           "what NCCL may use leaves no way to do an " + std::string(name_of(kind)) + " in this group");
  }

  [[nodiscard]] const detail::nccl_way* find(collective kind, group_shape group, const nccl_candidate& c) const {
    for (const detail::nccl_way& way : table_->ways(kind, group))
      if (way.algorithm == c.algorithm && way.protocol == c.protocol) return &way;
    return nullptr;
  }

  /// The candidates without times, those that no release offers for the collective left out.
  [[nodiscard]] nccl_explanation prepare(collective kind, bytes size, group_shape group) const {
    table_->check(group);
    nccl_explanation e;
    e.kind = kind;
    e.size = size;
    e.group = group;
    e.model = "NCCL " + std::string(name_of(constants().version)) + (node().name.empty() ? "" : ", " + node().name);
    if (group.ranks() == 1) return e;
    if (!nccl_operation_of(kind)) {
      e.note = "NCCL has no price for this: priced as simultaneous sends and receives";
      return e;
    }
    e.layout = table_->layout(group);
    for (std::size_t a = 0; a < nccl_algorithm_count; ++a)
      for (std::size_t p = 0; p < nccl_protocol_count; ++p) {
        nccl_candidate c;
        c.algorithm = static_cast<nccl_algorithm>(a);
        c.protocol = static_cast<nccl_protocol>(p);
        c.absent = table_->absent(kind, group.ranks_per_node, detail::nccl_table::range_of(group.nodes), c.algorithm,
                                  c.protocol);
        const bool never =
            c.absent == "is not made for this collective" || c.absent == "runs with protocol simple only";
        if (never) continue;
        if (c.absent.empty() && find(kind, group, c) == nullptr) c.absent = "has no bandwidth here";
        e.candidates.push_back(c);
      }
    return e;
  }

  static void mark_chosen(nccl_explanation& e) {
    for (std::size_t i = 0; i < e.candidates.size(); ++i)
      if (e.candidates[i].absent.empty() && name_of(e.candidates[i].algorithm) == e.estimate.algorithm &&
          name_of(e.candidates[i].protocol) == e.estimate.protocol)
        e.chosen = i;
  }

  std::shared_ptr<const detail::nccl_table> table_;
  nccl_transfers transfers_;
  std::shared_ptr<const nccl_rules> rules_;
};

static_assert(collective_cost_model<nccl_tuner>);

}  // namespace shardweave::inline v0
