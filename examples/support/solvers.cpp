#include "solvers_of.hpp"

namespace programs {

template std::vector<named_solver<double>> solvers<double>();

}  // namespace programs
