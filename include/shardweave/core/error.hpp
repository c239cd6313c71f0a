#pragma once

#include <boost/throw_exception.hpp>

#include <cassert>
#include <stdexcept>
#include <string>

/// \file
/// How the library refuses wrong data.

namespace shardweave::inline v0 {

/// What kind of mistake an `error` reports.
enum class error_category {
  input,       ///< data of a caller or a file: a cost, an index, a shape
  format,      ///< a file that is cut, malformed or of another version
  constraint,  ///< constraints that no assignment can meet, found while compiling
  backend,     ///< an external solver or engine failed
  stopped,     ///< a stop request or time limit ended work that has no partial result
  system       ///< a file cannot be opened or written
};

/// Wrong data. The message names the culprit (vertex, edge, field, byte offset), what was found and what
/// was expected. That nothing is feasible is an error (`constraint`) only where a problem is compiled; solvers,
/// and `planner`, which catches it, say so by a status.
class error : public std::runtime_error {
 public:
  error(error_category category, const std::string& message) : std::runtime_error(message), category_(category) {}
  [[nodiscard]] error_category category() const noexcept { return category_; }

 private:
  error_category category_;
};

/// Throws an `error`; the only way out of the library for wrong data, so that a host without exceptions
/// needs to supply nothing but `boost::throw_exception`.
[[noreturn]] inline void refuse(error_category category, const std::string& message) {
  boost::throw_exception(error(category, message));
}

}  // namespace shardweave::inline v0

/// A promise of the caller, documented as `\pre`; checked in debug builds only.
#define SHARDWEAVE_EXPECTS(condition) assert(condition)
