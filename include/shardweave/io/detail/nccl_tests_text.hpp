#pragma once

#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/detail/shortened.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The standard output of nccl-tests.

namespace shardweave::inline v0::detail {

[[nodiscard]] inline std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view blank = " \t\r";
  for (std::size_t at = line.find_first_not_of(blank); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blank, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(blank, end);
  }
  return words;
}

/// Comment lines tell the program ("Collective test starting: all_reduce_perf") and the ranks ("Rank 0 ... on HOST
/// device ..."); a line of results has size, count, type, redop, root and twice time, algbw, busbw, #wrong. What
/// stands between (logs of NCCL) is skipped. nccl-tests states full sizes and microseconds, as we do.
[[nodiscard]] inline std::vector<measured_record> read_nccl_tests(const record_text& source,
                                                                  const record_options& options) {
  std::optional<collective> kind = options.kind;
  std::map<std::string_view, std::int64_t> ranks_on;  // by host
  std::int64_t ranks = 0;
  struct result {
    std::int64_t size;
    double time;
    const char* placement;
  };
  std::vector<result> results;
  source.lines([&](std::size_t number, std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) return;
    if (words.front() == "#") {
      for (std::size_t i = 1; i + 1 < words.size(); ++i) {
        if (words[i] == "starting:" && !kind) {
          kind = collective_of_name(words[i + 1]);
          if (!kind)
            source.fail(number, "the test is '" + shortened(words[i + 1]) +
                                    "', expected that of one of all_gather, reduce_scatter, all_reduce, alltoall");
        }
        if (words[1] == "Rank" && words[i] == "on") {
          ++ranks;
          ++ranks_on[words[i + 1]];
          break;
        }
      }
      return;
    }
    if (words.front().find_first_not_of("0123456789") != std::string_view::npos) return;
    if (words.size() != 13 && words.size() != 9)
      source.fail(number, "a result has " + std::to_string(words.size()) +
                              " columns, expected 13 (or 9 without one of both placements)");
    const std::int64_t size = source.count(number, "size", words[0]);
    if (size == 0) return;  // nothing was moved: the program was asked for sizes smaller than an element per rank
    results.push_back({size, source.time(number, "time", words[5]), "out"});
    if (words.size() == 13) results.push_back({size, source.time(number, "time", words[9]), "in"});
  });
  if (results.empty()) return {};
  if (!kind)
    refuse(error_category::input, source.name + ": does not say which collective was measured (no line 'Collective " +
                                      "test starting'), and none was given");
  group_shape group = options.group.value_or(group_shape{});
  if (!options.group) {
    const auto nodes = static_cast<std::int64_t>(ranks_on.size());
    const bool is_even =
        std::all_of(ranks_on.begin(), ranks_on.end(), [&](const auto& host) { return host.second * nodes == ranks; });
    if (ranks < 2 || !is_even)
      refuse(error_category::input, source.name + ": lists " + std::to_string(ranks) + " ranks on " +
                                        std::to_string(nodes) +
                                        " hosts; expected two or more, and as many on each, or a group to be given");
    group = {ranks / nodes, nodes};
  }
  std::vector<measured_record> records;
  for (const result& r : results) records.push_back({{*kind, group, bytes(r.size), r.time}, {}, r.placement, {}});
  return records;
}

}  // namespace shardweave::inline v0::detail
