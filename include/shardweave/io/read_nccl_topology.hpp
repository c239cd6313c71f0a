#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/nccl_topology.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/detail/xml_tree.hpp>
#include <shardweave/io/text_input.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// \file
/// Reads the topology that NCCL dumps (NCCL_TOPO_DUMP_FILE) and reads (NCCL_TOPO_FILE).

namespace shardweave::inline v0 {
namespace detail {

class nccl_topology_reader {
 public:
  explicit nccl_topology_reader(text_input& input) : tree_(input) {}

  nccl_topology read() {
    const xml_element& root = tree_.nccl_root("system", "topology");
    for (const std::size_t child : root.children)
      if (tree_[child].name == "cpu") read_processor(tree_[child]);
    if (out_.devices.empty()) tree_.fail_at(root, "holds no <gpu>");
    return std::move(out_);
  }

 private:
  static constexpr double no_limit = 1e6;
  static constexpr std::size_t most_devices = static_cast<std::size_t>(nccl_node::max_devices);

  [[nodiscard]] std::int64_t whole_or_zero(const xml_element& e, std::string_view attribute) const {
    const std::string* value = xml_tree::find(e, attribute);
    if (value == nullptr || value->empty()) return 0;
    return tree_.whole(e, attribute, *value, -1, std::int64_t{1} << 40);
  }
  [[nodiscard]] static std::string text_or_nothing(const xml_element& e, std::string_view attribute) {
    const std::string* value = xml_tree::find(e, attribute);
    return value != nullptr ? *value : std::string();
  }

  void read_processor(const xml_element& e) {
    nccl_topology::processor p;
    p.numa = whole_or_zero(e, "numaid");
    p.arch = text_or_nothing(e, "arch");
    p.vendor = text_or_nothing(e, "vendor");
    p.family = whole_or_zero(e, "familyid");
    p.model = whole_or_zero(e, "modelid");
    out_.processors.push_back(std::move(p));
    for (const std::size_t child : e.children) {
      if (tree_[child].name == "pci") {
        ++roots_;
        read_pci(tree_[child], no_limit);
      } else if (tree_[child].name == "nic") {  // not on a bus that is known
        ++roots_;
        read_nic(tree_[child], no_limit);
      }
    }
  }

  /// GB/s of a PCI link: lanes times what a lane of its generation carries; an unknown link counts as 16 lanes of
  /// generation 3.
  [[nodiscard]] double pci_bandwidth(const xml_element& e) const {
    const std::int64_t written = whole_or_zero(e, "link_width");
    const double lanes = written > 0 ? static_cast<double>(std::min<std::int64_t>(written, 64)) : 16;
    const std::string speed = text_or_nothing(e, "link_speed");
    double transfers = 8;  // 10^9 per second
    if (!speed.empty() && speed != "Unknown speed") {
      const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), transfers);
      if (error != std::errc() || !(transfers > 0 && transfers <= 1024))
        tree_.fail_at(e, "link_speed=\"" + shortened(speed) + "\" does not begin with a number of GT/s");
    }
    const double coding = transfers < 8 ? .8 : 1;  // the first two generations send 10 bits for 8
    return lanes * transfers * coding * .75 / 8;   // three quarters of what the link could carry
  }

  void read_pci(const xml_element& e, double above) {
    const double here = std::min(above, pci_bandwidth(e));
    for (const std::size_t child : e.children) {
      const xml_element& c = tree_[child];
      if (c.name == "pci") read_pci(c, here);
      if (c.name == "gpu") read_device(c, e, here);
      if (c.name == "nic") read_nic(c, here);
    }
  }

  void read_device(const xml_element& e, const xml_element& slot, double pci) {
    nccl_topology::device d;
    d.number = tree_.whole(e, "dev", 0, 1 << 20);
    d.bus = tree_.required(slot, "busid");
    d.compute_capability = static_cast<std::int32_t>(tree_.whole(e, "sm", 30, 999));
    d.processor = out_.processors.size() - 1;
    d.root = roots_;
    d.pci_bandwidth = pci;
    for (const std::size_t child : e.children) {
      const xml_element& c = tree_[child];
      if (c.name != "nvlink") continue;
      nccl_topology::nvlinks links;
      links.target = text_or_nothing(c, "target");
      links.count = tree_.whole(c, "count", 0, 1024);
      links.to_switch = text_or_nothing(c, "tclass").starts_with("0x0680");
      d.links.push_back(std::move(links));
    }
    for (const nccl_topology::device& other : out_.devices)
      if (other.bus == d.bus) tree_.fail_at(slot, "has the busid " + shortened(d.bus) + " of another device");
    if (out_.devices.size() == most_devices)
      tree_.fail_at(e, "is one more device than the " + std::to_string(most_devices) + " that can be priced");
    out_.devices.push_back(std::move(d));
  }

  void read_nic(const xml_element& e, double pci) {
    for (const std::size_t child : e.children) {
      const xml_element& c = tree_[child];
      if (c.name != "net") continue;
      nccl_topology::network_device n;
      n.name = text_or_nothing(c, "name");
      n.processor = out_.processors.size() - 1;
      n.root = roots_;
      n.pci_bandwidth = pci;
      const std::int64_t speed = whole_or_zero(c, "speed");  // Mb/s
      n.bandwidth = static_cast<double>(speed > 0 ? std::min<std::int64_t>(speed, 1 << 30) : 10000) / 8000;
      if (const std::string latency = text_or_nothing(c, "latency"); !latency.empty())
        n.latency_us = tree_.decimal(c, "latency", latency, 1e6);
      n.reduces = whole_or_zero(c, "coll") == 1;
      out_.network.push_back(std::move(n));
    }
  }

  xml_tree tree_;
  nccl_topology out_;
  std::size_t roots_ = 0;
};

}  // namespace detail

/// Reads a topology of version 1. Elements and attributes that do not matter to the cost model are passed over. A
/// dump of a machine whose nodes share NVLink holds the whole domain, which then is the node.
/// \throws error (format) that names the line, the element and what was expected there
[[nodiscard]] inline nccl_topology read_nccl_topology(text_source input) {
  return detail::nccl_topology_reader(input).read();
}

}  // namespace shardweave::inline v0
