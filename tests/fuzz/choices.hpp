#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// \file
/// Small choices read off a fuzzer's input, for targets whose input is no text.

namespace fuzz {

/// One byte per choice; where the input has ended the first is chosen. So every input says something, short ones
/// something small, and a byte more or less changes what follows.
class choices {
 public:
  choices(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  /// 0, ..., n - 1. \pre 0 < n <= 256
  [[nodiscard]] std::size_t below(std::size_t n) { return at_ == end_ ? 0 : *at_++ % n; }
  [[nodiscard]] bool maybe() { return below(2) == 1; }
  /// Of so many bytes as probable is; no where the input has ended.
  [[nodiscard]] bool chance(double probable) { return 255.0 - static_cast<double>(below(256)) < 256 * probable; }
  template <class T, std::size_t N>
  [[nodiscard]] const T& one_of(const std::array<T, N>& all) {
    return all[below(N)];
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace fuzz
