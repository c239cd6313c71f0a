#pragma once

#include <boost/graph/graph_traits.hpp>
#include <boost/property_map/property_map.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

/// \file
/// What the algorithms ask of a graph and of the maps that hold its data.

namespace shardweave::inline v0 {

/// Says that naming `boost::graph_traits<G>` is safe: Boost's primary template is a hard error for a type
/// that is not a graph. Specialize to `true` for a graph whose traits are a specialization.
template <class G>
inline constexpr bool enable_graph = requires {
  typename G::vertex_descriptor;
  typename G::edge_descriptor;
  typename G::directed_category;
  typename G::edge_parallel_category;
  typename G::traversal_category;
};

/// The descriptor of a vertex of `G`.
template <class G>
  requires enable_graph<G>
using vertex_t = typename boost::graph_traits<G>::vertex_descriptor;

/// The descriptor of an edge of `G`.
template <class G>
  requires enable_graph<G>
using edge_t = typename boost::graph_traits<G>::edge_descriptor;

/// A graph whose traversal category promises `Tag`. The tag is asked before any call: adaptors declare functions
/// that do not compile (`filtered_graph` has `in_edges` over every graph).
template <class G, class Tag>
concept traversable_graph =
    enable_graph<G> && std::derived_from<typename boost::graph_traits<G>::traversal_category, Tag>;

/// A directed graph whose vertices, edges and out-edges can be listed. An edge runs from producer to
/// consumer; parallel edges are separate edges.
///
/// The compiler checks tags and calls; a graph also promises that a listing gives the same order each time
/// while the graph does not change, and that `num_vertices` and `num_edges` count what is listed.
template <class G>
concept planning_graph =
    enable_graph<G> && std::derived_from<typename boost::graph_traits<G>::directed_category, boost::directed_tag> &&
    traversable_graph<G, boost::vertex_list_graph_tag> && traversable_graph<G, boost::edge_list_graph_tag> &&
    traversable_graph<G, boost::incidence_graph_tag> && requires(const G& g, vertex_t<G> v, edge_t<G> e) {
      { num_vertices(g) } -> std::convertible_to<std::size_t>;
      { num_edges(g) } -> std::convertible_to<std::size_t>;
      vertices(g);
      edges(g);
      out_edges(v, g);
      { source(e, g) } -> std::convertible_to<vertex_t<G>>;
      { target(e, g) } -> std::convertible_to<vertex_t<G>>;
    };

/// A property map that takes a `Key`. Boost declares `get` and `put` of most maps for any key at all, so the
/// map's own key type decides; `void` stands for a map that ignores its key.
template <class Map, class Key>
concept keyed_map = requires { typename boost::property_traits<Map>::key_type; } &&
                    (std::is_void_v<typename boost::property_traits<Map>::key_type> ||
                     std::convertible_to<const Key&, typename boost::property_traits<Map>::key_type>);

/// A property map whose values can be read for `Key`.
template <class Map, class Key>
concept readable_map =
    keyed_map<Map, Key> &&
    std::derived_from<typename boost::property_traits<Map>::category, boost::readable_property_map_tag> &&
    requires(const Map& map, const Key& key) {
      { get(map, key) } -> std::convertible_to<typename boost::property_traits<Map>::value_type>;
    };

/// A property map into which values for `Key` can be written. The call alone proves nothing: Boost declares
/// `put` for maps over const data too, and tags them as writable.
template <class Map, class Key, class Value>
concept writable_map =
    keyed_map<Map, Key> &&
    std::derived_from<typename boost::property_traits<Map>::category, boost::writable_property_map_tag> &&
    (!std::derived_from<typename boost::property_traits<Map>::category, boost::lvalue_property_map_tag> || requires {
      std::declval<typename boost::property_traits<Map>::reference>() = std::declval<Value>();
    }) && requires(const Map& map, const Key& key, Value value) { put(map, key, value); };

/// What a property map holds.
template <class Map>
using map_value_t = typename boost::property_traits<Map>::value_type;

namespace detail {
/// Whether a graph that was given is one; a static assertion says so of anything else.
template <class G>
[[nodiscard]] consteval bool is_graph() {
  static_assert(planning_graph<G>,
                "A graph must be a directed graph of Boost.Graph whose vertices, edges and out-edges can be listed "
                "(shardweave::planning_graph).");
  return planning_graph<G>;
}
/// The same of a map of a graph's data.
template <class Map, class Key>
[[nodiscard]] consteval bool is_map() {
  static_assert(readable_map<Map, Key>,
                "What holds data of a graph must be a property map that takes its vertices or edges and gives values "
                "(shardweave::readable_map).");
  return readable_map<Map, Key>;
}
/// The same of a map that takes results.
template <class Map, class Key, class Value>
[[nodiscard]] consteval bool is_writable_map() {
  static_assert(writable_map<Map, Key, Value>,
                "What takes results must be a property map of the graph's vertices or edges into which they can be put "
                "(shardweave::writable_map).");
  return writable_map<Map, Key, Value>;
}

/// The descriptor of a vertex; any type for what is no graph, so that it is told once.
template <class G>
struct vertex_of {
  using type = std::size_t;
};
template <class G>
  requires enable_graph<G>
struct vertex_of<G> {
  using type = vertex_t<G>;
};
}  // namespace detail

}  // namespace shardweave::inline v0
