// What a host waits for who mistyped a name: nothing is instantiated but concepts.
#include "smallest.hpp"
#include <shardweave/shardweave.hpp>

int main() { return undeclared; }
