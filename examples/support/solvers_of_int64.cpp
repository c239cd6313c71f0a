#include "solvers_of.hpp"

#include <cstdint>

namespace programs {

template std::vector<named_solver<std::int64_t>> solvers<std::int64_t>();

}  // namespace programs
