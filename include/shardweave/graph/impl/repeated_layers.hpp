#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/graph/detail/layer_cut.hpp>
#include <shardweave/graph/detail/layer_shift.hpp>
#include <shardweave/graph/repeated_layers.hpp>
#include <shardweave/graph/stable_order.hpp>

#include <array>
#include <iterator>
#include <map>
#include <string>

/// \file
/// How repeated layers are found.

namespace shardweave::inline v0 {
namespace detail {

/// Finds kinds of layers one after the other, the largest first.
class layer_finder {
 public:
  using vertex = layer_shift::vertex;

  layer_finder(const compressed_graph& g, std::span<const std::uint64_t> content, std::size_t least)
      : g_(g), content_(content), least_(std::max<std::size_t>(least, 1)), taken_(g.vertex_count()) {}

  [[nodiscard]] std::vector<std::vector<vertex>> run() && {
    find_levels();
    find_surroundings();
    layer_shift shift(g_, content_, taken_);
    for (bool found = true; found;) {
      found = false;
      for (const std::vector<vertex>& seed : ranked_seeds(shift)) {
        shift.grow(seed);
        found = keep(shift.found()) || found;
      }
    }
    for (std::vector<vertex>& group : groups_) std::ranges::sort(group);
    std::ranges::sort(groups_);
    return std::move(groups_);
  }

 private:
  static constexpr std::size_t radius = 4;    // how far seeds look around
  static constexpr std::size_t per_ring = 2;  // seeds by each of the distances up to there

  /// Edges on the longest way from a source.
  void find_levels() {
    level_.resize(g_.vertex_count());
    order_ = stable_topological_order(g_);
    for (const vertex v : order_)
      for (const auto& e : g_.out(v)) level_[e.target] = std::max(level_[e.target], level_[v] + 1);
  }

  /// Equal where all is equal up to a distance, by a hash: it proposes, what is told to correspond is compared.
  void find_surroundings() {
    around_[0].assign(content_.begin(), content_.end());
    for (std::size_t r = 1; r <= radius; ++r) {
      std::vector<std::uint64_t>& now = around_[r];
      const std::vector<std::uint64_t>& before = around_[r - 1];
      now.resize(before.size());
      std::vector<std::uint64_t> used(before.size());  // a sum, as users have no order
      for (vertex v = 0; v < now.size(); ++v) {
        std::uint64_t hash = before[v];
        std::size_t argument = 0;
        for (const auto& e : g_.in(v)) {
          hash = hash_combine(hash, before[e.source]);
          used[e.source] += hash_combine(before[v], ++argument);
        }
        now[v] = hash;
      }
      for (vertex v = 0; v < now.size(); ++v) now[v] = hash_combine(now[v], used[v]);
    }
  }

  /// Vertices whose surroundings are equal, no two on one level, that may be one of each layer. How many there are
  /// in a layer is not known: most vertices are in sets of as many as there are layers. Those from which most of the
  /// graph is found to repeat come first, of equals those that are alike in the widest surroundings.
  [[nodiscard]] std::vector<std::vector<vertex>> ranked_seeds(layer_shift& shift) const {
    std::vector<std::pair<std::size_t, std::vector<vertex>>> ranked;
    for (std::size_t r = radius + 1; r-- > 0;) {
      const std::vector<std::uint64_t>& around = around_[r];
      std::vector<vertex> order;
      for (vertex v = 0; v < around.size(); ++v)
        if (!taken_[v]) order.push_back(v);
      const auto key = [&](vertex v) { return std::tuple(around[v], level_[v]); };
      std::ranges::sort(order, {}, key);

      struct size_class {
        std::size_t vertices = 0;
        std::span<const vertex> seed;
      };
      std::map<std::size_t, size_class> by_size;
      for (std::size_t i = 0, j; i < order.size(); i = j) {
        bool is_chain = true;
        for (j = i + 1; j < order.size() && around[order[j]] == around[order[i]]; ++j)
          is_chain = is_chain && level_[order[j - 1]] < level_[order[j]];
        if (j - i < 2 || !is_chain) continue;
        size_class& same = by_size[j - i];
        same.vertices += j - i;
        const auto first_of = [&](vertex v) { return std::tuple(level_[v], around[v]); };
        if (same.seed.empty() || first_of(order[i]) < first_of(same.seed.front()))
          same.seed = std::span(order).subspan(i, j - i);
      }
      std::vector<size_class> sizes;
      for (const auto& [size, same] : by_size) sizes.push_back(same);
      std::ranges::stable_sort(sizes, std::ranges::greater{}, &size_class::vertices);
      for (std::size_t i = 0; i < std::min(per_ring, sizes.size()); ++i) {
        shift.grow(sizes[i].seed);
        std::size_t covered = 0;
        const layer_shift::chains chains = shift.found();
        for (const auto& members : chains.members) covered += members.size();
        ranked.emplace_back(covered, std::vector<vertex>(sizes[i].seed.begin(), sizes[i].seed.end()));
      }
    }
    std::ranges::stable_sort(ranked, std::ranges::greater{}, &std::pair<std::size_t, std::vector<vertex>>::first);
    std::vector<std::vector<vertex>> seeds;
    for (auto& [rank, seed] : ranked) seeds.push_back(std::move(seed));
    return seeds;
  }

  /// Cuts chains into layers, and groups what layers of one kind have in common; false if these are no layers.
  bool keep(const layer_shift::chains& chains) {
    if (chains.members.size() < least_ || !is_row(chains.members.front())) return false;
    const layer_cut cut(g_, chains);
    std::vector<std::vector<std::uint32_t>> present(cut.layers());  // by layer: the chains that have a member there
    std::vector<bool> inside(g_.vertex_count());
    const auto each = [&](std::uint32_t chain, const auto& take) {
      const std::vector<vertex>& members = chains.members[chain];
      for (std::size_t i = 0; i < members.size(); ++i) {
        const std::int64_t layer = cut.first_layer(chain) + static_cast<std::int64_t>(i);
        if (layer >= 0 && layer < static_cast<std::int64_t>(cut.layers()))
          take(members[i], static_cast<std::size_t>(layer));
      }
    };
    for (std::uint32_t c = 0; c < chains.members.size(); ++c)
      each(c, [&](vertex v, std::size_t layer) {
        inside[v] = true;
        present[layer].push_back(c);
      });
    if (!is_dense(inside)) return false;

    const std::vector<std::size_t> kind = kinds_of(present);
    std::vector<std::vector<vertex>> kept;
    for (std::uint32_t c = 0; c < chains.members.size(); ++c) {
      std::map<std::size_t, std::vector<vertex>> of_kind;
      each(c, [&](vertex v, std::size_t layer) { of_kind[kind[layer]].push_back(v); });
      for (auto& [k, group] : of_kind)
        if (group.size() > 1) kept.push_back(std::move(group));
    }
    if (kept.size() < least_) return false;
    for (vertex v = 0; v < inside.size(); ++v)
      if (inside[v]) taken_[v] = true;
    for (std::vector<vertex>& group : kept) groups_.push_back(std::move(group));
    return true;
  }

  /// Whether all members of a chain come of its first one, or all of its last one. Copies side by side are no layers.
  [[nodiscard]] bool is_row(const std::vector<vertex>& chain) const {
    const auto leads_to_all = [&](vertex from) {
      std::vector<bool> behind(g_.vertex_count());
      behind[from] = true;
      for (const vertex v : order_)
        for (const auto& e : g_.in(v)) behind[v] = behind[v] || behind[e.source];
      return std::ranges::all_of(chain, [&](vertex v) { return behind[v]; });
    };
    return leads_to_all(chain.front()) || leads_to_all(chain.back());
  }

  /// Whether at least two thirds of what lies between vertices is of their number: norms that return between parts that
  /// differ are no layers.
  [[nodiscard]] bool is_dense(const std::vector<bool>& inside) const {
    std::vector<bool> behind = inside, before = inside;
    for (const vertex v : order_)
      for (const auto& e : g_.in(v)) behind[v] = behind[v] || behind[e.source];
    for (auto v = order_.rbegin(); v != order_.rend(); ++v)
      for (const auto& e : g_.out(*v)) before[*v] = before[*v] || before[e.target];
    std::size_t own = 0, others = 0;
    for (const vertex v : order_) {
      own += inside[v] ? 1U : 0U;
      others += behind[v] && before[v] && !inside[v] && !taken_[v] ? 1U : 0U;
    }
    return own >= 2 * others;
  }

  /// Layers that differ in less than a layer must have are of one kind: the first and the last one lack this and that.
  [[nodiscard]] std::vector<std::size_t> kinds_of(const std::vector<std::vector<std::uint32_t>>& present) const {
    std::vector<std::size_t> first_of, kind;
    for (std::size_t layer = 0; layer < present.size(); ++layer) {
      const auto known = std::ranges::find_if(first_of, [&](std::size_t other) {
        std::vector<std::uint32_t> differing;
        std::ranges::set_symmetric_difference(present[layer], present[other], std::back_inserter(differing));
        return differing.size() < least_;
      });
      kind.push_back(static_cast<std::size_t>(known - first_of.begin()));
      if (known == first_of.end()) first_of.push_back(layer);
    }
    return kind;
  }

  const compressed_graph& g_;
  std::span<const std::uint64_t> content_;
  std::size_t least_;
  std::vector<bool> taken_;
  std::vector<vertex> order_;
  std::vector<std::uint32_t> level_;
  std::array<std::vector<std::uint64_t>, radius + 1> around_;
  std::vector<std::vector<vertex>> groups_;
};

}  // namespace detail

SHARDWEAVE_INLINE std::vector<std::vector<std::uint32_t>> repeated_layers(const compressed_graph& g,
                                                                          std::span<const std::uint64_t> content,
                                                                          const layer_options& options) {
  if (content.size() != g.vertex_count())
    refuse(error_category::input, "the content of " + number_text(content.size(), "vertex", "vertices") +
                                      " is told, expected " + std::to_string(g.vertex_count()));
  return detail::layer_finder(g, content, options.least).run();
}

}  // namespace shardweave::inline v0
