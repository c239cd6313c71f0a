#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#ifndef SHARDWEAVE_SOURCE_DIR
#define SHARDWEAVE_SOURCE_DIR "."
#endif

/// Real inputs that do not belong to the project: a folder with `data/` in it, named by the environment
/// variable SHARDWEAVE_SHARED or standing beside the source tree. Tests that need one are skipped, and say
/// so, where it is absent.
inline std::optional<std::filesystem::path> shared_data(const std::string& name) {
  const char* named = std::getenv("SHARDWEAVE_SHARED");
  const std::filesystem::path root =
      named != nullptr ? std::filesystem::path(named) : std::filesystem::path(SHARDWEAVE_SOURCE_DIR) / ".." / "shared";
  const std::filesystem::path path = root / "data" / name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return path;
}
