#pragma once

#include <cstddef>
#include <memory>
#include <utility>

/// \file
/// A limit on what eliminations make.

namespace shardweave::inline v0::detail {

/// How many numbers tables and lists that eliminations make may hold at once. A step of a few bytes may ask for a table
/// of all strategies of two unknowns, so that without a limit memory would grow with what a proof asks for.
class number_room {
 public:
  explicit number_room(std::size_t most) : most_(most) {}

  [[nodiscard]] std::size_t most() const { return most_; }
  /// Whether so many more may be made.
  [[nodiscard]] bool has(std::size_t numbers) const { return numbers <= most_ - *held_; }
  /// \pre has(numbers)
  /// \returns what was made; the room it takes is free again once nobody has it
  template <class T>
  [[nodiscard]] std::shared_ptr<const T> keep(T made, std::size_t numbers) {
    auto result = std::shared_ptr<const T>(new T(std::move(made)), [held = held_, numbers](const T* gone) {
      *held -= numbers;
      delete gone;
    });
    *held_ += numbers;
    return result;
  }

 private:
  std::size_t most_;
  std::shared_ptr<std::size_t> held_ = std::make_shared<std::size_t>(0);
};

}  // namespace shardweave::inline v0::detail
