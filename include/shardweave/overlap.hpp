#pragma once

// IWYU pragma: begin_exports
#include <shardweave/overlap/budget_chains.hpp>
#include <shardweave/overlap/eligibility.hpp>
#include <shardweave/overlap/forms.hpp>
#include <shardweave/overlap/hideable.hpp>
#include <shardweave/overlap/prices.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/overlap/savings_tracker.hpp>
#include <shardweave/overlap/segments.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/overlap/windows_form.hpp>
// IWYU pragma: end_exports

/// \file
/// How much communication can hide, exactly.
