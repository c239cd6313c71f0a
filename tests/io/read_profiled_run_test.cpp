#include <shardweave/io/read_profiled_run.hpp>
#include <shardweave/tasks/profiled_run.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <io/refused.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace read_profiled_run_tests {
namespace {

std::string call(int id, const std::string& op, const std::string& shapes) {
  return R"({"ph":"X","cat":"cpu_op","name":")" + op + R"(","pid":1,"tid":2,"ts":1.5,"dur":90,"args":{"External id":)" +
         std::to_string(id) + R"(,"Input Dims":)" + shapes + R"(,"Input type":["c10::BFloat16",""]}})";
}
std::string kernel(int id, double us, const std::string& name = "sm90_gemm", const std::string& category = "kernel") {
  return R"({"ph":"X","cat":")" + category + R"(","name":")" + name + R"(","ts":7,"dur":)" + std::to_string(us) +
         R"(,"args":{"External id":)" + std::to_string(id) + R"(,"correlation":3,"stream":7}})";
}
std::string nccl(const std::string& name, const std::string& call, std::int64_t elements, int group, double us,
                 const std::string& type = "BFloat16") {
  return R"({"ph":"X","cat":"kernel","name":")" + name + R"(","ts":7,"dur":)" + std::to_string(us) +
         R"(,"args":{"Collective name":")" + call + R"(","In msg nelems":)" + std::to_string(elements) +
         R"(,"Out msg nelems":1,"Group size":)" + std::to_string(group) + R"(,"dtype":")" + type +
         R"(","External id":99}})";
}
std::string trace(const std::vector<std::string>& events) {
  std::string text = R"({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"H100"}],"traceEvents":[)";
  for (std::size_t i = 0; i < events.size(); ++i) text += (i > 0 ? "," : "") + events[i];
  return text + R"(],"traceName":"t.json"})";
}
sw::profiled_run read(const std::string& text, std::size_t piece = 1U << 18) {
  auto input = sw::text_input::of_memory("trace", text, piece);
  return sw::read_profiled_run(input);
}

/// Two products of other shapes, a sum, an all-gather and a wait.
sw::task_graph small_graph() {
  sw::task_graph_builder b;
  b.add_group({.id = 0, .name = "dp", .size = 8});
  const auto tensor = [&](std::vector<std::int64_t> shape) {
    std::int64_t n = 2;
    for (const auto d : shape) n *= d;
    return sw::output_record{sw::bytes(n), b.add_storage(sw::bytes(n)), "bf16", shape};
  };
  const auto input = [&](std::vector<std::int64_t> shape) {
    return b.add_task({.op = "input", .kind = sw::task_kind::input, .outputs = {tensor(shape)}});
  };
  const auto x = input({64, 32}), w = input({32, 16}), part = input({4, 16});
  sw::task_record gather{.op = "_c10d_functional.all_gather_into_tensor.default",
                         .kind = sw::task_kind::collective,
                         .duration = sw::nanoseconds(500),
                         .inputs = {part},
                         .outputs = {tensor({32, 16})}};
  gather.collective =
      sw::collective_record{sw::collective::all_gather, 0, sw::bytes(128), sw::bytes(1024), "bf16", "none"};
  const auto c = b.add_task(gather);
  const auto all = b.add_task(
      {.op = "wait", .kind = sw::task_kind::wait, .inputs = {c}, .completes = c, .outputs = {tensor({32, 16})}});
  const auto mm = [&](sw::task_index left, sw::task_index right, std::vector<std::int64_t> shape) {
    return b.add_task({.op = "aten.mm.default",
                       .kind = sw::task_kind::compute,
                       .duration = sw::nanoseconds(100),
                       .inputs = {left, right},
                       .outputs = {tensor(shape)}});
  };
  const auto one = mm(x, w, {64, 16}), two = mm(x, all, {64, 16});
  b.add_task({.op = "aten.add.Tensor",
              .kind = sw::task_kind::other,
              .duration = sw::nanoseconds(10),
              .inputs = {one, two},
              .outputs = {tensor({64, 16})}});
  return std::move(b).build();
}

}  // namespace

TEST_SUITE("profiled_run") {
  TEST_CASE("kernels belong to the call that launched them, collectives speak for themselves") {
    const std::string text = trace(
        {kernel(5, 10.25), call(5, "aten::mm", "[[64,32],[32,16]]"), kernel(5, 1.5),
         call(6, "aten::add", "[[64,16],[64,16],[]]"), kernel(6, 2.0004), kernel(6, 1, "Memset (Device)", "gpu_memset"),
         call(7, "aten::view", "[[64]]"), kernel(40, 3, "triton_poi_fused_0"), kernel(41, 3, "triton_poi_fused_0"),
         nccl("ncclDevKernel_AllGather_RING_LL(x)", "_allgather_base", 64, 8, 12.5),
         nccl("ncclDevKernel_ReduceScatter_Sum_f32", "_reduce_scatter_base", 64, 4, 3, "Float"),
         nccl("ncclDevKernel_SendRecv(x)", "all_to_allv", 10, 2, 1),
         nccl("ncclDevKernel_SendRecv(x)", "send", 10, 2, 1),
         R"({"ph":"M","name":"process_name","args":{"name":"python"}})",
         R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","dur":4})"});
    for (const std::size_t piece : {std::size_t{1}, std::size_t{1} << 18}) {
      const sw::profiled_run seen = read(text, piece);
      REQUIRE(seen.calls.size() == 2);
      CHECK(seen.calls[0].op == "aten::mm");
      CHECK(seen.calls[0].inputs == sw::tensor_shapes{{64, 32}, {32, 16}});
      CHECK(seen.calls[0].duration == sw::nanoseconds(11'750));
      CHECK(seen.calls[1].inputs == sw::tensor_shapes{{64, 16}, {64, 16}});
      CHECK(seen.calls[1].duration == sw::nanoseconds(3'000));
      REQUIRE(seen.collectives.size() == 3);
      CHECK(seen.collectives[0].op == sw::collective::all_gather);
      CHECK(seen.collectives[0].bytes_in == sw::bytes(128));
      CHECK(seen.collectives[0].group_size == 8);
      CHECK(seen.collectives[0].duration == sw::nanoseconds(12'500));
      CHECK(seen.collectives[1].op == sw::collective::reduce_scatter);
      CHECK(seen.collectives[1].bytes_in == sw::bytes(256));
      CHECK(seen.collectives[2].op == sw::collective::all_to_all);
      CHECK(seen.unclaimed == std::vector<std::string>{"ncclDevKernel_SendRecv(x)", "triton_poi_fused_0"});
    }
  }

  TEST_CASE("tasks are matched by operator and shapes, the median counts, what is not there is listed") {
    const sw::task_graph g = small_graph();
    std::vector<std::string> events;
    int id = 0;
    for (const double us : {4.0, 9.0, 5.0, 6.0}) {  // lower median 5
      events.push_back(call(++id, "aten::mm", "[[64,32],[32,16]]"));
      events.push_back(kernel(id, us));
    }
    events.push_back(call(++id, "aten::mm", "[[64,32],[32,8]]"));  // no task has these shapes
    events.push_back(kernel(id, 70));
    events.push_back(call(++id, "aten::bmm", "[[2,64,32],[2,32,8]]"));
    events.push_back(kernel(id, 70));
    events.push_back(nccl("ncclDevKernel_AllGather_RING_LL(x)", "_allgather_base", 64, 8, 12.5));
    events.push_back(nccl("ncclDevKernel_AllGather_RING_LL(x)", "_allgather_base", 64, 16, 50));
    const sw::profiled_durations found = sw::durations_by(g, read(trace(events)));
    REQUIRE(found.durations.size() == g.size());
    std::vector<std::int64_t> durations;
    for (const auto d : found.durations) durations.push_back(d.count());
    CHECK(durations == std::vector<std::int64_t>{0, 0, 0, 12'500, 0, 5'000, 5'000, 10});
    CHECK(found.matched == 3);
    CHECK(found.unmatched == std::vector<sw::task_index>{7});
    CHECK(found.unused == std::vector<std::string>{"bmm", "mm"});
  }

  TEST_CASE("what is no trace is refused by place, and what others wrote otherwise is passed over") {
    CHECK(refused([&] { return read("[]"); }).find("trace: line 1") != std::string::npos);
    CHECK(refused([&] { return read(R"({"traceEvents":3})"); }).find("expected a list") != std::string::npos);
    CHECK(refused([&] { return read(R"({"events":[]})"); }).find("has no field 'traceEvents'") != std::string::npos);
    CHECK(refused([&] {
            return read(R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k"}]})");
          }).find("traceEvents[0] is a kernel whose dur is missing") != std::string::npos);
    CHECK(refused([&] {
            return read(R"({"traceEvents":[{"ph":"X","cat":"kernel","name":"k","dur":-1}]})");
          }).find("expected microseconds from 0 to 1e12") != std::string::npos);
    const sw::profiled_run seen = read(
        trace({R"({"ph":"X","cat":"cpu_op","name":5,"args":{"External id":"7","Input Dims":"none"}})",
               R"({"ph":"X","cat":"cpu_op","name":"aten::cat","args":{"External id":1,"Input Dims":[[[2,3],[4]],[]]}})",
               R"({"ph":7,"cat":["a"],"dur":"long","args":{"External id":[1]}})", kernel(1, 2, "copies")}));
    CHECK(seen.calls.empty());
    CHECK(seen.unclaimed == std::vector<std::string>{"copies"});
    std::string many = R"({"ph":"X","cat":"cpu_op","name":"aten::mm","args":{"External id":7,"Input Dims":[[2]]}})";
    for (int i = 0; i < 9224; ++i)
      many += R"(,{"ph":"X","cat":"kernel","name":"k","dur":999999999999,"args":{"External id":7}})";
    CHECK(refused([&] { read(R"({"traceEvents":[)" + many + "]}"); }) ==
          "the kernels of call 7 (aten::mm) take more nanoseconds than 64 bits can count");
  }
}

}  // namespace read_profiled_run_tests
