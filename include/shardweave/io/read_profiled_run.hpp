#pragma once

#include <shardweave/core/number_text.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/tasks/profiled_run.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Reads the Chrome trace that PyTorch's profiler exports.

namespace shardweave::inline v0 {

namespace detail {

/// The bytes of an element, by PyTorch's name of its type; 0 if unknown.
[[nodiscard]] inline std::int64_t torch_element_bytes(std::string_view type) {
  struct named {
    std::string_view type;
    std::int64_t size;
  };
  constexpr std::array<named, 12> known{{{"Float", 4},
                                         {"BFloat16", 2},
                                         {"Half", 2},
                                         {"Double", 8},
                                         {"Long", 8},
                                         {"Int", 4},
                                         {"Short", 2},
                                         {"Char", 1},
                                         {"Byte", 1},
                                         {"Bool", 1},
                                         {"ComplexFloat", 8},
                                         {"ComplexDouble", 16}}};
  if (type.starts_with("Float8")) return 1;
  for (const named& one : known)
    if (one.type == type) return one.size;
  return 0;
}

/// The operation of a kernel of NCCL, by its name and by what the profiler says of the call.
[[nodiscard]] inline std::optional<collective> collective_of_kernel(std::string_view kernel, std::string_view call) {
  const auto has = [](std::string_view text, std::string_view word) { return text.find(word) != text.npos; };
  if (has(kernel, "AllGather")) return collective::all_gather;
  if (has(kernel, "ReduceScatter")) return collective::reduce_scatter;
  if (has(kernel, "AllReduce")) return collective::all_reduce;
  // sends and receives are an all-to-all only if the call says so
  if (has(kernel, "SendRecv") && (has(call, "all_to_all") || has(call, "alltoall"))) return collective::all_to_all;
  return std::nullopt;
}

class profiled_run_reader {
 public:
  profiled_run read(text_input& input) {
    json_shape shape =
        json_object({json_optional("ph", text(event_.phase)), json_optional("cat", text(event_.category)),
                     json_optional("name", text(event_.name)), json_optional("dur", number(event_.duration)),
                     json_optional("args", arguments())},
                    [this] { return take(); });
    shape.begin = [this] { event_ = {}; };
    read_json(input, json_object({json_required("traceEvents", json_list(std::move(shape)))}));
    return finish();
  }

 private:
  struct event {
    std::string phase, category, name, call, type;
    std::optional<double> duration, id, elements, group_size;
    tensor_shapes inputs;
    bool has_inputs = false;
  };
  struct launched {
    std::string kernel;
    nanoseconds duration;
    std::optional<std::int64_t> id;
  };

  // What others wrote is taken as it comes: what has another type is passed over.
  static json_shape any(std::function<void(const json_scalar&)> take) {
    json_shape shape;
    shape.take = [take = std::move(take)](const json_scalar& s) {
      take(s);
      return true;
    };
    return shape;
  }
  static json_shape text(std::string& into) {
    return any([&into](const json_scalar& s) {
      if (s.type == json_scalar::kind::text) into = s.text;
    });
  }
  static json_shape number(std::optional<double>& into) {
    return any([&into](const json_scalar& s) { into = number_of(s); });
  }

  json_shape arguments() {
    json_shape dimension = any([this](const json_scalar& s) {
      if (const auto n = integer_of<std::int64_t>(s); n && !event_.inputs.empty()) event_.inputs.back().push_back(*n);
    });
    dimension.begin = [this] { event_.has_inputs = false; };  // a list of tensors: not told apart from other lists
    json_shape tensor;
    tensor.begin = [this] { event_.inputs.emplace_back(); };
    tensor.element = std::make_shared<const json_shape>(std::move(dimension));
    json_shape dimensions;
    dimensions.begin = [this] { event_.has_inputs = true; };
    dimensions.element = std::make_shared<const json_shape>(std::move(tensor));
    return json_object(
        {json_optional("External id", number(event_.id)), json_optional("Input Dims", std::move(dimensions)),
         json_optional("Collective name", text(event_.call)), json_optional("In msg nelems", number(event_.elements)),
         json_optional("Group size", number(event_.group_size)), json_optional("dtype", text(event_.type))});
  }

  static std::optional<std::int64_t> whole(std::optional<double> number) {
    if (!number || !(*number >= 0 && *number < 0x1p53) || *number != std::floor(*number)) return std::nullopt;
    return static_cast<std::int64_t>(*number);
  }

  std::string take() {
    if (event_.phase != "X") return {};
    if (event_.category == "cpu_op") {
      const auto id = whole(event_.id);
      if (!id || !event_.has_inputs) return {};
      std::erase_if(event_.inputs, [](const auto& shape) { return shape.empty(); });
      calls_.insert_or_assign(*id, profiled_call{event_.name, std::move(event_.inputs), nanoseconds(0)});
      return {};
    }
    if (event_.category != "kernel" && event_.category != "gpu_memcpy" && event_.category != "gpu_memset") return {};
    if (!event_.duration || !(*event_.duration >= 0 && *event_.duration < 1e12))
      return "is a kernel whose dur is " + (event_.duration ? number_text(*event_.duration) : std::string("missing")) +
             ", expected microseconds from 0 to 1e12";
    const nanoseconds took(static_cast<std::int64_t>(std::llround(*event_.duration * 1000)));
    if (event_.name.starts_with("nccl")) {
      const auto op = collective_of_kernel(event_.name, event_.call);
      const auto elements = whole(event_.elements), group = whole(event_.group_size);
      const std::int64_t size = torch_element_bytes(event_.type);
      if (op && elements && *elements < (std::int64_t{1} << 48) && group && size > 0) {
        seen_.collectives.push_back({*op, *group, bytes(*elements * size), took});
        return {};
      }
      launched_.push_back({event_.name, took, std::nullopt});
      return {};
    }
    launched_.push_back({event_.name, took, whole(event_.id)});
    return {};
  }

  profiled_run finish() {
    std::map<std::int64_t, nanoseconds> by_call;
    for (const launched& k : launched_) {
      if (k.id && calls_.contains(*k.id)) {
        nanoseconds& sum = by_call[*k.id];
        if (k.duration.count() > std::numeric_limits<std::int64_t>::max() - sum.count())
          refuse(error_category::format, "the kernels of call " + std::to_string(*k.id) + " (" + calls_.at(*k.id).op +
                                             ") take more nanoseconds than 64 bits can count");
        sum += k.duration;
      } else {
        seen_.unclaimed.push_back(k.kernel);
      }
    }
    for (const auto& [id, duration] : by_call) {
      profiled_call call = std::move(calls_.at(id));
      call.duration = duration;
      seen_.calls.push_back(std::move(call));
    }
    std::sort(seen_.unclaimed.begin(), seen_.unclaimed.end());
    seen_.unclaimed.erase(std::unique(seen_.unclaimed.begin(), seen_.unclaimed.end()), seen_.unclaimed.end());
    return std::move(seen_);
  }

  event event_;
  std::map<std::int64_t, profiled_call> calls_;
  std::vector<launched> launched_;
  profiled_run seen_;
};

}  // namespace detail

/// Reads what `torch.profiler` exports (`export_chrome_trace`), recorded with shapes (`record_shapes=True`): events of
/// phase X. Kernels, copies and fills (`kernel`, `gpu_memcpy`, `gpu_memset`) belong to the `cpu_op` with their
/// `External id`, which tells operator and shapes; NCCL's kernels tell their collective themselves (`In msg nelems`,
/// `dtype`, `Group size`, `Collective name`). Everything else is passed over. A collective's kernel begins when this
/// rank comes to it: what it waits there for others is part of its duration.
/// \throws error (format) naming the text, line and byte for what is no JSON, has no `traceEvents`, or a kernel without
///         a duration
/// Complexity: linear in the text but for a logarithm of the number of calls; memory for one entry per call and kernel
[[nodiscard]] inline profiled_run read_profiled_run(text_source input) {
  return detail::profiled_run_reader().read(input);
}

}  // namespace shardweave::inline v0
