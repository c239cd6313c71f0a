#pragma once

#include <shardweave/core/error.hpp>

#include <filesystem>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// \file
/// Files of a command line that must not be one.

namespace programs {

/// Refuses two names of one file: what one of them holds would be lost. Empty names and "-" are none, and what is no
/// ordinary file, such as /dev/null, may be named as often as one likes.
/// \param files  what each is, as the message calls it, and its name
inline void require_distinct(std::initializer_list<std::pair<std::string_view, std::filesystem::path>> files) {
  std::map<std::filesystem::path, std::string_view> known;
  for (const auto& [what, file] : files) {
    std::error_code ignored;
    if (file.empty() || file == "-") continue;
    if (std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored)) continue;
    // of a relative name that is not there yet nothing would be canonical
    const std::filesystem::path there =
        std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored);
    if (ignored) continue;  // whoever opens it says what is wrong with it
    const auto [at, is_new] = known.try_emplace(there, what);
    if (!is_new)
      shardweave::refuse(shardweave::error_category::input, std::string(what) + ": " + file.string() + " is " +
                                                                std::string(at->second) +
                                                                ", too, expected a file of its own");
  }
}

}  // namespace programs
