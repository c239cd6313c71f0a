#pragma once

#include <shardweave/report/impl/html.hpp>
#include <shardweave/report/impl/memory_parts.hpp>
#include <shardweave/report/impl/summary.hpp>
#include <shardweave/report/impl/text_table.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// \file
/// The compiled part of room report; see `shardweave/compiled.hpp`.

namespace shardweave::inline v0 {

template std::string placement_summary(const solution<double>&, const evaluation<double>&, std::string_view);
template std::string placement_summary(const solution<std::int64_t>&, const evaluation<std::int64_t>&,
                                       std::string_view);

}  // namespace shardweave::inline v0
