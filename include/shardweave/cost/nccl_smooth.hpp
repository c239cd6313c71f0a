#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/nccl_ramp.hpp>
#include <shardweave/cost/nccl_tuner.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// NCCL's cost model without its jumps, for planning.

namespace shardweave::inline v0 {

/// What the smooth model adds to NCCL's. A ramp grows evenly with every doubling between its points and is constant
/// outside; a ramp of one share switches it off.
struct nccl_smooth_options {
  nccl_tuner_options tuner = {};
  /// NCCL believes that collectives through the switch's multicast run at full speed at every size. They reach these
  /// shares, by the bytes per rank of a node, counted for links of 370.8 GB/s (faster links need more). Fitted to
  /// nccl-tests all-reduces on 8 H100 of one lab (first point: to 72 GB200); unchanged it leaves 1 to 3 % from 32 MiB
  /// on at another lab's, and gives the shares of 72 GB200 within 4 % from 144 MiB to 8 GiB.
  std::vector<nccl_ramp_point> multicast_ramp{{17, .36}, {19, .51},  {21, .63}, {23, .82},
                                              {25, .90}, {27, .935}, {30, 1}};
  /// The same for LL128 and Simple rings in one node before Hopper, by bytes. Fitted to one table: all-reduces on
  /// 8 A100 with NCCL 2.18.5. Later devices' rings show no such ramp.
  std::vector<nccl_ramp_point> ampere_ring_ramp{{24, .6}, {26, .73}, {28, .89}, {30, .957}, {33, 1}};
  /// Groups that together fill the nodes run at the same time, so that they share network devices where nodes have
  /// fewer of them than devices.
  bool shares_rails = true;
  double launch_us = 0;  ///< added to every collective: what a host measures around a call rather than a kernel
};

/// NCCL's model (`nccl_tuner`) made fit for a solver that compares plans:
///  - the correction of trees is linear between powers of two instead of a step function, and the plateau of rings a
///    ramp over two doublings: no estimate jumps when a size grows by a byte, and none falls;
///  - multicast gets the ramp that measurements show;
///  - an all_reduce costs at least what its reduce_scatter costs;
///  - network devices are shared among groups that run at the same time.
///
/// Never negative, 0 for one rank. Rules of a tuner file would bring jumps back, so they are not followed here.
class nccl_smooth {
 public:
  explicit nccl_smooth(const device_profile& device, nccl_smooth_options options = {})
      : nccl_smooth(nccl_node_of(device), std::move(options)) {}
  /// \throws error (input) as `nccl_node::validate`, if `launch_us` is negative, or if a ramp does not rise, or rises
  ///         so fast that more bytes could take less time
  explicit nccl_smooth(nccl_node node, nccl_smooth_options options = {})
      : exact_(std::move(node), std::move(options.tuner)),
        multicast_(options.multicast_ramp, "multicast"),
        ring_(options.ampere_ring_ramp, "ring"),
        shares_rails_(options.shares_rails),
        launch_us_(options.launch_us) {
    if (!(launch_us_ >= 0)) refuse(error_category::input, "a launch takes less than no time");
    const nccl_node& n = exact_.node();
    older_ = n.generation() <= nccl_generation::ampere;
    has_multicast_ = n.has_multicast && n.generation() >= nccl_generation::hopper;
    for (std::size_t p = 0; p < tree_.size(); ++p) {
      tree_[p].fill(1);
      std::copy(exact_.constants().tree_correction[p].begin(), exact_.constants().tree_correction[p].end(),
                tree_[p].begin());
    }
    per_node_.emplace_back();
    for (std::int64_t ranks = 1; ranks <= n.devices; ++ranks)
      per_node_.push_back({crowd(ranks), detail::doublings_in(static_cast<double>(ranks))});
    link_doublings_ = n.link_bandwidth > 0 ? std::log2(370.8 / n.link_bandwidth) : 0;
    plateau_ = n.compute_capability < 80 ? exact_.constants().plateau_volta : exact_.constants().plateau;
  }

  [[nodiscard]] const nccl_tuner& exact() const { return exact_; }
  [[nodiscard]] const nccl_node& node() const { return exact_.node(); }

  /// \throws error (input) if the machine cannot hold the group, or the filter leaves no way
  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    exact_.table_->check(group);
    if (group.ranks() == 1) return {};
    if (!nccl_operation_of(kind)) {
      collective_estimate result = exact_.transfers_(kind, size, group, shares_rails_);
      return with_launch(result);
    }
    const question q(*this, kind, size, group);
    // first, because it does not need to know what the all_reduce chooses
    const double at_least = kind == collective::all_reduce ? least(q) : 0;
    collective_estimate result = best(q, kind);
    result.time_us = std::max(result.time_us, at_least);
    return with_launch(result);
  }

  /// All candidates with their times; the note tells where the estimate is not the best candidate's time.
  /// \throws error as `estimate` does
  [[nodiscard]] nccl_explanation explain(collective kind, bytes size, group_shape group) const {
    nccl_explanation e = exact_.prepare(kind, size, group);
    e.model += ", smoothed";
    e.estimate = estimate(kind, size, group);
    if (!nccl_operation_of(kind) || group.ranks() == 1) return e;
    const question q(*this, kind, size, group);
    for (nccl_candidate& c : e.candidates)
      if (const detail::nccl_way* way = exact_.find(kind, group, c)) {
        c.latency_us = q.latency(*way);
        c.time_us = c.latency_us + q.transfer(*way);
        c.bandwidth = 1e-3 / (q.time_per_byte(*way) * q.slowdown(*way));
        c.channels = way->channels_for(q.bytes_asked, q.ranks);
      }
    nccl_tuner::mark_chosen(e);
    const auto note = [&](const std::string& text) { e.note += (e.note.empty() ? "" : "; ") + text; };
    if (kind == collective::all_reduce && e.estimate.time_us > e.estimate.latency_us + e.estimate.bandwidth_us + 1e-9)
      note("raised to the time of its reduce_scatter");
    if (q.crowd > 1) note("each network device serves " + detail::decimal(q.crowd, 1) + " groups");
    if (launch_us_ > 0) note("with " + detail::decimal(launch_us_, 1) + " us for the launch");
    return e;
  }

 private:
  /// What is asked of the ranks that a group has on one node.
  struct on_one_node {
    double crowd = 1;
    double doublings = 0;
  };

  /// As in `nccl_tuner`, continuous in the size. What ways differ by is looked up, not branched upon: which of them are
  /// there changes from question to question, and a processor guesses that badly.
  struct question {
    question(const nccl_smooth& m, collective kind, bytes size, group_shape group)
        : index(detail::nccl_table::index(group)),
          bytes_asked(static_cast<double>(size.count())),
          ranks(static_cast<double>(group.ranks())),
          nodes(static_cast<double>(group.nodes)),
          doublings(detail::doublings_of(group.nodes)),
          left_by_steps{1, (ranks - 1) / ranks} {
      const double size_doublings = detail::doublings_in(std::max(bytes_asked, 1.0));
      if (group.nodes > 1) {
        const double chunk = bytes_asked / (ranks * m.exact_.table_->layout(index).channels);
        // from 32 to 128 bytes per rank and channel, around the 64 at which NCCL jumps
        const double full = std::min(std::max((detail::doublings_in(std::max(chunk, 1.0)) - 5) * .5, 0.0), 1.0);
        latency_by_plateau[1] = 1 + (m.plateau_ - 1) * full;
        if (m.shares_rails_) crowd = m.per_node_[static_cast<std::size_t>(group.ranks_per_node)].crowd;
      }
      using enum detail::nccl_slowdown;
      times_as_long(none) = crowd;
      if (m.older_) times_as_long(ring_ramp) = 1 / m.ring_.at(size_doublings);
      double tree = 1;
      if (kind == collective::all_reduce) {
        const double x = std::min(std::max(size_doublings - 6, 0.0), 24.0);
        const auto i = static_cast<std::size_t>(x);
        for (std::size_t p = 0; p < m.tree_.size(); ++p) {
          tree = m.tree_[p][i] + (m.tree_[p][i + 1] - m.tree_[p][i]) * (x - static_cast<double>(i));
          slowdowns[static_cast<std::size_t>(tree_ll) + p] = crowd / tree;
        }
      }
      if (m.has_multicast_) {
        const double rank_doublings = m.per_node_[static_cast<std::size_t>(group.ranks_per_node)].doublings;
        const double share = m.multicast_.at(size_doublings - rank_doublings + m.link_doublings_);
        times_as_long(multicast) = crowd / share;
        times_as_long(multicast_and_tree) = crowd / (tree * share);
      }
    }

    [[nodiscard]] double latency(const detail::nccl_way& way) const {
      return way.latency(nodes, doublings) * latency_by_plateau[way.plateau ? 1 : 0];
    }
    /// Times as long as with the whole bandwidth.
    [[nodiscard]] double slowdown(const detail::nccl_way& way) const {
      return slowdowns[static_cast<std::size_t>(way.slowed_by)];
    }
    [[nodiscard]] double time_per_byte(const detail::nccl_way& way) const {
      return way.us_per_byte * left_by_steps[way.in_steps ? 1 : 0];
    }
    [[nodiscard]] double transfer(const detail::nccl_way& way) const {
      return bytes_asked * time_per_byte(way) * slowdown(way);
    }

    std::size_t index;  ///< of the group's ways
    double bytes_asked;
    double ranks;
    double nodes;
    double doublings;
    std::array<double, 2> left_by_steps;
    std::array<double, 2> latency_by_plateau{1, 1};
    double crowd = 1;
    std::array<double, detail::nccl_slowdown_count> slowdowns{};

   private:
    double& times_as_long(detail::nccl_slowdown because_of) { return slowdowns[static_cast<std::size_t>(because_of)]; }
  };

  /// How many want one network device if all devices of a node belong to such groups.
  [[nodiscard]] double crowd(std::int64_t ranks_per_node) const {
    const nccl_node& n = node();
    if (n.nics >= n.devices) return 1;
    const auto groups = static_cast<double>(n.devices / ranks_per_node);
    return std::max(1.0, groups * static_cast<double>(std::min(n.nics, ranks_per_node)) / static_cast<double>(n.nics));
  }

  [[nodiscard]] collective_estimate with_launch(collective_estimate result) const {
    result.latency_us += launch_us_;
    result.time_us += launch_us_;
    return result;
  }

  [[nodiscard]] collective_estimate best(const question& q, collective kind) const {
    const std::span<const detail::nccl_way> ways = exact_.table_->ways(kind, q.index);
    if (ways.empty()) nccl_tuner::refuse_none(kind);
    const detail::nccl_way* winner = ways.data();
    double time = std::numeric_limits<double>::infinity();
    for (const detail::nccl_way& way : ways) {
      const double t = q.latency(way) + q.transfer(way);
      winner = t < time ? &way : winner;
      time = t < time ? t : time;
    }
    collective_estimate result;
    result.latency_us = q.latency(*winner);
    result.bandwidth_us = q.transfer(*winner);
    result.time_us = time;
    result.channels = winner->channels_for(q.bytes_asked, q.ranks);
    result.algorithm = name_of(winner->algorithm);
    result.protocol = name_of(winner->protocol);
    return result;
  }

  /// The time of the group's reduce_scatter; 0 if the filter leaves none.
  [[nodiscard]] double least(const question& q) const {
    const auto ways = exact_.table_->ways(collective::reduce_scatter, q.index);
    if (ways.empty()) return 0;
    double time = std::numeric_limits<double>::infinity();
    for (const detail::nccl_way& way : ways)  // none of these has a plateau
      time = std::min(time, way.latency(q.nodes, q.doublings) + q.transfer(way));
    return time;
  }

  nccl_tuner exact_;
  detail::nccl_ramp multicast_;
  detail::nccl_ramp ring_;
  bool shares_rails_;
  bool older_ = false;
  bool has_multicast_ = false;
  double launch_us_;
  double link_doublings_ = 0;
  double plateau_ = 1;
  std::array<std::array<double, 26>, nccl_protocol_count> tree_{};  ///< the correction of trees, and 1 beyond its end
  std::vector<on_one_node> per_node_;                               ///< by their number
};

static_assert(collective_cost_model<nccl_smooth>);

}  // namespace shardweave::inline v0
