#pragma once

#include <nanobind/nanobind.h>

/// \file
/// Placement problems that others state, vertex by vertex.

/// Adds what solves them to the module.
void bind_problem(nanobind::module_& m);
