#pragma once

#include <support/skipped.hpp>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#ifndef SHARDWEAVE_SOURCE_DIR
#define SHARDWEAVE_SOURCE_DIR "."
#endif
#ifndef SHARDWEAVE_TEST_DATA
#define SHARDWEAVE_TEST_DATA SHARDWEAVE_SOURCE_DIR "/build/data"
#endif

/// A real input, such as "tasks/llama3-8b-fw-64-1d.json.gz", or a folder of them: from `data/` of the folder that the
/// environment variable SHARDWEAVE_SHARED names, or that stands beside the source tree; else from what the build
/// unpacked of tests/data, where files are plain. Where it is in neither, says that what needs it is skipped.
inline std::optional<std::filesystem::path> shared_data(const std::string& name) {
  const char* named = std::getenv("SHARDWEAVE_SHARED");
  const std::filesystem::path shared =
      named != nullptr ? std::filesystem::path(named) : std::filesystem::path(SHARDWEAVE_SOURCE_DIR) / ".." / "shared";
  std::vector<std::filesystem::path> places = {shared / "data" / name,
                                               std::filesystem::path(SHARDWEAVE_TEST_DATA) / name};
  if (name.ends_with(".gz")) places.push_back(places.back().parent_path() / places.back().stem());
  std::error_code ignored;
  for (const std::filesystem::path& path : places)
    if (std::filesystem::exists(path, ignored)) return path;
  shardweave_test::skipped(name + " is not there");
  return std::nullopt;
}
