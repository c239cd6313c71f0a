#pragma once

#include "measured_steps.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/step/predict_step.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Predictions of measured rows under many fitted figures, and figures fitted to some rows to predict others.

namespace programs {

/// A row that can be stated, and its place in the series.
struct stated_row {
  const shardweave::training_run* row = nullptr;
  std::string device = {};
  std::size_t place = 0;  ///< in its series, counted from 0 over the rows that can be stated
};

/// What is predicted of a row.
struct row_answer {
  std::optional<shardweave::predicted_step> step = std::nullopt;  ///< nothing: not reached, or it failed
  std::string failed = {};                                        ///< why it cannot be predicted
};

/// Predicts rows; what was predicted once is kept.
class row_predictor {
 public:
  /// \param measured  corrects the rows of its device, and no others
  /// \param stop      what is not reached before it is left out
  row_predictor(std::optional<shardweave::device_calibration> measured, unsigned threads, shardweave::stop_token stop)
      : measured_(std::move(measured)), threads_(threads), stop_(std::move(stop)) {}

  /// In the order of the rows.
  [[nodiscard]] std::vector<row_answer> operator()(std::span<const stated_row> rows, const fitted_figures& figures) {
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!known_.contains(key(rows[i], figures))) missing.push_back(i);
    std::vector<row_answer> made(missing.size());
    shardweave::for_each_number(missing.size(), threads_, [&] {
      return [&](std::size_t i) {
        if (!stop_.stop_requested()) made[i] = predict(rows[missing[i]], figures);
      };
    });
    for (std::size_t i = 0; i < missing.size(); ++i)
      if (made[i].step || !made[i].failed.empty()) known_[key(rows[missing[i]], figures)] = std::move(made[i]);
    std::vector<row_answer> all;
    for (const stated_row& row : rows) {
      const auto found = known_.find(key(row, figures));
      all.push_back(found == known_.end() ? row_answer{} : found->second);
      if (all.back().step) all.back().step->memory = scaled(all.back().step->memory, reserved_of(row, figures));
    }
    return all;
  }

 private:
  using row_key = std::pair<const shardweave::training_run*, double>;

  /// The fitted figure that matters for the row's time; what the allocator reserves is a factor.
  [[nodiscard]] static row_key key(const stated_row& row, const fitted_figures& f) {
    const framework_kind by = framework_kind_of(*row.row);
    const bool is_torch = by == framework_kind::llm_foundry || by == framework_kind::torchtitan;
    return {row.row, is_torch && is_since_hopper(row.device) ? f.slowdown : 1};
  }
  [[nodiscard]] static double reserved_of(const stated_row& row, const fitted_figures& f) {
    return framework_kind_of(*row.row) == framework_kind::torchtitan ? f.reserved : 1;
  }
  [[nodiscard]] static shardweave::bytes scaled(shardweave::bytes size, double by) {
    return shardweave::bytes(static_cast<std::int64_t>(static_cast<double>(size.count()) * by));
  }

  [[nodiscard]] row_answer predict(const stated_row& stated, fitted_figures figures) const {
    namespace sw = shardweave;
    row_answer answer;
    try {
      figures.reserved = 1;
      read_step s = step_of(*stated.row, figures);
      const sw::device_preset& preset = sw::find_preset(s.device);
      sw::device_profile device = preset.profile;
      if (stated.row->network > 0) device.network_bandwidth = stated.row->network;
      sw::compute_profile compute = preset.compute();
      sw::any_collectives collectives = sw::nccl_smooth(sw::nccl_node_of(device));
      if (measured_ && measured_->device == s.device) {
        collectives = measured_->correct(collectives);
        if (measured_->compute) {  // kernels as they are leave nothing to explain
          compute = measured_->compute_on(device);
          s.step->framework.slowdown = 1;
        }
      }
      answer.step = sw::predict_step(*s.step, compute, collectives, {.stop = stop_});
    } catch (const sw::error& e) {
      if (e.category() != sw::error_category::stopped) answer.failed = e.what();
    }
    return answer;
  }

  std::optional<shardweave::device_calibration> measured_;
  unsigned threads_;
  shardweave::stop_token stop_;
  std::map<row_key, row_answer> known_;
};

/// Fits figures to rows, each to those that it matters for; where there are none it stays as if nothing was fitted.
///
/// Method: for the slowdown the least mean of |ln(predicted / measured)|, by steps of 16 % that are halved down to 1 %;
/// for what the allocator reserves the median, which is the least of the same mean in closed form.
/// \param rows     all of one table
/// \param is_seen  by row: whether the fit may see it
[[nodiscard]] inline fitted_figures fit_figures(std::span<const stated_row> rows, const std::vector<bool>& is_seen,
                                                row_predictor& predict) {
  fitted_figures best = fitted_figures::none();
  std::vector<stated_row> torch;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (is_seen[i] && framework_kind_of(*rows[i].row) == framework_kind::torchtitan && is_since_hopper(rows[i].device))
      torch.push_back(rows[i]);
  const auto loss = [&](const fitted_figures& f) {
    double sum = 0, count = 0;
    const std::vector<row_answer> answers = predict(torch, f);
    for (std::size_t i = 0; i < torch.size(); ++i) {
      if (!answers[i].step) continue;
      sum += std::abs(std::log(static_cast<double>(answers[i].step->step.count()) / 1e9 / torch[i].row->step_seconds));
      ++count;
    }
    return count > 0 ? sum / count : 0;
  };
  double least = loss(best);
  for (int step = 16; step > 0; step /= 2)
    for (bool moved = true; moved;) {
      moved = false;
      for (const int by : {-step, step}) {
        fitted_figures other = best;
        other.slowdown = std::round(100 * best.slowdown + by) / 100;
        if (other.slowdown < 0.5 || other.slowdown > 4) continue;
        const double found = loss(other);
        if (!(found < least)) continue;
        best = other;
        least = found;
        moved = true;
      }
    }
  std::vector<double> reserved;
  const std::vector<row_answer> answers = predict(torch, best);
  for (std::size_t i = 0; i < torch.size(); ++i)
    if (answers[i].step && torch[i].row->memory_gib > 0)
      reserved.push_back(torch[i].row->memory_gib * 1024 * 1024 * 1024 /
                         static_cast<double>(answers[i].step->memory.count()));
  if (!reserved.empty()) {
    std::ranges::nth_element(reserved, reserved.begin() + static_cast<std::ptrdiff_t>(reserved.size() / 2));
    best.reserved = std::round(100 * reserved[reserved.size() / 2]) / 100;
  }
  return best;
}

/// Rows that are predicted by figures that were fitted without them.
struct held_out_part {
  std::string name;                 ///< of what was held out
  fitted_figures figures;           ///< fitted to all other rows
  std::vector<std::size_t> rows;    ///< positions in the table's stated rows
  std::vector<row_answer> answers;  ///< of these
};

/// Each row once: series by series, or where `parts` is not 0 so many parts, of which each holds every such row of each
/// series.
[[nodiscard]] inline std::vector<held_out_part> hold_out(std::span<const stated_row> rows, std::size_t parts,
                                                         row_predictor& predict) {
  std::map<std::string, std::vector<std::size_t>> held;
  for (std::size_t i = 0; i < rows.size(); ++i)
    held[parts == 0 ? rows[i].row->series()
                    : std::to_string(rows[i].place % parts + 1) + " of " + std::to_string(parts)]
        .push_back(i);
  std::vector<held_out_part> result;
  for (auto& [name, positions] : held) {
    std::vector<bool> is_seen(rows.size(), true);
    std::vector<stated_row> some;
    for (const std::size_t i : positions) {
      is_seen[i] = false;
      some.push_back(rows[i]);
    }
    held_out_part part{name, fit_figures(rows, is_seen, predict), std::move(positions), {}};
    part.answers = predict(some, part.figures);
    result.push_back(std::move(part));
  }
  return result;
}

}  // namespace programs
