#pragma once

// IWYU pragma: begin_exports
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/affine_fit.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/bucket_cost.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/fitted_lines.hpp>
#include <shardweave/cost/fusion_group.hpp>
#include <shardweave/cost/kernel_calibration.hpp>
#include <shardweave/cost/link_shares.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/cost/nccl_channels.hpp>
#include <shardweave/cost/nccl_constants.hpp>
#include <shardweave/cost/nccl_explanation.hpp>
#include <shardweave/cost/nccl_filter.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_ramp.hpp>
#include <shardweave/cost/nccl_rule.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/nccl_symmetric.hpp>
#include <shardweave/cost/nccl_topology.hpp>
#include <shardweave/cost/nccl_transfers.hpp>
#include <shardweave/cost/nccl_tuner.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/residual.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/cost/saturation.hpp>
#include <shardweave/cost/shared_links.hpp>
#include <shardweave/cost/size_curve.hpp>
#include <shardweave/cost/torch_formula.hpp>
// IWYU pragma: end_exports

/// \file
/// Devices, collectives, roofline, calibration.
