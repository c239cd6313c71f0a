#pragma once

#include <shardweave/core/error.hpp>

#include <string>

/// The message with which `call` refuses its input; empty if it does not.
template <class Call>
std::string refused(Call call) {
  try {
    (void)call();
  } catch (const shardweave::error& e) {
    return e.what();
  }
  return {};
}

/// The text with the first `from` replaced by `to`; the test that asks for it must contain it.
inline std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) return "the test has no '" + from + "' to change";
  return text.replace(at, from.size(), to);
}

inline bool is_one_line(const std::string& message) {
  return !message.empty() && message.find('\n') == std::string::npos;
}
