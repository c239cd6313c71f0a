// expect: writable_map
#include <shardweave/graph/concepts.hpp>

#include <vector>

template <shardweave::writable_map<int, double> Map>
void write_all(Map map) {
  put(map, 0, 1.0);
}

#ifdef SHARDWEAVE_REFUSED
using storage = const std::vector<double>;
#else
using storage = std::vector<double>;
#endif

void use(storage& values) {
  write_all(boost::make_iterator_property_map(values.begin(), boost::typed_identity_property_map<int>()));
}
