#pragma once

#include <atomic>

/// \file
/// What is not given back once a program is to end.

namespace programs {

/// Set once a stop was asked for: from then on small pieces of memory are not given back, as the program ends soon. A
/// search that ends has millions of them, which took up to half of the time in which a stop is obeyed.
inline std::atomic<bool> keeps_memory = false;

}  // namespace programs
