// expect: readable_map
// expect: keyed_map
#include <shardweave/graph/concepts.hpp>

#include <map>
#include <string>

template <shardweave::readable_map<int> Map>
double first_of(const Map& map) {
  return get(map, 0);
}

#ifdef SHARDWEAVE_REFUSED
using key = std::string;
#else
using key = int;
#endif

double use(const std::map<key, double>& values) { return first_of(boost::make_assoc_property_map(values)); }
