#pragma once

#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/json_writer.hpp>

#include <filesystem>
#include <string_view>

/// \file
/// JSON to a file.

namespace shardweave::inline v0 {

/// Writes a file with `write(json_writer&)`; it is there whole or not at all, and compressed if its name ends in
/// ".gz".
/// \throws error (system), and what `write` throws
template <class Write>
void write_json_file(const std::filesystem::path& path, Write write) {
  atomic_file file(path);
  json_writer out([&](std::string_view piece) { file.write(piece); });
  write(out);
  out.flush();
  file.commit();
}

}  // namespace shardweave::inline v0
