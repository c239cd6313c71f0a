#pragma once

#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/io/detail/xml_tree.hpp>
#include <shardweave/io/text_input.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

/// \file
/// Reads the channels that NCCL dumps (NCCL_GRAPH_DUMP_FILE) and reads (NCCL_GRAPH_FILE).

namespace shardweave::inline v0 {
namespace detail {

class nccl_graphs_reader {
 public:
  explicit nccl_graphs_reader(text_input& input) : tree_(input) {}

  nccl_known_layout read() {
    const xml_element& root = tree_.nccl_root("graphs", "graph file");
    for (const std::size_t child : root.children)
      if (tree_[child].name == "graph") read_graph(tree_[child]);
    if (out_.layout.ring.count == 0) tree_.fail_at(root, "holds no ring (graph 0) with channels");
    if (out_.layout.tree.count == 0) out_.layout.tree = out_.layout.ring;
    return out_;
  }

 private:
  static constexpr std::int64_t ring = 0, tree = 1, collnet_chain = 2, nvls = 3, collnet_direct = 4;
  static constexpr std::int64_t pattern_of_one_entry = 3;

  void read_graph(const xml_element& e) {
    const std::int64_t id = tree_.whole(e, "id", 0, 64);
    nccl_paths paths;
    paths.count = static_cast<std::int32_t>(tree_.whole(e, "nchannels", 0, 1024));
    paths.inside = tree_.decimal(e, "speedintra", tree_.required(e, "speedintra"), 1e6);
    paths.between = tree_.decimal(e, "speedinter", tree_.required(e, "speedinter"), 1e6);
    if (paths.count > 0 && !(paths.inside > 0 && paths.between > 0)) tree_.fail_at(e, "has channels of no speed");
    if (const std::string* latency = xml_tree::find(e, "latencyinter"))
      out_.network_latency_us = std::max(out_.network_latency_us, tree_.decimal(e, "latencyinter", *latency, 1e6));
    if (id == ring) {
      out_.layout.ring = paths;
      count_ranks(e);
    } else if (id == tree) {
      out_.layout.tree = paths;
      out_.layout.tree_enters_at_one = tree_.whole(e, "pattern", 0, 64) == pattern_of_one_entry;
    } else if (id == nvls) {
      out_.layout.nvls = paths;
    } else if (id == collnet_direct || (id == collnet_chain && out_.layout.collnet.count == 0)) {
      out_.layout.collnet = paths;
    }
  }

  /// A channel of a ring lists every device of the node once, and network devices if it leaves the node.
  void count_ranks(const xml_element& e) {
    for (const std::size_t child : e.children) {
      if (tree_[child].name != "channel") continue;
      std::int64_t ranks = 0;
      for (const std::size_t hop : tree_[child].children) {
        if (tree_[hop].name == "gpu") ++ranks;
        if (tree_[hop].name == "net") out_.several = true;
      }
      if (ranks == 0) tree_.fail_at(tree_[child], "holds no <gpu>");
      out_.ranks_per_node = ranks;
      return;
    }
    if (out_.layout.ring.count > 0) tree_.fail_at(e, "holds no <channel>");
  }

  xml_tree tree_;
  nccl_known_layout out_;
};

}  // namespace detail

/// Reads channels of version 1, to stand in `nccl_tuner_options::layouts` for what NCCL found on a machine whose search
/// the closed form does not know. They hold for groups of as many ranks per node as the ring passes; for one node, or
/// for several if the ring passes network devices.
/// \throws error (format) that names the line, the element and what was expected there
[[nodiscard]] inline nccl_known_layout read_nccl_graphs(text_source input) {
  return detail::nccl_graphs_reader(input).read();
}

}  // namespace shardweave::inline v0
