#pragma once

#include <shardweave/tasks/detail/order_activities.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Work of the stream and then of a channel, job by job: as a flow shop of two machines.

namespace shardweave::inline v0::detail {

/// What jobs in a row prove: each has work of the compute stream, which leads to its collective (backward: follows it),
/// and then the collective's work.
class order_row_bound {
 public:
  /// \param head  by activity: its earliest begin; backward, the least time from its end to the end of all
  /// \pre all outlive this object
  order_row_bound(const order_activities& all, const order_row& row, const std::vector<wide_integer>& head)
      : all_(all), row_(row), head_(head) {}

  /// \returns what is wrong; otherwise `proven` is a time before which nothing ends
  [[nodiscard]] std::optional<std::string> prove(wide_integer& proven) const {
    return row_.backward ? prove_in<true>(proven) : prove_in<false>(proven);
  }

 private:
  static constexpr std::size_t no_job = std::numeric_limits<std::size_t>::max();
  static constexpr wide_integer most = std::numeric_limits<std::int64_t>::max();

  /// A job of the stream, and then of its collective.
  struct job {
    activity_number run;
    wide_integer first = 0;  ///< work of the stream
  };

  template <bool Backward>
  [[nodiscard]] std::optional<std::string> prove_in(wide_integer& proven) const {
    const activity_number own = all_.run_of(row_.collective);
    if (own == no_index) return "row: task " + std::to_string(row_.collective) + " launches nothing";
    if (!row_.weights.empty() && row_.weights.size() != 3)
      return "row: there are " + std::to_string(row_.weights.size()) + " weights, expected 3 or none";
    wide_integer unit = 0;
    for (const std::int64_t w : row_.weights) {
      if (w < 0 || w > 1'000'000) return "row: a weight is not from 0 to 1000000";
      unit += w;
    }
    if (!row_.weights.empty() && unit == 0) return "row: all weights are 0";
    const std::uint32_t channel = all_[own].machine;
    std::uint32_t beside = no_index;
    std::vector<job> jobs;
    std::vector<std::size_t> job_of(all_.size(), no_job);
    for (std::size_t i = 0; i < row_.jobs.size(); ++i) {
      const std::string who = "row: jobs[" + std::to_string(i) + "]";
      const activity_number run = all_.run_of(row_.jobs[i].collective);
      if (run == no_index) return who + ": task " + std::to_string(row_.jobs[i].collective) + " launches nothing";
      for (const job& other : jobs)
        if (other.run == run) return who + ": " + all_.label(run) + " has two jobs";
      if (all_[run].machine != channel) {
        if (beside != no_index && beside != all_[run].machine) return who + " is of a third channel";
        if (row_.weights.empty()) return who + " is of another channel";
        beside = all_[run].machine;
      }
      jobs.push_back({run});
      for (const activity_number a : row_.jobs[i].work) {
        if (!all_.is_there(a)) return who + ": " + all_.label(a) + " is not there";
        if (job_of[a] != no_job) return who + ": " + all_.label(a) + " is in two jobs";
        job_of[a] = i;
        if (all_[a].machine == 0) jobs.back().first += all_[a].share;
      }
    }
    // each leads to its collective, since one that it leads to at once does
    for (activity_number a = 0; a < all_.size(); ++a) {
      if (job_of[a] == no_job) continue;
      const auto after = all_.before<!Backward>(a);
      const bool leads = std::any_of(after.begin(), after.end(), [&](const auto& e) {
        const activity_number s = order_activities::end_of<!Backward>(e);
        return s == jobs[job_of[a]].run || job_of[s] == job_of[a];
      });
      if (!leads)
        return "row: jobs[" + std::to_string(job_of[a]) + "]: " + all_.label(a) +
               (Backward ? " does not follow " : " does not lead to ") + all_.label(jobs[job_of[a]].run);
    }
    wide_integer begin = most, lone = 0;  // of either machine; work in no job
    for (activity_number a = 0; a < all_.size(); ++a) {
      if (all_[a].share <= 0 || (all_[a].machine != 0 && all_[a].machine != channel)) continue;
      begin = std::min(begin, head_[a]);
      if (all_[a].machine == 0) lone += all_[a].share;
    }
    for (const job& j : jobs) lone -= j.first;
    const wide_integer sum = row_.weights.empty() ? by_johnson(own, jobs, lone) : by_weights(own, jobs, lone, channel);
    proven = (begin == most ? 0 : begin) + (row_.weights.empty() ? sum : (sum + unit - 1) / unit);
    return std::nullopt;
  }

  /// The least end of two machines that all jobs pass one after the other.
  [[nodiscard]] wide_integer by_johnson(activity_number own, const std::vector<job>& jobs, wide_integer lone) const {
    std::vector<std::pair<wide_integer, wide_integer>> both{{lone, 0}};
    for (const job& j : jobs) both.emplace_back(j.first, all_[j.run].share);
    if (std::none_of(jobs.begin(), jobs.end(), [&](const job& j) { return j.run == own; }))
      both.emplace_back(0, all_[own].share);
    std::sort(both.begin(), both.end(), [](const auto& a, const auto& b) {
      const bool early = a.first < a.second;
      if (early != (b.first < b.second)) return early;
      return early ? a.first < b.first : a.second > b.second;
    });
    wide_integer first = 0, second = 0;
    for (const auto& [on_stream, on_channel] : both) {
      first += on_stream;
      second = std::max(first, second) + on_channel;
    }
    return std::max(first, second);
  }

  /// The mixture of three sums that the end is no less than, each job where it makes the mixture least.
  [[nodiscard]] wide_integer by_weights(activity_number own, const std::vector<job>& jobs, wide_integer lone,
                                        std::uint32_t channel) const {
    const std::vector<std::int64_t>& weights = row_.weights;
    const wide_integer stream = weights[0], all = stream + weights[1] + weights[2];
    wide_integer sum = stream * lone + std::min(weights[1] * all_[own].alone,
                                                stream * all_[own].packing + weights[1] * all_[own].duration);
    for (const job& j : jobs) {
      if (j.run == own) {
        sum += all * j.first;
        continue;
      }
      const activity_work& run = all_[j.run];
      const wide_integer then = weights[run.machine == channel ? 1 : 2];
      sum += std::min(all * j.first,
                      stream * j.first + std::min(then * run.alone, stream * run.packing + then * run.share));
    }
    return sum;
  }

  const order_activities& all_;
  const order_row& row_;
  const std::vector<wide_integer>& head_;
};

}  // namespace shardweave::inline v0::detail
