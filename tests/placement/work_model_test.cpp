// What tells the work of a plan, and what lacks one thing of it each. What such models promise beyond their calls is
// tested where they are: batch_parts_lowering, lowered_work, tiny_steps.
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/work_model.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace work_model_tests {
namespace {

using edge = sw::compressed_graph::edge_descriptor;
template <class M>
constexpr bool tells = sw::work_model<M, sw::compressed_graph>;
template <class M>
constexpr bool tells_by_classes = sw::classified_work_model<M, sw::compressed_graph>;
template <class M>
constexpr bool shares = sw::sharing_work_model<M, sw::compressed_graph>;

struct told {
  std::size_t channel_count() const;
  double vertex_time(std::uint32_t, sw::strategy) const;
  sw::edge_work edge_work(edge, sw::strategy, sw::strategy) const;
};
struct in_whole_numbers : told {  // what can become the number that is asked for will do
  int channel_count() const;
  std::int64_t vertex_time(std::uint32_t, sw::strategy) const;
};
static_assert(tells<told> && tells<in_whole_numbers>);
static_assert(!tells_by_classes<told> && !shares<told>);

struct without_channels : told {
  std::size_t channel_count() const = delete;
};
struct without_times : told {
  double vertex_time(std::uint32_t, sw::strategy) const = delete;
};
struct without_edges : told {
  sw::edge_work edge_work(edge, sw::strategy, sw::strategy) const = delete;
};
struct times_in_words : told {
  std::string vertex_time(std::uint32_t, sw::strategy) const;
};
struct work_is_a_number : told {
  double edge_work(edge, sw::strategy, sw::strategy) const;
};
struct work_is_kept : told {  // a view of what the model has: the caller keeps the answer
  const sw::edge_work& edge_work(edge, sw::strategy, sw::strategy) const;
};
struct changes_itself : told {
  sw::edge_work edge_work(edge, sw::strategy, sw::strategy);
};
struct of_another_graph : told {
  sw::edge_work edge_work(std::string, sw::strategy, sw::strategy) const;
};
static_assert(!tells<without_channels> && !tells<without_times> && !tells<without_edges> && !tells<times_in_words>);
static_assert(!tells<work_is_a_number> && !tells<work_is_kept> && !tells<changes_itself> && !tells<of_another_graph>);
static_assert(!tells<int> && !sw::work_model<told, std::vector<int>>);
using undirected = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
static_assert(!sw::work_model<told, undirected>);

struct told_by_classes {
  std::size_t channel_count() const;
  double vertex_time(std::uint32_t, sw::strategy) const;
  std::span<const std::uint32_t> producer_classes(edge) const;
  const std::vector<std::uint32_t>& consumer_classes(edge) const;
  sw::work_patterns edge_patterns(edge) const;
  sw::edge_work pattern_work(edge, std::uint32_t) const;
  std::uint64_t edge_key(edge) const;
};
static_assert(tells_by_classes<told_by_classes> && !tells<told_by_classes>);

struct classes_without_channels : told_by_classes {
  std::size_t channel_count() const = delete;
};
struct classes_without_times : told_by_classes {
  double vertex_time(std::uint32_t, sw::strategy) const = delete;
};
struct without_producers : told_by_classes {
  std::span<const std::uint32_t> producer_classes(edge) const = delete;
};
struct without_consumers : told_by_classes {
  const std::vector<std::uint32_t>& consumer_classes(edge) const = delete;
};
struct classes_of_64_bits : told_by_classes {
  std::span<const std::uint64_t> producer_classes(edge) const;
};
struct without_patterns : told_by_classes {
  sw::work_patterns edge_patterns(edge) const = delete;
};
struct patterns_as_numbers : told_by_classes {
  std::vector<std::uint32_t> edge_patterns(edge) const;
};
struct without_work_of_patterns : told_by_classes {
  sw::edge_work pattern_work(edge, std::uint32_t) const = delete;
};
struct without_keys : told_by_classes {
  std::uint64_t edge_key(edge) const = delete;
};
struct keys_in_words : told_by_classes {
  std::string edge_key(edge) const;
};
static_assert(!tells_by_classes<classes_without_channels> && !tells_by_classes<classes_without_times>);
static_assert(!tells_by_classes<without_producers> && !tells_by_classes<without_consumers>);
static_assert(!tells_by_classes<classes_of_64_bits> && !tells_by_classes<without_patterns>);
static_assert(!tells_by_classes<patterns_as_numbers> && !tells_by_classes<without_work_of_patterns>);
static_assert(!tells_by_classes<without_keys> && !tells_by_classes<keys_in_words>);

struct shared : told {
  std::uint32_t share_key(edge) const;
};
struct shared_by_classes : told_by_classes {
  std::uint64_t share_key(edge) const;
};
struct shared_by_name : told {
  std::string share_key(edge) const;
};
struct shared_and_counted : told {
  std::uint64_t share_key(edge);
};
static_assert(shares<shared> && tells<shared> && shares<shared_by_classes> && tells_by_classes<shared_by_classes>);
static_assert(!shares<shared_by_name> && !shares<shared_and_counted> && !sw::sharing_work_model<shared, int>);

}  // namespace
}  // namespace work_model_tests
