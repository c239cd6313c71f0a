#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/last_moment.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/proof_record.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A proof that was checked before the time is up.

namespace shardweave::inline v0::detail {

/// The bound at which everything is proven. Of floating costs a little below that of the best assignment, but proof
/// enough.
template <cost_value Cost>
[[nodiscard]] Cost claim_of(const incumbent<Cost>& best) {
  if constexpr (std::floating_point<Cost>) {
    return static_cast<Cost>(best.upper() - 0.9 * optimality_tolerance * std::max(1.0, std::abs(best.upper())));
  } else {
    return best.cost();
  }
}

/// A proof that a stop leaves: nothing was checked, or could be in a moment.
template <cost_value Cost>
[[noreturn]] void refuse_unchecked(const placement_description<Cost>& d) {
  refuse(error_category::stopped, "no proof of a bound on '" + d.name + "' was checked in the time");
}

/// Turns what a search for a proof has written down into proofs that hold. Where a search may be stopped it is checked
/// meanwhile: whenever there are twice as many cases, or ten times as long has passed as checking took. So there is
/// something at hand at a stop, and it is known how much time the last check needs. What is written for long is of no
/// use then, so a smaller one is kept beside it.
template <cost_value Cost>
class proof_at_hand {
 public:
  /// \param other  costs that count in place of the problem's own, if there are
  /// \param limit   runs against `control`
  /// \param moment  after it
  /// \pre all outlive this object
  proof_at_hand(const placement_description<Cost>& d, const costs_in_place<Cost>* other,
                const proof_record<Cost>& record, const incumbent<Cost>& best, const solve_control& control,
                const deadline& limit, last_moment& moment)
      : d_(d),
        other_(other),
        record_(record),
        best_(best),
        control_(control),
        limit_(limit),
        moment_(moment),
        may_end_early_(control.stop.stop_possible() || control.seconds < std::numeric_limits<double>::infinity()) {}
  proof_at_hand(const proof_at_hand&) = delete;

  /// What limits rule out, before all cases.
  void begin_with(std::vector<strategies_ruled_out> ruled_out) { ruled_out_ = std::move(ruled_out); }

  /// Whether the search must end: a stop, or no more time is left than the last check is likely to take.
  [[nodiscard]] bool expired() const {
    if (limit_.expired()) return true;
    if (checked_ == 0) return false;
    constexpr double margin = 2;  // a case with prices takes longer than one without
    return limit_.remaining() < margin * took_ * static_cast<double>(record_.size()) / static_cast<double>(checked_);
  }
  /// Whether another check may end in the time; if not, nothing more needs to be written down.
  [[nodiscard]] bool may_check() const {
    return !limit_.expired() || (took_ <= moment_.seconds() && !moment_.is_over());
  }
  /// Between two steps of the search.
  void look() {
    if (!may_end_early_ || limit_.expired()) return;
    const double begin = limit_.elapsed();
    if (record_.size() < 2 * checked_ && begin < next_look_) return;
    static_cast<void>(check(0));
    took_ = limit_.elapsed() - begin;
    checked_ = record_.size();
    next_look_ = begin + 11 * took_;
  }
  /// The proof that the search came to; after a stop, and where the time does not suffice, one that it had before.
  /// \throws error (input) if none holds, (stopped) if none was checked in time
  [[nodiscard]] placement_certificate<Cost> last() {
    std::string why;
    for (int less = 0; less < 4 && may_check(); ++less) {
      const certificate_verdict<Cost> verdict = check(less);
      if (verdict.accepted) break;
      if (less == 0) why = verdict.failure;
    }
    if (brief_ && control_.stop.stop_requested()) return *std::move(brief_);
    if (at_hand_) return *std::move(at_hand_);
    if (limit_.expired()) refuse_unchecked(d_);
    refuse(error_category::input, "no proof of a bound on '" + d_.name + "' holds: " + why);
  }

 private:
  /// Keeps a proof if it holds. A sum may be at the edge of what a double tells apart, so that a case does not hold.
  /// \param less  0: all cases; 1: one case bounds everything; 2: nothing is ruled out before; 3: without prices and
  ///              messages, too
  [[nodiscard]] certificate_verdict<Cost> check(int less) {
    placement_certificate<Cost> c{.problem = d_.name, .counted = d_.counted, .windows = d_.windows};
    if (less < 2) c.ruled_out = ruled_out_;
    if (less == 0) {
      record_.write(c);
    } else {
      record_.write_root(c, less == 3);
    }
    if (best_.is_known()) c.lower_bound = claim_of(best_);
    certificate_verdict<Cost> proven = proven_by(d_, c, other_, time_to_check());
    if (!proven.accepted) return proven;
    c.infeasible = is_forbidden(proven.bound);
    c.lower_bound = c.infeasible ? Cost{} : proven.bound;
    if (amounts_of(c) <= most_in_a_moment) brief_ = c;
    at_hand_ = std::move(c);
    return proven;
  }
  /// What is left; once that is nothing a moment, in which small problems are checked.
  [[nodiscard]] solve_control time_to_check() const {
    return limit_.expired() ? solve_control{.seconds = moment_.left()} : limit_.rest_for_part();
  }
  [[nodiscard]] static std::size_t amounts_of(const placement_certificate<Cost>& c) {
    std::size_t all = 0;
    for (const placement_multipliers& m : c.multipliers) all += m.messages.amounts().size();
    return all;
  }

  /// Amounts of a certificate that is written, and packed, in a moment: some 150 KB of text.
  static constexpr std::size_t most_in_a_moment = 25'000;

  const placement_description<Cost>& d_;
  const costs_in_place<Cost>* other_;
  const proof_record<Cost>& record_;
  const incumbent<Cost>& best_;
  const solve_control& control_;
  const deadline& limit_;
  last_moment& moment_;
  bool may_end_early_;
  std::vector<strategies_ruled_out> ruled_out_ = {};
  std::optional<placement_certificate<Cost>> at_hand_ = std::nullopt;
  std::optional<placement_certificate<Cost>> brief_ = std::nullopt;  ///< the last that is written in a moment
  std::size_t checked_ = 0;                                          ///< cases, when it was checked last
  double took_ = 0;                                                  ///< seconds then
  double next_look_ = 0;
};

}  // namespace shardweave::inline v0::detail
