#pragma once

#include <type_traits>

/// \file
/// Detection of abilities that a cost model declares incompletely.

namespace shardweave::inline v0::detail {

/// The members by which optional abilities of a cost model are recognized.
struct ability_members {
  int edge_parts, producer_classes, consumer_classes, class_parts, edge_key, memory_usage, live, memory_limit, hides,
      strategy_name, strategy_labels;
};

/// A member that both bases have is ambiguous here, whatever its kind.
template <class M>
struct with_ability_members : M, ability_members {};

template <class T>
struct asked_about {
  using type = T;
};

/// Whether a class has a member of some name, including overloaded and private ones. For a class that cannot be a base:
/// only a public function that is not overloaded.
/// \param question  a callable that takes `asked_about<T>` if `&T::name` is well-formed
template <class M, class Question>
[[nodiscard]] consteval bool speaks_of(Question) {
  if constexpr (std::is_final_v<M> || !std::is_class_v<M>) {
    return std::is_invocable_v<Question, asked_about<M>>;
  } else {
    return !std::is_invocable_v<Question, asked_about<with_ability_members<M>>>;
  }
}

// one constant per ability
template <class M>
inline constexpr bool speaks_of_parts =
    speaks_of<M>([](auto t) requires requires { &decltype(t)::type::edge_parts; } {});
template <class M>
inline constexpr bool speaks_of_classes =
    speaks_of<M>([](auto t) requires requires { &decltype(t)::type::producer_classes; } {}) ||
    speaks_of<M>([](auto t) requires requires { &decltype(t)::type::consumer_classes; } {}) ||
    speaks_of<M>([](auto t) requires requires { &decltype(t)::type::class_parts; } {}) ||
    speaks_of<M>([](auto t) requires requires { &decltype(t)::type::edge_key; } {});
template <class M>
inline constexpr bool speaks_of_memory =
    speaks_of<M>([](auto t) requires requires { &decltype(t)::type::memory_usage; } {}) ||
    speaks_of<M>([](auto t) requires requires { &decltype(t)::type::live; } {}) ||
    speaks_of<M>([](auto t) requires requires { &decltype(t)::type::memory_limit; } {});
template <class M>
inline constexpr bool speaks_of_hiding = speaks_of<M>([](auto t) requires requires { &decltype(t)::type::hides; } {});
template <class M>
inline constexpr bool speaks_of_names =
    speaks_of<M>([](auto t) requires requires { &decltype(t)::type::strategy_name; } {});
template <class M>
inline constexpr bool speaks_of_labels =
    speaks_of<M>([](auto t) requires requires { &decltype(t)::type::strategy_labels; } {});

}  // namespace shardweave::inline v0::detail
