#pragma once

#include <shardweave/cost/fitted_lines.hpp>

#include <array>

/// \file
/// Fitted constants of the device presets: latency in microseconds, bandwidth in GB/s, half size in bytes, power.

namespace shardweave::inline v0::detail {

/// One node: Azure ND A100 v4 (NCCL 2.18.5, nccl-tests); two nodes: AWS p4d (EFA, 4 x 100 Gb per node, nccl-tests).
inline constexpr std::array a100_lines{
    fitted_line{collective::all_reduce, {8, 1}, {40.8, 153.7, 7.671e+06, 0.3}},
    fitted_line{collective::all_reduce, {8, 2}, {157.0, 45.8, 2.714e+07, 0.6}},
};

/// One node: the performance table that XLA ships for H100 (2026); two nodes: AWS p5 (EFA, 400 GB/s per node,
/// nccl-tests).
inline constexpr std::array h100_lines{
    fitted_line{collective::all_gather, {2, 1}, {11.0, 587.5, 8.484e+06, 0.5}},
    fitted_line{collective::all_gather, {4, 1}, {15.7, 465.9, 4.317e+06, 0.5}},
    fitted_line{collective::all_gather, {8, 1}, {28.8, 439.5, 5.137e+05, 0.3}},
    fitted_line{collective::reduce_scatter, {2, 1}, {4.4, 374.6, 6.778e+06, 0.9}},
    fitted_line{collective::reduce_scatter, {4, 1}, {25.1, 397.8, 1.243e+05, 0.3}},
    fitted_line{collective::reduce_scatter, {8, 1}, {27.5, 398.5, 1.662e+05, 0.3}},
    fitted_line{collective::all_reduce, {2, 1}, {15.3, 275.5, 1.213e+06, 0.3}},
    fitted_line{collective::all_reduce, {4, 1}, {21.8, 205.6, 3.079e+06, 0.6}},
    fitted_line{collective::all_reduce, {8, 1}, {32.3, 238.6, 5.882e+06, 0.6}},
    fitted_line{collective::all_reduce, {8, 2}, {72.3, 271.8, 7.745e+07, 0.6}},
    fitted_line{collective::all_to_all, {2, 1}, {19.4, 697.3, 3.234e+07, 0.6}},
    fitted_line{collective::all_to_all, {4, 1}, {26.9, 488.8, 1.372e+07, 0.6}},
    fitted_line{collective::all_to_all, {8, 1}, {32.5, 417.3, 2.968e+05, 0.3}},
};

/// The performance table that XLA ships for B200 (2026).
inline constexpr std::array b200_lines{
    fitted_line{collective::all_gather, {2, 1}, {21.2, 940.1, 7.396e+06, 0.5}},
    fitted_line{collective::all_gather, {4, 1}, {27.5, 824.8, 4.299e+06, 0.4}},
    fitted_line{collective::all_gather, {8, 1}, {33.6, 704.6, 1.587e+06, 0.6}},
    fitted_line{collective::reduce_scatter, {2, 1}, {27.0, 1005.2, 1.685e+06, 0.3}},
    fitted_line{collective::reduce_scatter, {4, 1}, {24.5, 793.0, 1.089e+07, 0.8}},
    fitted_line{collective::reduce_scatter, {8, 1}, {34.6, 810.6, 1.524e+06, 0.3}},
    fitted_line{collective::all_reduce, {2, 1}, {21.5, 507.2, 8.24e+06, 0.5}},
    fitted_line{collective::all_reduce, {4, 1}, {32.8, 429.4, 2.272e+06, 0.3}},
    fitted_line{collective::all_reduce, {8, 1}, {44.2, 378.3, 1.544e+07, 0.6}},
    fitted_line{collective::all_to_all, {2, 1}, {25.8, 1049.8, 1.056e+08, 0.5}},
    fitted_line{collective::all_to_all, {4, 1}, {29.6, 780.7, 2.374e+07, 0.6}},
    fitted_line{collective::all_to_all, {8, 1}, {36.3, 775.9, 1.075e+07, 0.4}},
};

/// The performance table that XLA ships for GB200 NVL72 (2026).
inline constexpr std::array gb200_lines{
    fitted_line{collective::all_gather, {4, 1}, {16.4, 865.8, 8.175e+06, 0.5}},
    fitted_line{collective::all_gather, {8, 1}, {18.6, 790.6, 2.343e+06, 0.4}},
    fitted_line{collective::all_gather, {16, 1}, {29.0, 737.8, 3.564e+06, 0.5}},
    fitted_line{collective::all_gather, {32, 1}, {43.5, 769.1, 2.613e+06, 0.3}},
    fitted_line{collective::all_gather, {64, 1}, {93.6, 725.3, 2.771e+05, 0.3}},
    fitted_line{collective::all_gather, {72, 1}, {106.5, 685.3, 6.027e+04, 0.3}},
    fitted_line{collective::reduce_scatter, {4, 1}, {16.9, 914.0, 1.161e+07, 0.5}},
    fitted_line{collective::reduce_scatter, {8, 1}, {18.5, 826.1, 3.903e+06, 0.4}},
    fitted_line{collective::reduce_scatter, {16, 1}, {29.1, 764.3, 5.086e+06, 0.5}},
    fitted_line{collective::reduce_scatter, {32, 1}, {55.5, 762.0, 1.856e+07, 0.5}},
    fitted_line{collective::reduce_scatter, {64, 1}, {95.0, 717.0, 4.333e+06, 0.7}},
    fitted_line{collective::reduce_scatter, {72, 1}, {93.5, 697.5, 1.538e+07, 0.9}},
    fitted_line{collective::all_reduce, {4, 1}, {17.8, 460.9, 4.247e+06, 0.5}},
    fitted_line{collective::all_reduce, {8, 1}, {27.7, 534.9, 4.112e+07, 0.4}},
    fitted_line{collective::all_reduce, {16, 1}, {49.3, 561.8, 3.882e+07, 0.3}},
    fitted_line{collective::all_reduce, {32, 1}, {50.9, 653.5, 3.723e+08, 0.3}},
    fitted_line{collective::all_reduce, {64, 1}, {50.9, 539.6, 1.332e+08, 0.4}},
    fitted_line{collective::all_reduce, {72, 1}, {53.3, 520.8, 1.117e+08, 0.4}},
    fitted_line{collective::all_to_all, {4, 1}, {23.0, 884.1, 2.144e+06, 0.3}},
    fitted_line{collective::all_to_all, {8, 1}, {11.2, 788.8, 1.391e+07, 0.5}},
    fitted_line{collective::all_to_all, {16, 1}, {11.4, 724.4, 1.174e+07, 0.5}},
    fitted_line{collective::all_to_all, {32, 1}, {22.9, 706.3, 2.599e+05, 0.3}},
    fitted_line{collective::all_to_all, {64, 1}, {53.6, 685.9, 1.459e+05, 0.3}},
    fitted_line{collective::all_to_all, {72, 1}, {64.4, 707.8, 8.768e+06, 0.3}},
};

}  // namespace shardweave::inline v0::detail
