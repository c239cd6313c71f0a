#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/nccl_constants.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>

/// \file
/// What NCCL's model needs to know about a machine.

namespace shardweave::inline v0 {

/// What joins the devices of a node.
enum class nccl_link : std::uint8_t {
  nvlink,  ///< every device reaches every other at full speed
  pci      ///< through switches and processors
};
/// The maker of a node's processors, or their kind, as NCCL's figures tell them apart.
enum class nccl_processor : std::uint8_t { intel, amd, arm, other };

/// A node, or a whole NVLink domain where nodes share one: everything that NCCL's search for channels and its cost
/// model would ask the hardware. Bandwidths are GB/s with G = 10^9, per direction, as NCCL counts them.
struct nccl_node {
  std::string name = {};
  std::int32_t compute_capability = 90;  ///< for example 90 for 9.0
  std::int64_t devices = 8;
  nccl_link link = nccl_link::nvlink;
  double link_bandwidth = 370.8;  ///< of one device to the others together
  bool has_switch = true;         ///< NVSwitch
  bool has_multicast = true;      ///< the switch multiplies and reduces: NVLS
  std::int64_t nics = 8;          ///< network devices of the node; 0 = it stands alone
  double nic_bandwidth = 50;      ///< of each
  /// What the network plugin declares: 0 for InfiniBand and sockets; measured fits are 20 us on AWS p5 and 68 us
  /// on p4d.
  double network_latency_us = 0;
  bool ll128_crosses_network = true;  ///< devices are near enough to their network devices
  bool has_sharp = false;             ///< the network reduces: CollNet with its plugin
  nccl_processor processor = nccl_processor::intel;
  std::int32_t max_channels = 64;  ///< NCCL_MAX_CTAS
  std::string source = {};         ///< where the figures come from

  [[nodiscard]] constexpr nccl_generation generation() const {
    if (compute_capability >= 100) return nccl_generation::blackwell;
    if (compute_capability >= 90) return nccl_generation::hopper;
    return compute_capability >= 80 ? nccl_generation::ampere : nccl_generation::volta;
  }
  friend bool operator==(const nccl_node&, const nccl_node&) = default;

  /// \throws error (input) that names what a node cannot have
  void validate() const {
    const std::string who = name.empty() ? "the node" : "node '" + name + "'";
    const auto fail = [&](const std::string& what) { refuse(error_category::input, who + " " + what); };
    if (devices < 1 || devices > max_devices)
      fail("has " + std::to_string(devices) + " devices; 1 to " + std::to_string(max_devices) + " can be priced");
    if (devices > 1 && !(link_bandwidth > 0 && link_bandwidth < 1e9)) fail("states no bandwidth between its devices");
    if (nics < 0) fail("has a negative number of network devices");
    if (nics > 0 && !(nic_bandwidth > 0 && nic_bandwidth < 1e9)) fail("states no bandwidth of its network devices");
    if (!(network_latency_us >= 0 && network_latency_us < 1e9)) fail("states a latency below 0 of its network");
    if (max_channels < 1) fail("allows no channel");
  }

  static constexpr std::int64_t max_devices = 1024;
};

/// NCCL's figure for one NVLink, by compute capability.
[[nodiscard]] constexpr double nvlink_bandwidth(std::int32_t compute_capability) {
  if (compute_capability >= 100) return 40.1;
  if (compute_capability >= 90) return 20.6;
  if (compute_capability == 86) return 12;
  return compute_capability == 60 ? 18 : 20;
}

/// The nodes known by name: the vendor's common board of each generation.
[[nodiscard]] inline std::span<const nccl_node> known_nccl_nodes() {
  static const std::array nodes{
      nccl_node{.name = "a100",
                .compute_capability = 80,
                .link_bandwidth = 12 * 20.0,
                .has_multicast = false,
                .nic_bandwidth = 25,
                .processor = nccl_processor::amd,
                .source = "DGX A100: 12 NVLinks per device, 8 x 200 Gb/s (data sheet); 20 GB/s per link (NCCL)"},
      nccl_node{.name = "h100",
                .link_bandwidth = 18 * 20.6,
                .source = "DGX H100: 18 NVLinks per device, 8 x 400 Gb/s (data sheet); 20.6 GB/s per link (NCCL); "
                          "agrees with tuning logs of NCCL 2.27.5"},
      nccl_node{.name = "h200",
                .link_bandwidth = 18 * 20.6,
                .source = "DGX H200: links and network of the H100 board (data sheet)"},
      nccl_node{.name = "b200",
                .compute_capability = 100,
                .link_bandwidth = 18 * 40.1,
                .source = "DGX B200: 18 NVLinks per device, 8 x 400 Gb/s (data sheet); 40.1 GB/s per link (NCCL)"},
      nccl_node{.name = "gb200",
                .compute_capability = 100,
                .devices = 72,
                .link_bandwidth = 18 * 40.1,
                .nics = 72,
                .processor = nccl_processor::arm,
                .source = "GB200 NVL72: one NVLink domain of 72 devices, 400 Gb/s each (data sheet); 40.1 GB/s per "
                          "link (NCCL)"},
  };
  return nodes;
}

/// The node that a device sits in: the known one of that name; otherwise one made of the profile's figures, with one
/// network device per device. For devices that NCCL does not run on (architecture `other`), the constants of Ampere
/// stand in: good enough to order plans, compared with nothing.
[[nodiscard]] inline nccl_node nccl_node_of(const device_profile& device) {
  for (const nccl_node& node : known_nccl_nodes())
    if (node.name == device.name) return node;
  nccl_node node;
  node.name = device.name;
  node.compute_capability = device.family == architecture::blackwell ? 100
                            : device.family == architecture::hopper  ? 90
                                                                     : 80;
  node.devices = device.devices_per_node;
  node.link_bandwidth = device.link_bandwidth;
  node.has_switch = device.has_switch;
  node.has_multicast = device.has_switch && node.generation() >= nccl_generation::hopper;
  node.nics = device.devices_per_node;
  node.nic_bandwidth = device.network_bandwidth;
  node.source = "figures of the device profile";
  if (device.family == architecture::other) node.source += "; NCCL's constants of Ampere stand in";
  return node;
}

}  // namespace shardweave::inline v0
