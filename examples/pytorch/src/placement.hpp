#pragma once

#include "machine.hpp"

#include <nanobind/nanobind.h>

/// \file
/// Where the parts of a computation lie.

/// Adds what plans placements to the module.
void bind_placement(nanobind::module_& m);
