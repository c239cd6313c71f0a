#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/nccl_constants.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Which algorithms and protocols NCCL may use, as its environment variables say it.

namespace shardweave::inline v0 {

/// The operations that NCCL's cost model prices, in its order.
enum class nccl_operation : std::uint8_t { broadcast, reduce, all_gather, reduce_scatter, all_reduce };
/// How many enumerators `nccl_operation` has.
inline constexpr std::size_t nccl_operation_count = 5;

/// The name as NCCL's tuner files and environment spell it, in lower case.
[[nodiscard]] constexpr std::string_view name_of(nccl_operation o) {
  constexpr std::string_view names[] = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"};
  return names[static_cast<std::size_t>(o)];
}

/// The operation behind a collective; none behind an all-to-all and a shift, which NCCL does not price.
[[nodiscard]] constexpr std::optional<nccl_operation> nccl_operation_of(collective kind) {
  switch (kind) {
    case collective::all_gather:
      return nccl_operation::all_gather;
    case collective::reduce_scatter:
      return nccl_operation::reduce_scatter;
    case collective::all_reduce:
      return nccl_operation::all_reduce;
    case collective::all_to_all:
    case collective::shift:
    case collective::other:
      break;
  }
  return std::nullopt;
}

/// Which algorithms and protocols each operation may use; all of them, unless said otherwise.
class nccl_filter {
 public:
  nccl_filter() {
    for (auto& row : algorithms_) row.fill(true);
    for (auto& row : protocols_) row.fill(true);
  }
  /// From what NCCL_ALGO and NCCL_PROTO hold: `[OPERATION:][^]NAME,NAME;OPERATION:...` in letters of either case.
  /// A list replaces what was allowed; behind `^` it names what is not. Only the first part may lack an operation,
  /// and then speaks of all. An empty text allows everything.
  /// \throws error (input) that names an unknown word and the variable
  explicit nccl_filter(std::string_view algorithms, std::string_view protocols = {}) : nccl_filter() {
    parse<nccl_algorithm>(algorithms, "NCCL_ALGO", algorithms_);
    parse<nccl_protocol>(protocols, "NCCL_PROTO", protocols_);
  }

  [[nodiscard]] bool allows(nccl_operation o, nccl_algorithm a) const {
    return algorithms_[static_cast<std::size_t>(o)][static_cast<std::size_t>(a)];
  }
  [[nodiscard]] bool allows(nccl_operation o, nccl_protocol p) const {
    return protocols_[static_cast<std::size_t>(o)][static_cast<std::size_t>(p)];
  }
  friend bool operator==(const nccl_filter&, const nccl_filter&) = default;

 private:
  template <std::size_t Count>
  using rows = std::array<std::array<bool, Count>, nccl_operation_count>;

  static std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
  }
  static std::string cut(std::string& rest, char at) {
    const std::size_t end = rest.find(at);
    std::string first = rest.substr(0, end);
    rest = end == std::string::npos ? std::string() : rest.substr(end + 1);
    return first;
  }
  template <class Word, std::size_t Count>
  static std::size_t number_of(const std::string& word, std::string_view variable) {
    std::string known;
    for (std::size_t i = 0; i < Count; ++i) {
      std::string name(name_of(static_cast<Word>(i)));
      std::string joined;  // NCCL writes NVLSTREE and COLLNETDIRECT here, and nvls_tree in tuner files
      for (const char c : name)
        if (c != '_') joined += c;
      if (word == name || word == joined) return i;
      known += (known.empty() ? "" : ", ") + joined;
    }
    refuse(error_category::input, std::string(variable) + " names '" + word + "', which is none of " + known);
  }

  template <class Word, std::size_t Count>
  static void parse(std::string_view text, std::string_view variable, rows<Count>& allowed) {
    std::string rest = lower(text);
    for (bool first = true; !rest.empty(); first = false) {
      std::string list = cut(rest, ';');
      std::optional<std::size_t> only;
      if (list.find(':') != std::string::npos)
        only = number_of<nccl_operation, nccl_operation_count>(cut(list, ':'), variable);
      if (!only && !first)
        refuse(error_category::input,
               std::string(variable) + " lacks the operation before '" + list + "'; only its first part may");
      const bool inverted = !list.empty() && list.front() == '^';
      if (inverted) list.erase(0, 1);
      std::array<bool, Count> row{};
      row.fill(inverted);
      while (!list.empty()) row[number_of<Word, Count>(cut(list, ','), variable)] = !inverted;
      for (std::size_t o = 0; o < nccl_operation_count; ++o)
        if (!only || *only == o) allowed[o] = row;
    }
  }

  rows<nccl_algorithm_count> algorithms_{};
  rows<nccl_protocol_count> protocols_{};
};

}  // namespace shardweave::inline v0
