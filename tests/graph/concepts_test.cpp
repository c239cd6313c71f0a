#include <shardweave/graph/concepts.hpp>

#include <boost/property_map/function_property_map.hpp>
#include <boost/property_map/property_map.hpp>
#include <doctest/doctest.h>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("readable_map") {
  TEST_CASE("a map may be a lambda that captures, without a default constructor") {
    const double factor = 2.5;
    const auto twice = [factor](std::size_t v) { return factor * static_cast<double>(v); };
    const auto map = boost::make_function_property_map<std::size_t, double>(twice);
    static_assert(sw::readable_map<decltype(map), std::size_t>);
    static_assert(!sw::writable_map<decltype(map), std::size_t, double>);
    CHECK(get(map, std::size_t{4}) == 10.0);
  }
}

TEST_SUITE("writable_map") {
  TEST_CASE("what is put is got") {
    std::vector<double> values(2);
    const auto map =
        boost::make_iterator_property_map(values.begin(), boost::typed_identity_property_map<std::size_t>());
    static_assert(sw::writable_map<std::remove_const_t<decltype(map)>, std::size_t, double>);
    put(map, 1, 7.0);
    CHECK(get(map, 1) == 7.0);
    CHECK(values[1] == 7.0);
  }
}
