#include <shardweave/graph/stable_order.hpp>
#include <shardweave/overlap/savings.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstddef>
#include <vector>

std::size_t other();

int main() {
  using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
  graph g(3);
  add_edge(2, 0, g);
  const auto order = shardweave::stable_topological_order(g);
  const auto saved =
      shardweave::hide(std::vector<double>{1, 2}, std::vector<shardweave::hideable<double>>{{{0, 1}, 5}});
  return order == std::vector<std::size_t>{1, 2, 0} && saved.total == 3.0 && other() == 2 ? 0 : 1;
}
