#pragma once

#include <shardweave/bucketing/merge_order.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/graph/stable_order.hpp>

#include <algorithm>

/// \file
/// How the order of merged sets is kept.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE merge_order::merge_order(const compressed_graph& g)
    : g_(&g),
      at_(stable_topological_order(g)),
      place_(g.vertex_count()),
      set_(g.vertex_count()),
      next_(g.vertex_count()),
      mark_(g.vertex_count()) {
  for (std::uint32_t i = 0; i < at_.size(); ++i) place_[at_[i]] = i;
  for (std::uint32_t v = 0; v < g.vertex_count(); ++v) set_[v] = next_[v] = v;
}

SHARDWEAVE_INLINE bool merge_order::merge(std::uint32_t a, std::uint32_t b) {
  std::uint32_t early = set_[a], late = set_[b];
  if (early == late) return true;
  if (place_[early] > place_[late]) std::swap(early, late);
  forward_.assign(1, early);
  backward_.assign(1, late);
  ++stamp_;
  mark_[early] = 2 * stamp_;
  mark_[late] = 2 * stamp_ + 1;
  std::size_t f = 0, b_at = 0;
  while (f < forward_.size() && b_at < backward_.size()) {
    if (!visit<true>(forward_[f++], early, late) || !visit<false>(backward_[b_at++], early, late)) return false;
  }
  // One side is complete: nothing leads from the early set to the late one. What that side found moves
  // to the other side of the merged set.
  f == forward_.size() ? move_forward(early, late) : move_backward(early, late);
  return true;
}

SHARDWEAVE_INLINE std::vector<std::uint32_t> merge_order::order() const {
  std::vector<std::uint32_t> all, members;
  all.reserve(set_.size());
  for (const std::uint32_t s : at_) {
    if (s == hole) continue;
    members.clear();
    for (std::uint32_t v = s;;) {
      members.push_back(v);
      if ((v = next_[v]) == s) break;
    }
    std::sort(members.begin(), members.end());
    all.insert(all.end(), members.begin(), members.end());
  }
  return all;
}

template <bool Forward>
bool merge_order::visit(std::uint32_t s, std::uint32_t early, std::uint32_t late) {
  const std::uint32_t own = 2 * stamp_ + (Forward ? 0 : 1), others = 2 * stamp_ + (Forward ? 1 : 0);
  const std::uint32_t goal = Forward ? late : early;
  for (std::uint32_t v = s;;) {
    for (const auto& e : Forward ? g_->out(v) : g_->in(v)) {
      const std::uint32_t n = set_[Forward ? e.target : e.source];
      if (n == goal) return false;
      if (n == s || place_[n] < place_[early] || place_[n] > place_[late] || mark_[n] == own) continue;
      if (mark_[n] == others) return false;
      mark_[n] = own;
      (Forward ? forward_ : backward_).push_back(n);
    }
    if ((v = next_[v]) == s) return true;
  }
}

SHARDWEAVE_INLINE void merge_order::move_forward(std::uint32_t early, std::uint32_t late) {
  const std::uint32_t first = place_[early], last = place_[late];
  window_.clear();
  for (std::uint32_t i = first; i <= last; ++i)
    if (at_[i] != hole && at_[i] != early && at_[i] != late && mark_[at_[i]] != 2 * stamp_) window_.push_back(at_[i]);
  const std::size_t kept = window_.size();
  for (std::uint32_t i = first; i <= last; ++i)
    if (at_[i] != hole && at_[i] != early && mark_[at_[i]] == 2 * stamp_) window_.push_back(at_[i]);
  write(first, last, kept, join(early, late));
}

SHARDWEAVE_INLINE void merge_order::move_backward(std::uint32_t early, std::uint32_t late) {
  const std::uint32_t first = place_[early], last = place_[late];
  window_.clear();
  for (std::uint32_t i = first; i <= last; ++i)
    if (at_[i] != hole && at_[i] != late && mark_[at_[i]] == 2 * stamp_ + 1) window_.push_back(at_[i]);
  const std::size_t kept = window_.size();
  for (std::uint32_t i = first; i <= last; ++i)
    if (at_[i] != hole && at_[i] != early && at_[i] != late && mark_[at_[i]] != 2 * stamp_ + 1)
      window_.push_back(at_[i]);
  write(first, last, kept, join(early, late));
}

SHARDWEAVE_INLINE void merge_order::write(std::uint32_t first, std::uint32_t last, std::size_t kept,
                                          std::uint32_t merged) {
  window_.insert(window_.begin() + static_cast<std::ptrdiff_t>(kept), merged);
  for (std::uint32_t i = first; i <= last; ++i) {
    const std::size_t k = i - first;
    at_[i] = k < window_.size() ? window_[k] : hole;
    if (at_[i] != hole) place_[at_[i]] = i;
  }
}

SHARDWEAVE_INLINE std::uint32_t merge_order::join(std::uint32_t early, std::uint32_t late) {
  for (std::uint32_t v = late;;) {
    set_[v] = early;
    if ((v = next_[v]) == late) break;
  }
  std::swap(next_[early], next_[late]);
  return early;
}

}  // namespace shardweave::inline v0
