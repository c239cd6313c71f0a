#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/kernel_calibration.hpp>
#include <shardweave/engine/calibration.hpp>
#include <shardweave/engine/detail/nccl_timing.hpp>
#include <shardweave/engine/nccl_copy_work.hpp>
#include <shardweave/engine/nccl_engine.hpp>
#include <shardweave/engine/nccl_handles.hpp>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Products of matrices on a device, by the library that comes with the toolkit: measured, put in place of computation,
/// and told to a calibration.

namespace shardweave::inline v0 {

/// Turns what cuBLAS returns into an error that names the call.
/// \throws error (backend) unless the code says success
inline void check_cublas(cublasStatus_t code, std::string_view call) {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  refuse(error_category::backend, std::string(call) + ": " + cublasGetStatusString(code));
}

/// A product, measured.
struct timed_product {
  product_shape shape = {};
  double time_us = 0;
};

/// Products of square matrices, each with twice the rows of the one before.
[[nodiscard]] inline std::vector<product_shape> square_products(std::int64_t smallest = 128,
                                                                std::int64_t largest = 8192) {
  std::vector<product_shape> shapes;
  for (std::int64_t n = smallest; n > 0 && n <= largest; n *= 2)
    shapes.push_back({.rows = n, .inner = n, .columns = n});
  return shapes;
}

/// Products of bf16 matrices, summed in f32 (`cublasGemmEx`), whose times are measured on the current device. A
/// duration becomes products of these shapes, the longest first: what stands in for computation then takes
/// multiprocessors, as products in a model do. Copies share all.
class cublas_products {
 public:
  /// Measures each shape: the fastest of several runs.
  /// \throws error (input) if there is no shape, or one that is none; (backend) if the library or the device refuses
  explicit cublas_products(std::span<const product_shape> shapes = square_products())
      : shared_(std::make_shared<const shared>(shapes)) {}

  /// The shapes with their times, in the order in which they were given.
  [[nodiscard]] std::span<const timed_product> measured() const { return shared_->measured; }
  /// Of the library, as it numbers its releases.
  [[nodiscard]] int version() const { return shared_->version; }
  /// How many products stand in for a duration: none for less than half of what the shortest takes.
  [[nodiscard]] std::int64_t pieces(nanoseconds duration) const {
    std::int64_t count = 0;
    shared_->split(duration, [&](const product_shape&, std::int64_t n) { count += n; });
    return count;
  }
  /// Puts work on a stream of the device that takes a duration where nothing disturbs it.
  void enqueue(cudaStream_t stream, nanoseconds duration) const {
    check_cublas(cublasSetStream(shared_->handle.get(), stream), "cublasSetStream");
    shared_->split(duration, [&](const product_shape& shape, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) shared_->put(shape);
    });
  }
  /// For `nccl_engine::compute_by`.
  [[nodiscard]] nccl_stand_in stand_in() const {
    return {[products = *this](nanoseconds duration) { return products.pieces(duration); },
            [products = *this](cudaStream_t stream, nanoseconds duration) { products.enqueue(stream, duration); }};
  }

 private:
  using number = std::uint16_t;  // a bf16

  struct shared {
    explicit shared(std::span<const product_shape> shapes) {
      if (shapes.empty()) refuse(error_category::input, "there is no product to measure");
      std::int64_t left = 0, right = 0, result = 0;
      for (const product_shape& p : shapes) {
        if (p.batch != 1 || std::min({p.rows, p.inner, p.columns}) < 1 ||
            std::max({p.rows, p.inner, p.columns}) > INT_MAX)
          refuse(error_category::input, "a product of " + std::to_string(p.rows) + " x " + std::to_string(p.inner) +
                                            " and " + std::to_string(p.inner) + " x " + std::to_string(p.columns) +
                                            ", " + std::to_string(p.batch) + " times: expected one of matrices whose " +
                                            "sizes are from 1 to " + std::to_string(INT_MAX));
        left = std::max(left, p.rows * p.inner);
        right = std::max(right, p.inner * p.columns);
        result = std::max(result, p.rows * p.columns);
      }
      const device_stream stream = make_stream();
      const pinned_memory some = random_numbers();
      from = filled(left, some, stream.get());
      with = filled(right, some, stream.get());
      into = make_device_memory(static_cast<std::size_t>(result) * sizeof(number));
      cublasHandle_t made = nullptr;
      check_cublas(cublasCreate(&made), "cublasCreate");
      handle = device_handle<cublasHandle_t, cublasDestroy>(made);
      check_cublas(cublasGetVersion(made, &version), "cublasGetVersion");
      check_cublas(cublasSetStream(made, stream.get()), "cublasSetStream");
      for (const product_shape& p : shapes) put(p);  // wakes the device
      for (const product_shape& p : shapes)
        measured.push_back({p, std::max(detail::fastest_of(stream.get(), 8, 5, [&] { put(p); }) / 1e3, 1e-3)});
      longest_first = measured;
      std::stable_sort(longest_first.begin(), longest_first.end(),
                       [](const timed_product& a, const timed_product& b) { return a.time_us > b.time_us; });
    }

    /// How fast a device is depends on the numbers, by the power that they draw: neither zeros nor all the same, in
    /// magnitude from 1/8 to 2.
    static pinned_memory random_numbers() {
      constexpr std::size_t count = std::size_t{1} << 16U;
      pinned_memory made = make_pinned_memory(count * sizeof(number));
      random_source random(1);
      auto* const numbers = reinterpret_cast<number*>(made.data());
      for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<number>(0x3e00U | (random() & 0x81ffU));
      return made;
    }
    /// A matrix of so many numbers, some over and over.
    static device_memory filled(std::int64_t count, const pinned_memory& some, cudaStream_t stream) {
      device_memory made = make_device_memory(static_cast<std::size_t>(count) * sizeof(number));
      std::size_t done = std::min(some.size(), made.size());
      check_cuda(cudaMemcpyAsync(made.data(), some.data(), done, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
      for (; done < made.size(); done += std::min(done, made.size() - done))
        check_cuda(cudaMemcpyAsync(made.data() + done, made.data(), std::min(done, made.size() - done),
                                   cudaMemcpyDeviceToDevice, stream),
                   "cudaMemcpyAsync");
      return made;
    }
    /// The library stores columns one after the other, and so sees each matrix, and their order, the other way round.
    void put(const product_shape& p) const {
      const float one = 1, zero = 0;
      const auto rows = static_cast<int>(p.rows), inner = static_cast<int>(p.inner),
                 columns = static_cast<int>(p.columns);
      check_cublas(cublasGemmEx(handle.get(), CUBLAS_OP_N, CUBLAS_OP_N, columns, rows, inner, &one, with.data(),
                                CUDA_R_16BF, columns, from.data(), CUDA_R_16BF, inner, &zero, into.data(), CUDA_R_16BF,
                                columns, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                   "cublasGemmEx");
    }
    /// Tells how often each shape is to be done.
    template <class Tell>
    void split(nanoseconds duration, Tell tell) const {
      double left = static_cast<double>(duration.count()) / 1e3;
      for (const timed_product& p : longest_first) {
        const auto n = static_cast<std::int64_t>(left / p.time_us + 1e-9);
        if (n <= 0) continue;
        tell(p.shape, n);
        left -= static_cast<double>(n) * p.time_us;
      }
      if (left > 0 && left >= longest_first.back().time_us / 2) tell(longest_first.back().shape, 1);
    }

    device_memory from, with, into;
    device_handle<cublasHandle_t, cublasDestroy> handle;
    int version = 0;
    std::vector<timed_product> measured, longest_first;
  };

  std::shared_ptr<const shared> shared_;
};

/// The built-in device that the current one is by its own words: "NVIDIA H100 80GB HBM3" is h100.
[[nodiscard]] inline std::optional<device_profile> known_device_here() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  cudaDeviceProp here = {};
  check_cuda(cudaGetDeviceProperties(&here, device), "cudaGetDeviceProperties");
  std::string words = " ";
  for (const char c : std::string(here.name) + ' ')
    words += std::isalnum(static_cast<unsigned char>(c)) != 0
                 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                 : ' ';
  for (const device_profile& known : known_devices())
    if (words.find(" " + std::string(known.name) + " ") != std::string::npos) return known;
  return std::nullopt;
}

/// Adds to a calibration what computation takes: shares of the peaks, and floors, of the slowest rank, which
/// `device_calibration::compute_on` puts on the peaks again. Every rank calls, after `calibrate_nccl`, and gets the
/// same.
///
/// A product is never shorter than the shortest of those that were measured. The share of the peak follows the
/// operations per byte of those that take half as long again or more: others say what a launch takes. What moves data
/// takes what copies do. Attention, and products of other than 16-bit numbers, keep the defaults of `compute_profile`.
/// \param products  measured on the same shapes by every rank
/// \throws error (input) if the device has no rate for 16-bit numbers or no bandwidth; else as the engine does
inline void calibrate_products(machine_calibration& found, nccl_engine& engine, const cublas_products& products,
                               const device_profile& peaks) {
  const double rate = peaks.rate(arithmetic::f16);
  if (!(rate > 0) || !(peaks.memory_bandwidth > 0))
    refuse(error_category::input, "device '" + std::string(peaks.name) +
                                      "' states no rate for 16-bit numbers or no bandwidth, of which to tell shares");
  std::vector<measured_kernel> kernels;
  for (const timed_product& p : products.measured())
    kernels.push_back({kernel_kind::matrix_product, work_of(p.shape, 2), engine.largest(p.time_us)});
  compute_profile compute = calibrate_kernels(compute_profile(peaks), kernels);
  // a copy takes its floor, and its bytes at one speed: a share that is half at the bytes of such a floor
  compute.launch_us = engine.largest(to_microseconds(engine.work().floor()));
  const double speed = -engine.largest(-engine.work().dram_bytes_per_ns());
  compute.memory = {speed * 1e9 / peaks.memory_bandwidth, compute.launch_us * 1e3 * speed, 1};
  found.device.compute = compute;
  found.device.device = peaks.name;
  found.device.source += (found.device.source.empty() ? "" : "; ") + std::string("products of bf16, cuBLAS ") +
                         std::to_string(products.version());
}

}  // namespace shardweave::inline v0
