#pragma once

#include <shardweave/cost/nccl_rule.hpp>
#include <shardweave/cost/nccl_topology.hpp>
#include <shardweave/io/read_nccl_rules.hpp>
#include <shardweave/io/read_nccl_topology.hpp>
#include <shardweave/io/text_input.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

/// Files of NCCL as texts.
namespace nccl_texts {

using namespace shardweave;

inline std::filesystem::path nccl_corpus(const std::string& name) {
  return std::filesystem::path(SHARDWEAVE_SOURCE_DIR) / "tests" / "fuzz" / "corpus" / name;
}

inline nccl_topology topology_of(std::string_view text, std::size_t piece = 7) {
  auto input = text_input::of_memory("t.xml", text, piece);
  return read_nccl_topology(input);
}

inline nccl_rules rules_of(std::string_view text) {
  auto input = text_input::of_memory("t.conf", text, 5);
  return read_nccl_rules(input);
}

/// A system of one processor with what is given in it.
inline std::string nccl_system(const std::string& inside, const std::string& processor = R"(arch="x86_64")") {
  return "<system version=\"1\"><cpu numaid=\"0\" " + processor + ">" + inside + "</cpu></system>";
}

inline std::string nccl_device(int number, const std::string& inside = "", int sm = 80,
                               const std::string& speed = "16.0 GT/s PCIe") {
  return "<pci busid=\"b" + std::to_string(number) + "\" link_speed=\"" + speed + "\" link_width=\"16\"><gpu dev=\"" +
         std::to_string(number) + "\" sm=\"" + std::to_string(sm) + "\">" + inside + "</gpu></pci>";
}

}  // namespace nccl_texts
