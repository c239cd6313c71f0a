#pragma once

#include <shardweave/step/impl/predict_step.hpp>

/// \file
/// The compiled part of room step; see `shardweave/compiled.hpp`.
