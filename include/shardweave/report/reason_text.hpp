#pragma once

#include <shardweave/tasks/schedule_types.hpp>

#include <string_view>

/// \file
/// Why something was not done, in words for people.

namespace shardweave::inline v0 {

/// A clause on the collective that was refused, for example "the bucket would grow beyond its cap"; the name of the
/// reason in files, `to_string`, is shorter.
[[nodiscard]] constexpr std::string_view reason_text(decision_reason reason) {
  using enum decision_reason;
  switch (reason) {
    case dependency:
      return "needs the result of a member";
    case cycle:
      return "would close a cycle through other buckets";
    case byte_cap:
      return "the bucket would grow beyond its cap";
    case foreign_user:
      return "something besides its wait uses it";
    case no_wait:
      return "nothing waits for it";
    case unpriced:
      return "no table prices the merged collective";
    case no_gain:
      return "copies would cost more than merging saves";
    case alone:
      return "no partner was left";
    case memory_limit:
      return "memory would not suffice";
    case in_flight_limit:
      return "too many bytes would be in flight";
    case distance_limit:
      return "too far ahead, or from the first member";
    case not_mergeable:
      return "collectives of this operation are launched alone";
    case other_role:
      return "moves neither parameters nor their gradients";
    case other_group:
      return "collectives of this group are not bucketed";
    case overlap:
      return "what is hidden would be exposed";
  }
  return "";
}

}  // namespace shardweave::inline v0
