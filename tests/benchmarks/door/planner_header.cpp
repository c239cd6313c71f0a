#include <shardweave/planner.hpp>
