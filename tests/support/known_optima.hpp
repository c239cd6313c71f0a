#pragma once

namespace shardweave_test {

/// Optima that two solvers of others proved, each from the extracted problem alone, or message passing by its bound.
struct known_optimum {
  const char* name;
  double optimum;
};
inline constexpr known_optimum known_optima[] = {{"tiny2-2d-4x2", 2657.8997},
                                                 {"llama3-1b-1d-64", 132630.8345},
                                                 {"llama3-1b-1d-64-untied", 132630.8345},
                                                 {"llama3-1b-1d-64-memory", 126293.2287},
                                                 {"llama3-1b-1d-64-march", 164776.7667},
                                                 {"llama3-1b-2d-8x8", 114420.5611},
                                                 {"llama3-1b-2d-8x8-memory", 112936.0003},
                                                 {"llama3-8b-2d-8x8", 554382.9592},
                                                 {"dsv3-2l-2d-4x64", 18682.8515},
                                                 {"llama3-1b-4layer-3d-2x4x8", 20881.7479}};

}  // namespace shardweave_test
