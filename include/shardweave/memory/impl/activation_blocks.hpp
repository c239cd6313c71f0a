#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/memory/activation_blocks.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/task.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

/// \file
/// Definition of `activation_blocks_of`.

namespace shardweave::inline v0 {

namespace detail {

/// Reads the blocks of a graph.
class block_reader {
 public:
  block_reader(const task_graph& g, std::span<const std::uint32_t> block_of, const activation_options& options)
      : g_(g), block_of_(block_of), options_(options) {}

  activation_blocks read() {
    find_parts();
    find_storages();
    choose_values();
    measure();
    return std::move(result_);
  }

 private:
  struct use {
    task_index made = no_index;
    task_index last = 0;  ///< the last reader, or the maker if there is none
    task_index last_forward = 0;
    task_index until = 0;            ///< until when it must live, if that is later than `last`
    bool is_read_late = false;       ///< in its own block's backward part
    bool is_read_beyond = false;     ///< after its own block's backward part
    bool is_read_elsewhere = false;  ///< outside of its block's forward part, before its own backward part
    std::uint32_t value = no_index;  ///< in its block
  };

  [[nodiscard]] bool is_late(task_index t) const { return g_.when(t) && *g_.when(t) != phase::forward; }
  [[nodiscard]] std::size_t blocks() const { return first_forward_.size(); }

  /// Finds where the parts of each block begin.
  void find_parts() {
    std::uint32_t count = 0;
    for (task_index t = 0; t < g_.size(); ++t)
      if (block_of_[t] != no_index) count = std::max(count, block_of_[t] + 1);
    first_forward_.assign(count, no_index);
    first_late_.assign(count, no_index);
    for (task_index t = 0; t < g_.size(); ++t) {
      const std::uint32_t b = block_of_[t];
      if (b == no_index || g_.kind(t) == task_kind::input || g_.kind(t) == task_kind::output) continue;
      task_index& first = is_late(t) ? first_late_[b] : first_forward_[b];
      first = std::min(first, t);
      if (!is_late(t) && b + 1 == count) last_forward_ = t;
    }
    for (std::uint32_t b = 0; b < count; ++b) {
      const auto part = [&](const char* which) { return std::string(which) + " part of block " + std::to_string(b); };
      if (first_forward_[b] == no_index || first_late_[b] == no_index)
        refuse(error_category::input,
               "blocks: there is no " + part(first_forward_[b] == no_index ? "forward" : "backward"));
      if (b > 0 && first_forward_[b] < first_forward_[b - 1])
        refuse(error_category::input, "blocks: the " + part("forward") + " begins before that of the one before it");
      if (b > 0 && first_late_[b] > first_late_[b - 1])
        refuse(error_category::input, "blocks: the " + part("backward") + " begins after that of the one before it");
    }
    if (count > 0 && first_late_.back() < last_forward_)
      refuse(error_category::input, "blocks: the first backward part begins before the last forward part ends");
  }
  /// The block in whose backward part a late task stands; the number of blocks if that is before all backward parts.
  [[nodiscard]] std::size_t part_of(task_index t) const {
    std::size_t b = blocks();
    while (b > 0 && t >= first_late_[b - 1]) --b;
    return b;
  }

  /// The last task of a block's backward part.
  [[nodiscard]] task_index end_of_part(std::size_t b) const {
    return b > 0 ? first_late_[b - 1] - 1 : static_cast<task_index>(g_.size() - 1);
  }

  void find_storages() {
    uses_.assign(g_.storages().size(), {});
    late_part_.assign(g_.size(), blocks());
    for (task_index t = 0; t < g_.size(); ++t) {
      if (is_late(t)) late_part_[t] = part_of(t);
      for (std::size_t i = 0; i < g_.output_count(t); ++i) {
        const std::uint32_t s = g_.output_storage(t, i);
        if (s == no_index) continue;
        if (uses_[s].made == no_index) uses_[s].made = uses_[s].last = uses_[s].last_forward = t;
      }
      for (const task_index p : g_.inputs(t))
        for (std::size_t i = 0; i < g_.output_count(p); ++i)
          if (const std::uint32_t s = g_.output_storage(p, i); s != no_index) read_by(t, uses_[s]);
    }
  }
  void read_by(task_index t, use& u) const {
    u.last = std::max(u.last, t);
    const std::uint32_t own = block_of_[u.made];
    if (!is_late(t)) {
      u.last_forward = std::max(u.last_forward, t);
      u.is_read_elsewhere |= block_of_[t] != own;
    } else if (own != no_index) {
      u.is_read_late |= late_part_[t] == own;
      u.is_read_beyond |= late_part_[t] < own;
      u.is_read_elsewhere |= late_part_[t] > own;
    }
  }

  [[nodiscard]] bool is_value(std::uint32_t s) const {
    const use& u = uses_[s];
    if (u.made == no_index || block_of_[u.made] == no_index || is_late(u.made) || u.is_read_beyond) return false;
    if (u.last == u.made) return false;  // without a reader it is never freed
    if (g_.kind(u.made) == task_kind::input || g_.storages()[s].device != storage_device::gpu) return false;
    return options_.regather || g_.role(u.made) != task_role::parameter;
  }

  void choose_values() {
    result_.blocks.resize(blocks());
    result_.storages.resize(blocks());
    for (std::uint32_t s = 0; s < uses_.size(); ++s)
      if (is_value(s)) in_order_.push_back(s);
    std::stable_sort(in_order_.begin(), in_order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return uses_[a].made < uses_[b].made; });
    for (const std::uint32_t s : in_order_) {
      use& u = uses_[s];
      const std::uint32_t b = block_of_[u.made];
      u.value = static_cast<std::uint32_t>(result_.storages[b].size());
      result_.storages[b].push_back(s);
      const bool is_parameter = g_.role(u.made) == task_role::parameter;
      block_value value{.name = std::string(g_.name_of(u.made)), .size = g_.storages()[s].size};
      value.may_drop = !u.is_read_elsewhere;
      // values that the block's own backward part reads may be kept, but not parameters that are to be gathered again
      value.may_keep = !value.may_drop || (u.is_read_late && !is_parameter);
      if (value.may_keep && value.size < options_.least) value.may_drop = false;
      result_.blocks[b].values.push_back(std::move(value));
    }
    for (std::uint32_t b = 0; b < blocks(); ++b)
      for (std::size_t v = 0; v < result_.storages[b].size(); ++v)
        for (const std::uint32_t other : made_with(result_.storages[b][v]))
          if (uses_[other].value != v) result_.blocks[b].values[v].made_with.push_back(uses_[other].value);
    for (task_index t = 0; t < g_.size(); ++t) {
      if (is_late(t) || block_of_[t] == no_index) continue;
      for (std::size_t i = 0; i < g_.output_count(t); ++i)
        if (const std::uint32_t s = g_.output_storage(t, i);
            s != no_index && uses_[s].value != no_index && block_of_[uses_[s].made] == block_of_[t])
          add_maker(t, s);  // not by a view in another block, which reads the value
    }
    result_.rates.resize(blocks());
    if (options_.host_bandwidth > 0) allow_copies();
    for (std::size_t b = 0; b < blocks(); ++b) limit_choices(result_.blocks[b]);
  }
  /// Lets the largest values that may be dropped wait in the host's memory, if their copies are done in time: those of
  /// a block when the forward part of the next block is, after those of earlier blocks. A block's window is the largest
  /// sum of its values that fits, so that equal blocks have few different windows.
  void allow_copies() {
    const std::vector<char> may = copyable_storages(g_);
    std::vector<nanoseconds> forward(blocks());
    for (task_index t = 0; t < g_.size(); ++t)
      if (block_of_[t] != no_index && !is_late(t) && !g_.is_collective(t)) forward[block_of_[t]] += g_.duration(t);
    const auto copied_beside = [&](std::size_t b) {
      return bytes(static_cast<std::int64_t>(options_.host_bandwidth * static_cast<double>(forward[b].count()) / 1e9));
    };
    bytes owed;                                       // bytes that earlier blocks still copy when the block begins
    for (std::size_t b = 0; b + 1 < blocks(); ++b) {  // the last block's values are needed at once
      recompute_block& block = result_.blocks[b];
      const bytes own = copied_beside(b), next = b + 2 < blocks() ? copied_beside(b + 1) : bytes(0);
      const bytes room = own + next - owed;
      std::vector<std::uint32_t> some;
      for (std::uint32_t v = 0; v < block.values.size(); ++v)
        if (const block_value& value = block.values[v];
            value.may_keep && value.may_drop && may[result_.storages[b][v]] != 0 && value.size <= room)
          some.push_back(v);
      std::stable_sort(some.begin(), some.end(),
                       [&](std::uint32_t a, std::uint32_t c) { return block.values[a].size > block.values[c].size; });
      some.resize(std::min(some.size(), most_copied));
      bytes most;
      for (std::uint32_t subset = 0; subset < 1U << some.size(); ++subset) {
        bytes sum;
        for (std::size_t i = 0; i < some.size(); ++i)
          if ((subset >> i & 1U) != 0) sum += block.values[some[i]].size;
        if (sum <= room) most = std::max(most, sum);
      }
      for (const std::uint32_t v : some) block.values[v].may_offload = true;
      result_.rates[b] = {.window = most, .memory_bandwidth = g_.device().dram_bytes_per_ns * 1e9};
      owed = std::max(owed + most - own, bytes(0));
    }
  }
  /// Adds to a value the time of a task that lists it, and its inputs.
  void add_maker(task_index t, std::uint32_t s) {
    block_value& value = result_.blocks[block_of_[t]].values[uses_[s].value];
    const bool is_parameter = g_.role(t) == task_role::parameter;
    if (!is_parameter) value.time += g_.duration(t);
    for (const task_index p : g_.inputs(t))
      for (std::size_t i = 0; i < g_.output_count(p); ++i) {
        const std::uint32_t q = g_.output_storage(p, i);
        if (q == no_index || uses_[q].made == uses_[s].made) continue;  // see `block_value::made_with`
        if (uses_[q].value != no_index && block_of_[uses_[q].made] == block_of_[t]) {
          if (uses_[q].value < uses_[s].value) value.inputs.push_back(uses_[q].value);
        } else if (uses_[q].value == no_index && !is_given(q)) {
          use& other = uses_[q];  // it may be read for recomputation in this block's backward part
          other.until = std::max(other.until, end_of_part(block_of_[t]));
        }
      }
  }
  /// All values of the task that makes this one.
  [[nodiscard]] std::span<const std::uint32_t> made_with(std::uint32_t s) const {
    const auto range = std::equal_range(in_order_.begin(), in_order_.end(), s, [&](std::uint32_t a, std::uint32_t b) {
      return uses_[a].made < uses_[b].made;
    });
    return {range.first, range.second};
  }
  [[nodiscard]] bool is_given(std::uint32_t s) const {
    return uses_[s].made == no_index || g_.kind(uses_[s].made) == task_kind::input;
  }
  /// Keeps the smallest values, where too many have a choice.
  static void limit_choices(recompute_block& block) {
    std::vector<std::uint32_t> free;
    for (std::uint32_t v = 0; v < block.values.size(); ++v)
      if (block.values[v].may_keep && block.values[v].may_drop) free.push_back(v);
    std::stable_sort(free.begin(), free.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return block.values[a].size > block.values[b].size; });
    const bool copies = std::any_of(block.values.begin(), block.values.end(), [](auto& v) { return v.may_offload; });
    for (std::size_t i = copies ? most_choices_beside_copies : most_read_choices; i < free.size(); ++i)
      block.values[free[i]].may_drop = block.values[free[i]].may_offload = false;
  }

  /// Measures what is live besides values, task by task: `forward`, `beside`, `after`, gradients.
  void measure() {
    const storage_uses uses(g_);
    memory_tracker tracker(uses, g_.storages().size());
    std::vector<std::int64_t> change(g_.size() + 1), held(g_.size() + 1);
    for (std::size_t b = 0; b < blocks(); ++b)
      for (const std::uint32_t s : result_.storages[b]) {
        change[uses_[s].made] += g_.storages()[s].size.count();
        // as in the tracker, which never frees what nothing reads
        if (uses_[s].last != uses_[s].made) change[uses_[s].last + 1] -= g_.storages()[s].size.count();
      }
    for (std::uint32_t q = 0; q < uses_.size(); ++q)
      if (uses_[q].until > uses_[q].last && uses_[q].last != uses_[q].made) {
        held[uses_[q].last + 1] += g_.storages()[q].size.count();
        held[uses_[q].until + 1] -= g_.storages()[q].size.count();
      }

    const std::vector<std::int64_t> change_of_used = changes_of_used_values();
    std::vector<std::int64_t> forward(blocks()), beside(blocks(), std::numeric_limits<std::int64_t>::max());
    std::int64_t after = 0, values = 0, longer = 0, used = 0;
    std::size_t current = 0;  // the last block whose forward part has begun
    for (task_index t = 0; t < g_.size(); ++t) {
      tracker.restart_peak();
      tracker.run(t);
      values += change[t];
      longer += held[t];
      used += change_of_used[t];
      const std::int64_t other = tracker.peak().count() - values + longer;
      if (blocks() == 0) continue;
      while (current + 1 < blocks() && t >= first_forward_[current + 1]) ++current;
      const std::size_t part = is_late(t) ? late_part_[t] : blocks();
      if (part < blocks()) {
        backward_step step{.gradients = bytes(other)};
        for (const task_index p : g_.inputs(t))
          for (std::size_t i = 0; i < g_.output_count(p); ++i)
            if (const std::uint32_t s = g_.output_storage(p, i);
                s != no_index && uses_[s].value != no_index && block_of_[uses_[s].made] == part)
              if (std::find(step.reads.begin(), step.reads.end(), uses_[s].value) == step.reads.end())
                step.reads.push_back(uses_[s].value);
        beside[part] = std::min(beside[part], other);
        result_.blocks[part].backward.push_back(std::move(step));
      } else if (t <= last_forward_) {
        forward[current] = std::max(forward[current], other + used);
      } else {
        after = std::max(after, other + used);
      }
    }
    for (std::size_t b = 0; b < blocks(); ++b) {
      result_.rows.push_back(
          {.forward = bytes(forward[b]), .beside = bytes(beside[b]), .may_offload = b + 1 < blocks()});
      for (backward_step& step : result_.blocks[b].backward) step.gradients -= bytes(beside[b]);
      drop_quiet_steps(result_.blocks[b]);
    }
    result_.after = bytes(after);
  }
  /// By task, how many more bytes than before it are of values that forward parts use. A value that may be kept counts
  /// to the end of its block's part, which is where the next one begins; from then on policies count what is kept, and
  /// only what need not be kept, and is used still (a gather that begins early), counts on.
  [[nodiscard]] std::vector<std::int64_t> changes_of_used_values() const {
    std::vector<std::int64_t> change(g_.size() + 1);
    for (std::size_t b = 0; b < blocks(); ++b) {
      const bool is_last = b + 1 == blocks();
      const task_index end_of_block = is_last ? last_forward_ + 1 : first_forward_[b + 1];
      for (std::size_t v = 0; v < result_.storages[b].size(); ++v) {
        const block_value& value = result_.blocks[b].values[v];
        const use& u = uses_[result_.storages[b][v]];
        task_index end = u.last_forward + 1;
        if (value.may_keep) end = value.may_drop ? std::max(end, end_of_block) : end_of_block;
        if (is_last) end = std::min(end, end_of_block);
        if (u.made >= end) continue;
        change[u.made] += value.size.count();
        change[end] -= value.size.count();
      }
    }
    return change;
  }
  /// Merges steps that read nothing and hold no more than their neighbour, which cannot raise any peak.
  static void drop_quiet_steps(recompute_block& block) {
    std::vector<backward_step> steps;
    for (backward_step& step : block.backward) {
      if (!steps.empty() && step.reads.empty() && step.gradients <= steps.back().gradients) continue;
      if (!steps.empty() && steps.back().reads.empty() && steps.back().gradients <= step.gradients) steps.pop_back();
      steps.push_back(std::move(step));
    }
    block.backward = std::move(steps);
  }

  /// Values with a choice: policies are enumerated, two choices per value, three where it may be copied. A block of 16
  /// takes 0.02 s of CPU; with 8, a step of LLaMA-3 70B on 8x8 within 40 GiB takes 2.15 s in place of 2.13, with 20 no
  /// less. Where 4 may be copied a block of 12 takes 0.01 s, one of 16 0.3.
  static constexpr std::size_t most_read_choices = 16, most_choices_beside_copies = 12;
  /// Values whose subsets are enumerated: 6 take a block of 12 twice as long. LLaMA-3 8B on 8x8 within 16 GiB has the
  /// same step with 2 and with 6.
  static constexpr std::size_t most_copied = 4;

  const task_graph& g_;
  std::span<const std::uint32_t> block_of_;
  activation_options options_;
  activation_blocks result_;
  std::vector<task_index> first_forward_, first_late_;
  task_index last_forward_ = 0;
  std::vector<use> uses_;
  std::vector<std::uint32_t> in_order_;  ///< values, by the task that makes them
  std::vector<std::size_t> late_part_;
};

}  // namespace detail

SHARDWEAVE_INLINE activation_blocks activation_blocks_of(const task_graph& g, std::span<const std::uint32_t> block_of,
                                                         const activation_options& options) {
  if (block_of.size() != g.size())
    refuse(error_category::input, "blocks: " + std::to_string(block_of.size()) + " tasks have a block, the graph has " +
                                      std::to_string(g.size()));
  return detail::block_reader(g, block_of, options).read();
}

}  // namespace shardweave::inline v0
