#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/cost/shared_links.hpp>
#include <shardweave/tasks/task.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// How much longer work takes because of what else runs: policies for `simulate` on a machine.

namespace shardweave::inline v0 {

/// A channel on which data moves, and for which collective: of a bucket, its first member.
struct busy_channel {
  std::uint32_t channel = 0;  ///< position in `task_graph::groups()`
  task_index collective = no_index;
  friend bool operator==(const busy_channel&, const busy_channel&) = default;
};

/// What a device does at one moment.
struct running_work {
  /// On the compute stream: a task, or the first member of a bucket that is packed or unpacked; `no_index` = nothing.
  task_index computing = no_index;
  std::span<const busy_channel> communicating = {};  ///< by channel
};

/// A policy tells for a moment how many times longer the work on the compute stream, and that on the i-th busy
/// channel, takes than alone: finite numbers, 1 or more. Asked whenever what runs changes; equal moments give equal
/// answers. The compute stream is asked about only while it works.
template <class P>
concept interference_policy = requires(const P& p, const running_work& now, std::size_t i) {
  { p.compute_slowdown(now) } -> std::convertible_to<double>;
  { p.collective_slowdown(now, i) } -> std::convertible_to<double>;
};

/// Everything runs as if it were alone: the reference timing.
struct no_interference {
  [[nodiscard]] double compute_slowdown(const running_work&) const { return 1; }
  [[nodiscard]] double collective_slowdown(const running_work&, std::size_t) const { return 1; }
};

/// Two factors and no more: on computation under communication, and on communication under computation. Collectives of
/// different groups do not disturb each other. The default of the first rounds the published average that `contention`
/// cites; that of the second is `contention::collective_factor`, for which no published figure is known.
struct uniform_interference {
  /// Factors on computation: entry n - 1 while n channels are busy, the last one for more channels; empty: 1.
  std::vector<double> compute = {1.2};
  double collective = 1.1;  ///< factor on a collective while the compute stream works

  [[nodiscard]] double compute_slowdown(const running_work& now) const {
    if (now.communicating.empty() || compute.empty()) return 1;
    return compute[std::min(now.communicating.size(), compute.size()) - 1];
  }
  [[nodiscard]] double collective_slowdown(const running_work& now, std::size_t) const {
    return now.computing == no_index ? 1 : collective;
  }
};

/// The slowdowns of `contention`, from what is known of each kernel and of each group's collectives, and links that
/// are shared evenly: of n collectives on one tier each takes n times as long. Collectives that run beside each other
/// take the sum of their multiprocessors and of their wire traffic from computation. What a table does not reach is a
/// kernel or collective of which nothing is known, on links of its own.
///
/// Complexity: O(busy channels) per question.
struct modelled_interference {
  contention model = {};
  std::vector<running_kernel> kernels = {};          ///< by task
  std::vector<running_collective> collectives = {};  ///< by process group
  std::vector<link_tier> tiers = {};                 ///< by process group; empty = no two groups share links

  [[nodiscard]] double compute_slowdown(const running_work& now) const {
    if (now.communicating.empty()) return 1;
    running_collective all;
    for (const busy_channel& c : now.communicating) {
      if (c.channel >= collectives.size()) continue;
      all.channels += collectives[c.channel].channels;
      all.wire_bandwidth += collectives[c.channel].wire_bandwidth;
    }
    return model.slowdown(now.computing < kernels.size() ? kernels[now.computing] : running_kernel{}, all);
  }
  [[nodiscard]] double collective_slowdown(const running_work& now, std::size_t i) const {
    const auto sharing = [&, mine = now.communicating[i].channel](const busy_channel& other) {
      return other.channel == mine ||
             (std::max(other.channel, mine) < tiers.size() && tiers[other.channel] == tiers[mine]);
    };
    const auto users = std::count_if(now.communicating.begin(), now.communicating.end(), sharing);
    return static_cast<double>(users) * (now.computing == no_index ? 1 : model.collective_slowdown());
  }
};

namespace detail {
/// Work in progress, kept as what is left of it, so that its pace may change.
class paced_work {
 public:
  paced_work() = default;
  explicit paced_work(nanoseconds alone) : left_(static_cast<double>(alone.count())) {}

  /// From now on it takes so many times longer: when it ends, on the next whole nanosecond.
  [[nodiscard]] nanoseconds end_at(nanoseconds now, double slowdown) {
    if (slowdown != slowdown_) {
      if (slowdown_ > 0) left_ = std::max(0.0, left_ - static_cast<double>((now - since_).count()) / slowdown_);
      since_ = now;
      slowdown_ = slowdown;
    }
    // a little less, so that rounding of what is left does not cost a nanosecond
    const double rest = std::ceil(std::max(0.0, left_ * slowdown - 1e-6));
    if (!(rest < 0x1p61))
      refuse(error_category::input, "work that takes " + number_text(slowdown) +
                                        " times as long takes more than 2^61 ns, what times are kept below");
    return since_ + nanoseconds(static_cast<std::int64_t>(rest));
  }

 private:
  double left_ = 0;      // of the time alone
  double slowdown_ = 0;  // 0 = not begun
  nanoseconds since_;
};
}  // namespace detail

}  // namespace shardweave::inline v0
