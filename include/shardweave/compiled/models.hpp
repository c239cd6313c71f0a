#pragma once

#include <shardweave/models/impl/deepseek.hpp>
#include <shardweave/models/impl/llama.hpp>

/// \file
/// The compiled part of room models; see `shardweave/compiled.hpp`.
