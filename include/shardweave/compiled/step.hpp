#pragma once

#include <shardweave/step/impl/certify_step.hpp>
#include <shardweave/step/impl/predict_step.hpp>
#include <shardweave/step/impl/priced_steps.hpp>

/// \file
/// The compiled part of room step; see `shardweave/compiled.hpp`.
