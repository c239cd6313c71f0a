#pragma once

#include <shardweave/placement/impl/compile.hpp>

#include <cstdint>
#include <memory>

/// \file
/// The compiled part of room placement; see `shardweave/compiled.hpp`.

namespace shardweave {
inline namespace v0 {

template placement_problem<double> compile(std::shared_ptr<const placement_description<double>>, const solve_control&);
template placement_problem<std::int64_t> compile(std::shared_ptr<const placement_description<std::int64_t>>,
                                                 const solve_control&);

}  // namespace v0
}  // namespace shardweave
