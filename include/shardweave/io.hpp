#pragma once

// IWYU pragma: begin_exports
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/chakra_tasks.hpp>
#include <shardweave/io/chakra_trace.hpp>
#include <shardweave/io/collective_records.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/iopddl.hpp>
#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/measured_record.hpp>
#include <shardweave/io/model_config.hpp>
#include <shardweave/io/nccl_tests_json.hpp>
#include <shardweave/io/order_certificate.hpp>
#include <shardweave/io/placement.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/placement_file.hpp>
#include <shardweave/io/read_chakra.hpp>
#include <shardweave/io/read_kernels.hpp>
#include <shardweave/io/read_link_shares.hpp>
#include <shardweave/io/read_nccl_graphs.hpp>
#include <shardweave/io/read_nccl_rules.hpp>
#include <shardweave/io/read_nccl_topology.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/io/read_profiled_run.hpp>
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/io/task_file.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/io/training_runs.hpp>
#include <shardweave/io/write_placement.hpp>
#include <shardweave/io/write_tasks.hpp>
// IWYU pragma: end_exports

/// \file
/// Readers and writers (component io).
