#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/last_moment.hpp>
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/json_writer.hpp>

#include <filesystem>
#include <string_view>

/// \file
/// JSON to a file.

namespace shardweave::inline v0 {

/// Writes a file with `write(json_writer&)`; it is there whole or not at all, and compressed if its name ends in
/// ".gz".
/// \param stop  once it is asked for, the file is given up unless it is done in a moment
/// \throws error (system), (stopped) if it was given up, and what `write` throws
template <class Write>
void write_json_file(const std::filesystem::path& path, Write write, const stop_token& stop = {}) {
  const solve_control control{.stop = stop};
  const deadline limit(control);
  last_moment moment(limit);
  atomic_file file(path);
  json_writer out([&](std::string_view piece) {
    if (moment.is_over())
      refuse(error_category::stopped, path.string() + ": was not written to the end before the stop");
    file.write(piece);
  });
  write(out);
  out.flush();
  file.commit();
}

}  // namespace shardweave::inline v0
