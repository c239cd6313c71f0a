#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>

#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The concept of an LP or MIP backend.

namespace shardweave::inline v0 {

/// Limits of one run of a backend.
struct backend_limits {
  double seconds = std::numeric_limits<double>::infinity();
  stop_token stop = {};
  double gap = 0;  ///< MIP: stop once (objective - bound) <= gap * |objective|, the model's offset included
  std::vector<double> start = {};  ///< MIP: values of a known solution, one per column; may be empty
};

/// Refuses invalid limits. Backends call it first.
/// \throws error (input) naming the backend
inline void validate(const backend_limits& limits, std::string_view backend) {
  if (limits.gap < 0 || std::isnan(limits.gap) || std::isnan(limits.seconds))
    refuse(error_category::input, std::string(backend) + ": the gap is " + number_text(limits.gap) +
                                      " and the time limit " + number_text(limits.seconds) +
                                      ", expected numbers not below zero");
}

/// How a backend ended.
enum class backend_status : std::uint8_t {
  optimal,     ///< as the backend claims, within its tolerances
  infeasible,  ///< likewise
  unbounded,   ///< likewise
  stopped      ///< a limit or a stop request came first, or a MIP is within the gap asked for
};

/// The result of a backend. It is not trusted: callers price the values and prove the bound anew where possible.
struct backend_outcome {
  backend_status status = backend_status::stopped;
  std::vector<double> primal = {};  ///< value per column; empty if there is no feasible point
  /// LP only: multiplier per row, such that the reduced cost of column j is objective_j - sum of value_rj *
  /// dual_r. There also after a stop, if the engine's state has multipliers.
  std::vector<double> duals = {};
  double objective = std::numeric_limits<double>::infinity();  ///< of `primal`, offset included
  double bound = -std::numeric_limits<double>::infinity();     ///< on the objective, offset included
  std::size_t iterations = 0;
  std::size_t nodes = 0;  ///< of branch and bound
};

namespace detail {
/// Decides when an engine's callbacks end the run.
class backend_clock {
 public:
  /// \pre `limits` outlives this object
  explicit backend_clock(const backend_limits& limits) : limits_(&limits) {}
  [[nodiscard]] double left() const {
    return limits_->seconds - std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] bool expired() const { return limits_->stop.stop_requested() || left() <= 0; }

 private:
  const backend_limits* limits_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};
}  // namespace detail

/// An engine for linear programs, with or without integer columns.
///
/// A backend is a value; `solve` is const and may be called from several threads at once. It refuses a model
/// that `validate` refuses; it answers infeasible and unbounded models with a status; it obeys a stop within
/// a second; it prints nothing and leaves no state behind. If the engine itself breaks down it throws `error`
/// with category `backend`.
template <class B>
concept linear_backend =
    std::copy_constructible<B> && requires(const B& backend, const linear_model& model, const backend_limits& limits) {
      { backend.name } -> std::convertible_to<std::string_view>;
      { backend.solve(model, limits) } -> std::same_as<backend_outcome>;
    };

/// An engine for integer programs: every backend without `whole_numbers = false`, which stands for refusing models with
/// integer columns.
template <class B>
concept integer_backend = linear_backend<B> && !requires { requires !B::whole_numbers; };

}  // namespace shardweave::inline v0
