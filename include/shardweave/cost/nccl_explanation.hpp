#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/cost/nccl_constants.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Why NCCL's model chose what it chose.

namespace shardweave::inline v0 {

/// A way to do a collective, and what the model thinks of it.
struct nccl_candidate {
  nccl_algorithm algorithm = nccl_algorithm::ring;
  nccl_protocol protocol = nccl_protocol::simple;
  std::string_view absent = {};  ///< why there is no such way here; empty if there is
  double time_us = std::numeric_limits<double>::infinity();
  double latency_us = 0;
  double bandwidth = 0;  ///< bytes of the collective per time beyond latency, GB/s
  int channels = 0;      ///< thread blocks that it would occupy
};

/// All candidates for one collective, and the winner.
struct nccl_explanation {
  collective kind = collective::all_reduce;
  bytes size{};
  group_shape group{};
  std::string model = {};  ///< release and node
  nccl_layout layout{};    ///< channels that were found
  std::vector<nccl_candidate> candidates = {};
  std::size_t chosen =
      static_cast<std::size_t>(-1);  ///< an index of `candidates`; none for an all_to_all, a shift or one rank
  collective_estimate estimate{};
  std::string note = {};  ///< what besides the candidates made the estimate
};

namespace detail {

[[nodiscard]] inline std::string decimal(double value, int digits) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, digits);
  return std::string(text.data(), end.ptr);
}
[[nodiscard]] inline std::string paths_text(std::string_view name, const nccl_paths& p) {
  if (p.count == 0) return {};
  std::string text = "  " + std::string(name) + ": " + std::to_string(p.count) + " x " + decimal(p.inside, 1);
  if (p.between != p.inside) text += " inside, " + decimal(p.between, 1) + " between nodes";
  return text + " GB/s\n";
}

}  // namespace detail

/// For people: a line on the question, the channels, the candidates from the fastest on with the chosen one marked,
/// and why others are absent.
[[nodiscard]] inline std::string to_text(const nccl_explanation& e) {
  std::string text = std::string(name_of(e.kind)) + " of " + std::to_string(e.size.count()) + " bytes among " +
                     std::to_string(e.group.ranks()) + " ranks on " + std::to_string(e.group.nodes) +
                     (e.group.nodes == 1 ? " node" : " nodes") + " (" + e.model +
                     "): " + detail::decimal(e.estimate.time_us, 2) + " us\n";
  std::string channels = detail::paths_text("ring", e.layout.ring) + detail::paths_text("tree", e.layout.tree) +
                         detail::paths_text("nvls", e.layout.nvls) + detail::paths_text("collnet", e.layout.collnet);
  if (!channels.empty()) text += "channels found\n" + channels;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < e.candidates.size(); ++i)
    if (e.candidates[i].absent.empty()) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return e.candidates[a].time_us < e.candidates[b].time_us; });
  for (const std::size_t i : order) {
    const nccl_candidate& c = e.candidates[i];
    text += (i == e.chosen ? "* " : "  ") + std::string(name_of(c.algorithm)) + " " + std::string(name_of(c.protocol)) +
            ": " + detail::decimal(c.time_us, 2) + " us = " + detail::decimal(c.latency_us, 2) + " us + size / " +
            detail::decimal(c.bandwidth, 1) + " GB/s, " + std::to_string(c.channels) + " channels\n";
  }
  for (const nccl_candidate& c : e.candidates)
    if (!c.absent.empty())
      text += "- " + std::string(name_of(c.algorithm)) + " " + std::string(name_of(c.protocol)) + " " +
              std::string(c.absent) + "\n";
  if (!e.note.empty()) text += e.note + "\n";
  return text;
}

}  // namespace shardweave::inline v0
