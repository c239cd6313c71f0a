#include <shardweave/core/random.hpp>
#include <shardweave/engine/payload.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace payload_tests {
namespace {

using buffer = std::vector<std::byte>;

/// A collective by its definition, on the buffers of all ranks, which hold numbers of one type.
template <class T>
std::vector<std::vector<T>> by_definition(sw::collective kind, sw::reduce_op op,
                                          const std::vector<std::vector<T>>& in) {
  const std::size_t n = in.size(), size = in[0].size();
  std::vector<T> all = in[0];
  for (std::size_t r = 1; r < n; ++r)
    for (std::size_t i = 0; i < size; ++i)
      all[i] = op == sw::reduce_op::sum   ? static_cast<T>(all[i] + in[r][i])
               : op == sw::reduce_op::max ? std::max(all[i], in[r][i])
                                          : std::min(all[i], in[r][i]);
  std::vector<std::vector<T>> out(n);
  for (std::size_t r = 0; r < n; ++r) {
    const auto part = [&](const std::vector<T>& from, std::size_t p) {
      out[r].insert(out[r].end(), from.begin() + static_cast<std::ptrdiff_t>(p * size / n),
                    from.begin() + static_cast<std::ptrdiff_t>((p + 1) * size / n));
    };
    switch (kind) {
      case sw::collective::all_gather:
        for (const auto& one : in) out[r].insert(out[r].end(), one.begin(), one.end());
        break;
      case sw::collective::reduce_scatter:
        part(all, r);
        break;
      case sw::collective::all_reduce:
        out[r] = all;
        break;
      case sw::collective::all_to_all:
        for (const auto& one : in) part(one, r);
        break;
      case sw::collective::shift:
        out[r] = in[(r + n - 1) % n];
        break;
      case sw::collective::other:
        break;
    }
  }
  return out;
}

/// Every rank fills, packs, communicates by definition and unpacks; what is wrong then, if anything.
std::string way_there_and_back(const sw::payload_shape& shape) {
  return sw::with_element(shape.type, [&](auto zero) {
    using element = decltype(zero);
    const auto width = static_cast<std::size_t>(sw::width_of(shape.type));
    CHECK(width == sizeof(element));
    std::vector<std::vector<element>> sent;
    for (std::int64_t r = 0; r < shape.ranks; ++r) {
      std::vector<element> all(static_cast<std::size_t>(shape.send_size().count()) / width);
      std::vector<buffer> parts;
      for (std::size_t m = 0; m < shape.tasks.size(); ++m) {
        parts.emplace_back(static_cast<std::size_t>(shape.send_blocks() * shape.units[m]) * width);
        sw::fill_payload(shape, m, r, parts.back());
      }
      sw::for_each_unit(shape, shape.send_blocks(),
                        [&](std::size_t to, std::size_t from, std::size_t m, std::size_t n) {
                          if (n > 0)
                            std::memcpy(reinterpret_cast<std::byte*>(all.data()) + to, parts[m].data() + from, n);
                        });
      sent.push_back(std::move(all));
    }
    const auto received = by_definition(shape.kind, shape.reduce, sent);
    for (std::size_t r = 0; r < received.size(); ++r) {
      CHECK(received[r].size() * width == static_cast<std::size_t>(shape.receive_size().count()));
      std::vector<buffer> parts;
      for (const std::int64_t unit : shape.units)
        parts.emplace_back(static_cast<std::size_t>(shape.receive_blocks() * unit) * width);
      sw::for_each_unit(
          shape, shape.receive_blocks(), [&](std::size_t from, std::size_t to, std::size_t m, std::size_t n) {
            if (n > 0)
              std::memcpy(parts[m].data() + to, reinterpret_cast<const std::byte*>(received[r].data()) + from, n);
          });
      for (std::size_t m = 0; m < parts.size(); ++m) {
        const auto position = static_cast<std::int64_t>(r);
        if (const std::string fault = sw::payload_fault(shape, m, position, parts[m]); !fault.empty()) return fault;
        if (parts[m].empty()) continue;
        // a value that is off is found
        element value;
        std::memcpy(&value, parts[m].data(), sizeof value);
        value = static_cast<element>(value + element{1});
        std::memcpy(parts[m].data(), &value, sizeof value);
        const std::string found = sw::payload_fault(shape, m, position, parts[m]);
        CHECK(found.starts_with("holds " + std::to_string(value) + " at element 0, expected "));
      }
    }
    return std::string();
  });
}

}  // namespace

TEST_SUITE("payload") {
  TEST_CASE("what is expected is what the definition of each collective gives, alone and in buckets") {
    sw::random_source random(3);
    for (std::size_t i = 0; i < shardweave_test::at_scale(300); ++i) {
      const char* dtypes[] = {"f32", "f64", "bf16", "i8", "i32", "i64", "f16", ""};
      const char* reductions[] = {"sum", "max", "min", "avg"};
      std::vector<sw::bucket_part> parts;
      for (std::size_t m = random.below(4); m-- > 0;)
        parts.push_back(
            {static_cast<sw::task_index>(random.below(1000)), sw::bytes(static_cast<std::int64_t>(random.below(200)))});
      const sw::collective_call call{.task = 7,
                                     .op = sw::priced_collectives[random.below(sw::priced_collectives.size())],
                                     .dtype = dtypes[random.below(8)],
                                     .reduce = reductions[random.below(4)],
                                     .bytes_in = sw::bytes(static_cast<std::int64_t>(random.below(300))),
                                     .parts = parts};
      const auto type = i % 4 == 0 ? std::optional(sw::element_type::f16) : std::nullopt;
      const auto shape = sw::payload_of(call, 1 + static_cast<std::int64_t>(random.below(6)), type);
      CAPTURE(i);
      CHECK(shape.tasks.size() == std::max<std::size_t>(parts.size(), 1));
      CHECK(way_there_and_back(shape) == "");
    }
  }

  TEST_CASE("sums of 16-bit floats are exact, on many ranks too") {
    for (const std::int64_t ranks : {1, 8, 64, 65, 200}) {
      CAPTURE(ranks);
      const sw::collective_call call{
          .task = 2, .op = sw::collective::all_reduce, .reduce = "sum", .bytes_in = sw::bytes(8)};
      const auto shape = sw::payload_of(call, ranks, sw::element_type::f16);
      CHECK(shape.unit == 4);
      CHECK(shape.values == static_cast<std::uint64_t>(std::min<std::int64_t>(32, 2048 / ranks)));
      CHECK(way_there_and_back(shape) == "");
    }
    CHECK(sw::payload_of({.op = sw::collective::all_reduce}, 2048, sw::element_type::f16).values == 1);
  }

  TEST_CASE("sizes are rounded up to whole blocks of whole elements") {
    const auto unit = [](sw::collective op, std::int64_t size) {
      return sw::payload_of({.op = op, .dtype = "f32", .bytes_in = sw::bytes(size)}, 4).unit;
    };
    CHECK(unit(sw::collective::all_gather, 0) == 0);
    CHECK(unit(sw::collective::all_gather, 9) == 3);
    CHECK(unit(sw::collective::all_reduce, 8) == 2);
    CHECK(unit(sw::collective::reduce_scatter, 64) == 4);
    CHECK(unit(sw::collective::reduce_scatter, 65) == 5);
    CHECK(unit(sw::collective::all_to_all, 1) == 1);
    CHECK(unit(sw::collective::shift, 9) == 3);
  }

  TEST_CASE("values of a rank differ from those of others, and sums of eight fit into a byte") {
    std::vector<std::size_t> seen(32);
    std::size_t equal = 0;
    for (std::int64_t i = 0; i < 3200; ++i) {
      const auto value = sw::payload_value(5, 1, i);
      REQUIRE(value < 32);
      ++seen[value];
      if (value == sw::payload_value(5, 2, i)) ++equal;
    }
    CHECK(*std::min_element(seen.begin(), seen.end()) > 50);
    CHECK(equal < 200);
  }

  TEST_CASE("another operation is refused") {
    CHECK_THROWS_WITH_AS(
        sw::payload_of({.task = 3, .op = sw::collective::other}, 4),
        "task 3 is a collective of another kind, expected all_gather, reduce_scatter, all_reduce, all_to_all or "
        "shift",
        sw::error);
  }
}

}  // namespace payload_tests
