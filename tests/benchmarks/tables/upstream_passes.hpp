#pragma once

#include "support/recorded_passes.hpp"
#include <shardweave/io/text_input.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What PyTorch's and AutoParallel's passes made of a captured task graph, as its file tells.

namespace tables {

/// Times in nanoseconds, by the reference timing.
struct upstream_pass {
  std::string name;
  double end_to_end = 0;       ///< with the copies that the pass itself counted
  double end_by_our_rule = 0;  ///< with the file format's copies; where the buckets are not told, without any
  double seconds = 0;          ///< of the pass
};

/// All that the file has, the original order left out.
inline std::vector<upstream_pass> upstream_passes(const std::filesystem::path& file,
                                                  const shardweave::task_graph& graph) {
  namespace sw = shardweave;
  boost::json::stream_parser parser;
  sw::text_input input(file);
  for (std::string_view piece = input.next(); !piece.empty(); piece = input.next())
    parser.write(piece.data(), piece.size());
  parser.finish();
  const auto whole = parser.release();
  std::vector<upstream_pass> passes;
  for (const auto& [name, value] : whole.at("reference").as_object()) {
    if (!value.is_object() || name == "in_order" || !value.as_object().contains("end_to_end")) continue;
    const auto& result = value.as_object();
    upstream_pass pass{.name = std::string(shardweave_test::recorded_pass(name)),
                       .end_to_end = result.at("end_to_end").to_number<double>()};
    pass.end_by_our_rule = result.at("end_to_end_free_pack").to_number<double>();
    if (const auto* starts = result.if_contains("starts"))
      for (const auto& merged : starts->as_array()) {
        std::vector<sw::task_index> members;
        for (const auto& member : merged.as_array()) members.push_back(member.to_number<sw::task_index>());
        if (members.size() < 2) continue;
        const sw::bucket_costs costs = sw::costs_of(graph, sw::make_bucket(graph, std::move(members)));
        pass.end_by_our_rule += static_cast<double>((costs.pack + costs.unpack).count());
      }
    if (const auto* time = result.if_contains("pass_cpu_s"); time != nullptr && time->is_number())
      pass.seconds = time->to_number<double>();
    passes.push_back(std::move(pass));
  }
  return passes;
}

/// \param end  of a pass, which decides
template <class End>
const upstream_pass& first_to_end(const std::vector<upstream_pass>& passes, End end) {
  return *std::min_element(passes.begin(), passes.end(), [&](const auto& a, const auto& b) { return end(a) < end(b); });
}

}  // namespace tables
