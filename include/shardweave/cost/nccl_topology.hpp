#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/nccl_constants.hpp>
#include <shardweave/cost/nccl_node.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

/// \file
/// One node as NCCL sees and dumps it.

namespace shardweave::inline v0 {

/// Processors, devices, network devices and what joins them. Bandwidths are GB/s as NCCL counts them.
struct nccl_topology {
  /// One processor, a NUMA node.
  struct processor {
    std::int64_t numa = 0;
    std::string arch = {};    ///< for example x86_64
    std::string vendor = {};  ///< for example GenuineIntel
    std::int64_t family = 0;
    std::int64_t model = 0;

    friend bool operator==(const processor&, const processor&) = default;
  };
  /// Parallel links of NVLink from one device to another, or to a switch.
  struct nvlinks {
    std::string target = {};  ///< bus id of what they lead to
    std::int64_t count = 0;
    bool to_switch = false;

    friend bool operator==(const nvlinks&, const nvlinks&) = default;
  };
  /// One device, and how it is joined to the rest.
  struct device {
    std::int64_t number = 0;
    std::string bus = {};
    std::int32_t compute_capability = 0;
    std::size_t processor = 0;  ///< an index
    std::size_t root = 0;       ///< number of the outermost PCI device above it; equal: no processor between two
    double pci_bandwidth = 12;  ///< the least on the way to the processor
    std::vector<nvlinks> links = {};

    friend bool operator==(const device&, const device&) = default;
  };
  /// One port of a network card.
  struct network_device {
    std::string name = {};
    std::size_t processor = 0;
    std::size_t root = 0;
    double pci_bandwidth = 12;
    double bandwidth = 0;
    double latency_us = 0;
    bool reduces = false;  ///< SHARP

    friend bool operator==(const network_device&, const network_device&) = default;
  };

  std::vector<processor> processors = {};
  std::vector<device> devices = {};
  std::vector<network_device> network = {};

  friend bool operator==(const nccl_topology&, const nccl_topology&) = default;
};

namespace detail {

/// Between two sockets of a kind, as NCCL has it.
[[nodiscard]] inline double between_sockets(const nccl_topology::processor& p) {
  if (p.arch == "ppc64") return 32;
  if (p.arch == "arm64" || p.arch == "aarch64") return 6;
  if (p.vendor == "AuthenticAMD") return 16;
  if (p.vendor != "GenuineIntel") return 10;
  if (p.family > 6 || p.model >= 0xCF) return 40;
  if (p.model >= 0x8F) return 22;
  return p.model >= 0x55 ? 10 : 6;
}

[[nodiscard]] inline nccl_processor kind_of(const nccl_topology::processor& p) {
  if (p.arch == "arm64" || p.arch == "aarch64") return nccl_processor::arm;
  if (p.vendor == "AuthenticAMD") return nccl_processor::amd;
  return p.vendor == "GenuineIntel" ? nccl_processor::intel : nccl_processor::other;
}

/// Whether NVLink joins all devices: through a switch, or each with each.
[[nodiscard]] inline bool joined_by_nvlink(const nccl_topology& t) {
  for (const nccl_topology::device& d : t.devices) {
    std::set<std::string> reached{d.bus};
    bool switched = false;
    for (const nccl_topology::nvlinks& l : d.links) {
      switched = switched || (l.to_switch && l.count > 0);
      if (l.count > 0) reached.insert(l.target);
    }
    const bool all = std::all_of(t.devices.begin(), t.devices.end(),
                                 [&](const nccl_topology::device& other) { return reached.count(other.bus) > 0; });
    if (!switched && !all) return false;
  }
  return !t.devices.empty();
}

}  // namespace detail

/// The node that the topology describes. Where devices or network devices differ, the slowest counts.
///
/// Nodes without NVLink between all devices are treated as PCI nodes: channels are rings that cross every PCI link and
/// the connection between sockets once in each direction; through an Intel processor devices reach five sixths of
/// PCI. NCCL's search may do better on boards with links between some devices; it was not compared on such nodes.
/// \throws error (input) if there is no device
[[nodiscard]] inline nccl_node nccl_node_of(const nccl_topology& t) {
  if (t.devices.empty()) refuse(error_category::input, "the topology has no device");
  nccl_node node;
  node.source = "NCCL topology";
  node.devices = static_cast<std::int64_t>(t.devices.size());
  node.compute_capability = t.devices.front().compute_capability;
  bool processors_differ = false;
  for (const nccl_topology::device& d : t.devices) {
    node.compute_capability = std::min(node.compute_capability, d.compute_capability);
    processors_differ = processors_differ || d.processor != t.devices.front().processor;
  }
  if (!t.processors.empty()) node.processor = detail::kind_of(t.processors.front());
  for (const nccl_topology::processor& p : t.processors)
    if (detail::kind_of(p) != node.processor) node.processor = nccl_processor::amd;  // a mixture counts as AMD

  node.has_switch = false;
  bool one_root = true;
  double pci = t.devices.front().pci_bandwidth;
  double nvlink = 1e9;
  for (const nccl_topology::device& d : t.devices) {
    std::int64_t links = 0;
    for (const nccl_topology::nvlinks& l : d.links) {
      links += l.count;
      node.has_switch = node.has_switch || l.to_switch;
    }
    nvlink = std::min(nvlink, static_cast<double>(links) * nvlink_bandwidth(d.compute_capability));
    pci = std::min(pci, d.pci_bandwidth);
    one_root = one_root && d.root == t.devices.front().root;
  }
  if (node.devices > 1 && detail::joined_by_nvlink(t)) {
    node.link = nccl_link::nvlink;
    node.link_bandwidth = nvlink;
  } else {
    node.link = nccl_link::pci;
    if (!one_root && node.processor == nccl_processor::intel) pci *= 5.0 / 6;
    if (processors_differ) pci = std::min(pci, detail::between_sockets(t.processors[t.devices.front().processor]));
    node.link_bandwidth = pci;
    node.has_switch = false;
  }
  node.has_multicast = node.has_switch && node.generation() >= nccl_generation::hopper;

  node.nics = static_cast<std::int64_t>(t.network.size());
  node.nic_bandwidth = t.network.empty() ? 0 : 1e9;
  node.has_sharp = !t.network.empty();
  for (const nccl_topology::network_device& n : t.network) {
    node.nic_bandwidth = std::min({node.nic_bandwidth, n.bandwidth, n.pci_bandwidth});
    node.network_latency_us = std::max(node.network_latency_us, n.latency_us);
    node.has_sharp = node.has_sharp && n.reduces;
    const bool near = std::any_of(t.devices.begin(), t.devices.end(),
                                  [&](const nccl_topology::device& d) { return d.root == n.root; });
    // before Hopper LL128 wants a network device below the same PCI switch
    if (!near && node.compute_capability < 90) node.ll128_crosses_network = false;
  }
  return node;
}

}  // namespace shardweave::inline v0
