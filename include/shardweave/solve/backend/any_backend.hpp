#pragma once

#include <shardweave/solve/backend/backend.hpp>

#include <concepts>
#include <functional>
#include <string_view>
#include <utility>

/// \file
/// A backend that is chosen at run time.

namespace shardweave::inline v0 {

/// Type-erased backend, so that solvers over it are compiled once and a configuration can name it. Costs an indirect
/// call per solve, which is negligible. Counts as an `integer_backend` whatever it holds: `clp`, which has no integer
/// columns, refuses such models only when it solves.
class any_backend {
 public:
  std::string_view name;  ///< of what it holds

  template <class Backend>
    requires(!std::same_as<Backend, any_backend>)
  explicit any_backend(Backend engine) {
    static_assert(
        linear_backend<Backend>,
        "A backend must have a member name and a const member solve(linear_model, backend_limits) that returns "
        "a backend_outcome (shardweave::linear_backend).");
    if constexpr (linear_backend<Backend>) {
      name = engine.name;
      solve_ = [engine = std::move(engine)](const linear_model& model, const backend_limits& limits) {
        return engine.solve(model, limits);
      };
    }
  }

  /// \throws what the backend throws
  [[nodiscard]] backend_outcome solve(const linear_model& model, const backend_limits& limits = {}) const {
    return solve_(model, limits);
  }

 private:
  std::function<backend_outcome(const linear_model&, const backend_limits&)> solve_;
};

static_assert(integer_backend<any_backend>);

}  // namespace shardweave::inline v0
