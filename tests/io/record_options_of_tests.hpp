#pragma once

#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/io/measured_record.hpp>

/// What a table of results leaves open.
namespace record_options_of_tests {

namespace sw = shardweave;

inline const sw::record_options eight_ranks{.group = sw::group_shape{8, 1}};

}  // namespace record_options_of_tests
