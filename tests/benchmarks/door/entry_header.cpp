#include <shardweave/shardweave.hpp>
