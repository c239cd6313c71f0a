#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/models/training_layout.hpp>
#include <shardweave/spmd/mesh.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// \file
/// The words of layouts, and their meshes.

namespace shardweave::inline v0 {

namespace detail {

/// The words of those that see different data.
struct named_stage {
  std::string_view name;
  zero_stage stage;
};
inline constexpr named_stage layout_stages[] = {{"dp", zero_stage::none},
                                                {"zero1", zero_stage::optimizer},
                                                {"zero2", zero_stage::gradients},
                                                {"fsdp", zero_stage::parameters},
                                                {"hsdp", zero_stage::parameters}};

}  // namespace detail

SHARDWEAVE_INLINE training_layout training_layout::parse(std::string_view text) {
  using detail::named_stage, detail::layout_stages;
  training_layout layout;
  std::set<std::string_view> known;
  const auto wrong = [&](std::string_view word) {
    refuse(
        error_category::input,
        "layout '" + std::string(text) + "': '" + std::string(word) +
            "', expected words like fsdp=8, tp=8, cp=2, ring=2, ep=8, dp=8, zero1=8, zero2=8 or hsdp=4x8, each once");
  };
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    const std::size_t is = word.find('=');
    if (is == std::string_view::npos) wrong(word);
    const std::string_view name = word.substr(0, is);
    const auto number = [&](std::string_view digits) {
      std::int64_t n = 0;
      const auto [last, code] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
      if (code != std::errc{} || last != digits.data() + digits.size() || n < 1) wrong(word);
      return n;
    };
    std::string_view amount = word.substr(is + 1);
    const auto word_of_data = std::ranges::find(layout_stages, name, &named_stage::name);
    const bool of_data = word_of_data != std::end(layout_stages);
    const bool of_context = name == "cp" || name == "ring";
    if (!known.insert(of_data ? "data" : of_context ? "context" : name).second) wrong(word);
    if (name == "hsdp") {
      const std::size_t by = amount.find('x');
      if (by == std::string_view::npos) wrong(word);
      layout.replicas = number(amount.substr(0, by));
      amount = amount.substr(by + 1);
    }
    if (of_data) {
      layout.shards = number(amount);
      layout.stage = word_of_data->stage;
    } else if (name == "tp") {
      layout.tensor = number(amount);
    } else if (of_context) {
      layout.context = number(amount);
      layout.rings = name == "ring" && layout.context > 1;
    } else if (name == "ep") {
      layout.experts = number(amount);
    } else {
      wrong(word);
    }
  }
  if (layout.shards % layout.experts != 0)
    refuse(error_category::input, "layout '" + std::string(text) + "': ep=" + std::to_string(layout.experts) +
                                      " does not divide the " + std::to_string(layout.shards) +
                                      " that see different data and share out what they hold");
  if (layout.experts > 1 && layout.updates_parts())
    refuse(error_category::input,
           "layout '" + std::string(text) +
               "': experts that are shared out are updated where they are, expected fsdp, hsdp or "
               "dp beside ep");
  return layout;
}

SHARDWEAVE_INLINE std::string training_layout::to_string() const {
  std::string text =
      replicas > 1
          ? "hsdp=" + std::to_string(replicas) + "x"
          : std::string(std::ranges::find(detail::layout_stages, stage, &detail::named_stage::stage)->name) + "=";
  text += std::to_string(shards);
  if (experts > 1) text += ",ep=" + std::to_string(experts);
  if (context > 1) text += (rings ? ",ring=" : ",cp=") + std::to_string(context);
  return tensor > 1 ? text + ",tp=" + std::to_string(tensor) : text;
}

SHARDWEAVE_INLINE device_mesh training_layout::mesh() const {
  std::vector<std::int64_t> shape;
  std::vector<std::string> names;
  const auto add = [&](std::int64_t extent, const char* name) {
    if (extent < 1)
      refuse(error_category::input,
             "a layout has " + std::to_string(extent) + " ranks along " + name + ", expected at least 1");
    if (extent == 1) return;
    shape.push_back(extent);
    names.emplace_back(name);
  };
  add(replicas, "replica");
  if (experts < 1 || shards % experts != 0)
    refuse(error_category::input, "a layout shares out experts over " + std::to_string(experts) +
                                      " ranks, expected a divisor of its " + std::to_string(shards) + " shards");
  add(shards / experts, stage == zero_stage::none ? "dp" : "fsdp");
  add(experts, "ep");
  add(context, "cp");
  add(tensor, "tp");
  if (shape.empty()) return device_mesh({1});
  return device_mesh(std::move(shape), std::move(names));
}

}  // namespace shardweave::inline v0
