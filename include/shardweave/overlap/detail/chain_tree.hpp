#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

/// \file
/// The savings of prefix and suffix windows as a tree of sums.

namespace shardweave::inline v0::detail {

/// What happens at one position of a chain.
template <class Time>
struct chain_link {
  Time computation{};
  Time ending{};    ///< amounts of prefix windows that end here
  Time starting{};  ///< amounts of suffix windows that start here
  Time without{};   ///< amounts of windows over everything but this position
};

/// The least cut of a chain of n positions, kept under changes of one position in O(log n).
///
/// Savings are the least, over sets Q of positions, of the computation in Q plus the amounts of all windows
/// that Q does not contain (maximum flow, minimum cut; the transport form of Hall's condition). Q falls into
/// runs, and only runs that touch an end of the chain contain a prefix or suffix window; so Q is everything, or
/// positions below boundary i and from boundary j on with i <= j:
///   P(i) + S(j) + what no such Q contains,
///   P(i) = computation below i + prefix amounts ending at i or later,
///   S(j) = computation from j on + suffix amounts starting before j.
/// From one boundary to the next, P grows by computation - ending and S by starting - computation. So a node of
/// the tree holds, relative to its first boundary, the two sums, the two minima and the least P(i) + S(j): a
/// point changes one leaf and its ancestors. A window over everything but q lies in just one Q that is not
/// everything, i = q and j = q + 1: its amount comes off there, in the leaf of q.
template <class Time>
class chain_tree {
 public:
  chain_tree() = default;
  explicit chain_tree(std::size_t positions)
      : links_(positions), leaves_(std::bit_ceil(std::max<std::size_t>(positions, 1))), nodes_(2 * leaves_) {}

  /// Changes a link: `change` is applied to it. Complexity: O(log n)
  template <class Change>
  void edit(std::size_t position, Change change) {
    chain_link<Time>& link = links_[position];
    total_ -= link;
    change(link);
    total_ += link;
    std::size_t i = leaves_ + position;
    const Time forward = Time(link.computation - link.ending), backward = Time(link.starting - link.computation);
    nodes_[i] = {forward, backward, std::min(Time{}, forward), std::min(Time{}, backward),
                 std::min({Time{}, Time(forward + backward), Time(backward - link.without)})};
    while (i /= 2) {
      const node &l = nodes_[2 * i], &r = nodes_[2 * i + 1];
      nodes_[i] = {Time(l.forward + r.forward), Time(l.backward + r.backward),
                   std::min(l.least_forward, Time(l.forward + r.least_forward)),
                   std::min(l.least_backward, Time(l.backward + r.least_backward)),
                   std::min({l.least, Time(l.forward + l.backward + r.least),
                             Time(l.least_forward + l.backward + r.least_backward)})};
    }
  }

  /// The savings, when windows over the whole chain hold `whole` in addition. Complexity: O(1)
  [[nodiscard]] Time savings(Time whole) const {
    // at boundary 0, P is all prefix amounts and S all computation
    const Time some = Time(whole + total_.without + total_.ending + total_.computation + nodes_[1].least);
    return std::min(total_.computation, some);
  }

 private:
  struct node {
    Time forward{};         ///< growth of P over the node
    Time backward{};        ///< growth of S
    Time least_forward{};   ///< the least P at a boundary of the node
    Time least_backward{};  ///< the least S
    Time least{};           ///< the least P(i) + S(j), i <= j
  };
  struct sums : chain_link<Time> {
    void operator+=(const chain_link<Time>& l) {
      this->computation += l.computation;
      this->ending += l.ending;
      this->without += l.without;
    }
    void operator-=(const chain_link<Time>& l) {
      this->computation -= l.computation;
      this->ending -= l.ending;
      this->without -= l.without;
    }
  };

  std::vector<chain_link<Time>> links_;
  std::size_t leaves_ = 1;
  std::vector<node> nodes_ = std::vector<node>(2);
  sums total_;
};

}  // namespace shardweave::inline v0::detail
