#include "fake_gpu.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>
#ifdef SHARDWEAVE_HAS_CUBLAS
#include <cublas_v2.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

// One lock for all of it: this is slow, and simple.
namespace fake_gpu {
namespace {

std::mutex lock;
std::condition_variable changed;
settings now_set;
std::size_t living = 0;
std::map<int, std::vector<std::string>> called;
std::map<std::string, int> to_fail;
std::set<int> hung, to_corrupt, lonely;
struct range {
  std::size_t size;
  int device;  // -1: of the host
};
std::map<const char*, range> memory;
thread_local int current_device = 0;

/// Notes a call; what it is to return, if that is not success.
int call(const std::string& name, const std::string& about = "") {
  const std::lock_guard guard(lock);
  called[current_device].push_back(about.empty() ? name : name + " " + about);
  const auto found = to_fail.find(name);
  if (found == to_fail.end()) return 0;
  const int code = found->second;
  to_fail.erase(found);
  return code;
}

/// Whether all of it is memory that the device may use.
bool is_inside(const void* from, std::size_t size, int device) {
  if (size == 0) return true;
  const auto* at = static_cast<const char*>(from);
  auto it = memory.upper_bound(at);
  if (it == memory.begin()) return false;
  --it;
  return at + size <= it->first + it->second.size && (it->second.device == -1 || it->second.device == device);
}
}  // namespace
}  // namespace fake_gpu

using namespace fake_gpu;

struct CUstream_st {
  int device = 0;
  std::int64_t clock = 0;  // of its thread alone
  std::deque<std::function<void(CUstream_st&)>> queue;
  bool closed = false;
  bool busy = false;
  std::condition_variable work;
  std::thread thread;

  void serve() {
    std::unique_lock held(lock);
    for (;;) {
      work.wait(held, [&] { return closed || (!queue.empty() && !hung.contains(device)); });
      if (queue.empty() || hung.contains(device)) return;  // closed
      const auto next = std::move(queue.front());
      queue.pop_front();
      busy = true;
      held.unlock();
      next(*this);
      held.lock();
      busy = false;
      if (queue.empty()) changed.notify_all();
    }
  }
  void put(std::function<void(CUstream_st&)> next) {
    const std::lock_guard guard(lock);
    queue.push_back(std::move(next));
    work.notify_one();
  }
};
struct CUevent_st {
  struct marks {
    std::uint64_t recorded = 0;  // by the host
    std::uint64_t reached = 0;   // by a stream
    std::int64_t time = 0;
  };
  std::shared_ptr<marks> shared = std::make_shared<marks>();  // an event may be destroyed before it is reached
};

struct cublasContext {
  int device = 0;
  cudaStream_t stream = nullptr;
};

namespace fake_nccl {
std::set<CUstream_st*> streams;

struct part {
  enum class kind { all_gather, reduce_scatter, all_reduce, send, receive } what;
  const char* sent;
  char* received;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int peer;
  bool fits(const part& other) const {
    return std::tie(what, count, type, op) == std::tie(other.what, other.count, other.type, other.op);
  }
};
std::size_t width(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    default:
      return 8;
  }
}
/// A binary16 and back, for numbers that are normal or zero.
double from_half(std::uint16_t h) {
  const double size = (h & 0x7fff) == 0 ? 0 : std::ldexp(1 + (h & 0x3ff) / 1024.0, ((h >> 10) & 31) - 15);
  return (h >> 15) != 0 ? -size : size;
}
std::uint16_t to_half(double x) {
  if (x == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);  // in [0.5, 1)
  const auto bits = static_cast<unsigned>(std::nearbyint((2 * fraction - 1) * 1024));
  return static_cast<std::uint16_t>((x < 0 ? 0x8000U : 0U) | ((static_cast<unsigned>(exponent + 14) << 10U) + bits));
}
template <class T>
void combine_as(char* into, const char* from, std::size_t count, ncclRedOp_t op) {
  for (std::size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, into + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    a = op == ncclSum ? static_cast<T>(a + b) : op == ncclMax ? std::max(a, b) : std::min(a, b);
    std::memcpy(into + i * sizeof(T), &a, sizeof(T));
  }
}
void combine(char* into, const char* from, std::size_t count, ncclDataType_t type, ncclRedOp_t op) {
  switch (type) {
    case ncclUint8:
      return combine_as<std::uint8_t>(into, from, count, op);
    case ncclUint32:
      return combine_as<std::uint32_t>(into, from, count, op);
    case ncclUint64:
      return combine_as<std::uint64_t>(into, from, count, op);
    case ncclFloat32:
      return combine_as<float>(into, from, count, op);
    case ncclFloat64:
      return combine_as<double>(into, from, count, op);
    default:
      break;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t a, b;
    std::memcpy(&a, into + 2 * i, 2);
    std::memcpy(&b, from + 2 * i, 2);
    const double x = from_half(a), y = from_half(b);
    a = to_half(op == ncclSum ? x + y : op == ncclMax ? std::max(x, y) : std::min(x, y));
    std::memcpy(into + 2 * i, &a, 2);
  }
}
/// What a rank sends and receives in one launch, in bytes.
std::int64_t bytes_of(const std::vector<part>& parts, int ranks) {
  std::size_t sum = 0;
  for (const part& p : parts) {
    const std::size_t block = p.count * width(p.type);
    if (p.what == part::kind::receive) continue;
    sum += p.what == part::kind::all_gather || p.what == part::kind::reduce_scatter
               ? block * static_cast<std::size_t>(ranks)
               : block;
  }
  return static_cast<std::int64_t>(sum);
}

struct world {
  int size = 0;
  struct launch {
    std::vector<const std::vector<part>*> parts;
    std::int64_t begin = 0, end = 0;
    int here = 0;
    bool done = false;
  };
  std::map<std::uint64_t, launch> launches;
  struct split {
    struct asked {
      int color, key, rank, device;
      ncclComm_t* slot;
      bool blocking;
      ncclComm_t made = nullptr;
    };
    std::vector<asked> ranks;
  };
  std::map<std::uint64_t, split> splits;
  int here = 0;  // of those that are to join
  bool is_wrong = false;
};
std::map<std::string, std::shared_ptr<world>> joining;
}  // namespace fake_nccl
using namespace fake_nccl;

struct ncclComm {
  std::shared_ptr<world> all;
  int rank = 0;
  int device = 0;
  bool blocking = false;
  std::uint64_t launched = 0, splits = 0;
  std::shared_ptr<std::atomic<bool>> aborted = std::make_shared<std::atomic<bool>>(false);
  std::function<bool()> pending = {};  // a call that is not done; says whether it can be done now
  bool in_silence = false;             // and that is not told
  int polls = 0;
};

namespace {
/// What all ranks do when they have come: computes everything, with the lock held.
void carry_out(world& w, world::launch& l) {
  const auto n = static_cast<std::size_t>(w.size);
  const std::vector<part>& first = *l.parts[0];
  for (std::size_t r = 1; r < n; ++r)
    for (std::size_t i = 0; i < std::max(first.size(), l.parts[r]->size()); ++i)
      if (i >= first.size() || i >= l.parts[r]->size() || !first[i].fits((*l.parts[r])[i])) w.is_wrong = true;
  if (w.is_wrong) return;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const part& p = first[i];
    const std::size_t block = p.count * width(p.type);
    const auto of = [&](std::size_t r) -> const part& { return (*l.parts[r])[i]; };
    if (p.what == part::kind::all_gather) {
      std::vector<char> all;
      for (std::size_t r = 0; r < n; ++r) all.insert(all.end(), of(r).sent, of(r).sent + block);
      for (std::size_t r = 0; r < n && block > 0; ++r) std::memcpy(of(r).received, all.data(), all.size());
    } else if (p.what == part::kind::all_reduce || p.what == part::kind::reduce_scatter) {
      const std::size_t blocks = p.what == part::kind::all_reduce ? 1 : n;
      std::vector<char> sum(of(0).sent, of(0).sent + blocks * block);
      for (std::size_t r = 1; r < n; ++r) combine(sum.data(), of(r).sent, blocks * p.count, p.type, p.op);
      for (std::size_t r = 0; r < n && block > 0; ++r)
        std::memcpy(of(r).received, sum.data() + (blocks == 1 ? 0 : r * block), block);
    }
  }
  // the k-th send from a rank to another meets the k-th receive there
  for (std::size_t r = 0; r < n; ++r) {
    std::map<int, std::size_t> next;
    for (const part& s : *l.parts[r]) {
      if (s.what != part::kind::send) continue;
      std::size_t at = next[s.peer]++;
      for (const part& t : *l.parts[static_cast<std::size_t>(s.peer)])
        if (t.what == part::kind::receive && t.peer == static_cast<int>(r) && at-- == 0 && s.count > 0)
          std::memcpy(t.received, s.sent, s.count * width(s.type));
    }
  }
}

/// One rank's part of a launch, on its stream.
void take_part(CUstream_st& stream, const std::shared_ptr<world>& w, int rank, std::uint64_t number,
               const std::vector<part>& parts, const std::shared_ptr<std::atomic<bool>>& aborted) {
  std::unique_lock held(lock);
  if (*aborted) return;
  world::launch& l = w->launches[number];
  l.parts.resize(static_cast<std::size_t>(w->size));
  l.parts[static_cast<std::size_t>(rank)] = &parts;
  l.begin = std::max(l.begin, stream.clock);
  if (++l.here == w->size) {
    l.end = l.begin + now_set.collective_ns + bytes_of(parts, w->size) / now_set.collective_bytes_per_ns;
    carry_out(*w, l);
    l.done = true;
    changed.notify_all();
  }
  changed.wait(held, [&] { return l.done || *aborted; });
  if (!l.done) {
    --l.here;  // its memory may be gone when the others come
    return;
  }
  stream.clock = l.end;
  if (!parts.empty() && to_corrupt.erase(stream.device) > 0)
    for (const part& p : parts)
      if (p.received != nullptr && p.count > 0) {
        p.received[0] = static_cast<char>(p.received[0] ^ 4);
        break;
      }
}

struct queued {
  ncclComm_t comm;
  cudaStream_t stream;
  std::vector<part> parts;
};
thread_local int group_depth = 0;
thread_local std::vector<queued> group;

ncclResult_t launch_now(const queued& q) {
  const ncclComm_t comm = q.comm;
  const auto put = [q, w = comm->all, rank = comm->rank, number = comm->launched++, aborted = comm->aborted] {
    q.stream->put([q, w, rank, number, aborted](CUstream_st& s) { take_part(s, w, rank, number, q.parts, aborted); });
    return true;
  };
  if (comm->blocking) return put(), ncclSuccess;
  comm->pending = put;
  comm->polls = now_set.polls;
  return ncclInProgress;
}
ncclResult_t enqueue(const std::string& name, const part& p, ncclComm_t comm, cudaStream_t stream) {
  const auto n = static_cast<std::size_t>(comm->all->size);
  const std::size_t block = p.count * width(p.type);
  const char* types[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32", "ncclInt64",
                         "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64"};
  if (const int code = call(name, std::to_string(p.count) + " " + types[p.type]))
    return static_cast<ncclResult_t>(code);
  if (comm->pending) return ncclInvalidUsage;  // the call before is not done
  {
    const std::lock_guard guard(lock);
    const bool sends_all = p.what == part::kind::reduce_scatter, receives_all = p.what == part::kind::all_gather;
    if (stream->device != comm->device ||
        (p.sent != nullptr && !is_inside(p.sent, sends_all ? n * block : block, comm->device)) ||
        (p.received != nullptr && !is_inside(p.received, receives_all ? n * block : block, comm->device)))
      return ncclInvalidArgument;
  }
  if (group_depth == 0) return launch_now({comm, stream, {p}});
  for (queued& q : group)
    if (q.comm == comm) return q.parts.push_back(p), ncclSuccess;
  group.push_back({comm, stream, {p}});
  return ncclSuccess;
}
cudaError_t cuda(int code) { return static_cast<cudaError_t>(code); }
void live(int change) {
  const std::lock_guard guard(lock);
  living += static_cast<std::size_t>(change);
}
/// A copy of rows, as soon as the stream comes to it.
cudaError_t copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t size,
                      std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
  {
    const std::lock_guard guard(lock);
    const int device = stream->device;
    const std::size_t last = rows == 0 ? 0 : rows - 1;
    if (size > to_pitch || size > from_pitch || !is_inside(to, last * to_pitch + size, device) ||
        !is_inside(from, last * from_pitch + size, device))
      return cudaErrorInvalidValue;
  }
  stream->put([=](CUstream_st& s) {
    for (std::size_t r = 0; r < rows && size > 0; ++r)
      std::memmove(static_cast<char*>(to) + r * to_pitch, static_cast<const char*>(from) + r * from_pitch, size);
    // copies from and to the host cost nothing: they belong to checks, which are not measured
    if (kind == cudaMemcpyDeviceToDevice)
      s.clock += now_set.copy_ns + static_cast<std::int64_t>(size * rows) / now_set.copy_bytes_per_ns;
  });
  return cudaSuccess;
}
}  // namespace

namespace fake_gpu {
void reset(const settings& chosen) {
  const std::lock_guard guard(lock);
  now_set = chosen;
  called.clear();
  to_fail.clear();
  hung.clear();
  to_corrupt.clear();
  lonely.clear();
  joining.clear();
  changed.notify_all();
}
std::size_t alive() {
  const std::lock_guard guard(lock);
  return living;
}
std::vector<std::string> calls(int device) {
  const std::lock_guard guard(lock);
  return called[device];
}
void fail_next(const std::string& name, int code) {
  const std::lock_guard guard(lock);
  to_fail[name] = code;
}
void hang(int device) {
  const std::lock_guard guard(lock);
  hung.insert(device);
  changed.notify_all();
}
void corrupt_next(int device) {
  const std::lock_guard guard(lock);
  to_corrupt.insert(device);
}
void lose_peer(int device) {
  const std::lock_guard guard(lock);
  lonely.insert(device);
}
}  // namespace fake_gpu

extern "C" {

// --- the CUDA runtime
cudaError_t cudaGetDeviceCount(int* count) {
  if (const int code = call("cudaGetDeviceCount")) return cuda(code);
  *count = now_set.devices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  current_device = device;
  return cuda(call("cudaSetDevice"));
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cuda(call("cudaGetDevice"));
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? 132 : attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return cuda(call("cudaDeviceGetAttribute"));
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* found, int) {
  *found = {};
  std::snprintf(found->name, sizeof found->name, "%s", now_set.name);
  return cuda(call("cudaGetDeviceProperties"));
}
const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorInsufficientDriver ? "CUDA driver version is insufficient for CUDA runtime version"
         : code == cudaErrorMemoryAllocation ? "out of memory"
         : code == cudaErrorInvalidValue     ? "invalid argument"
         : code == cudaErrorIllegalAddress   ? "an illegal memory access was encountered"
                                             : "some error";
}
static cudaError_t allocate(const char* name, void** made, std::size_t size, int device) {
  if (const int code = call(name)) return cuda(code);
  *made = ::operator new(std::max<std::size_t>(size, 1));
  const std::lock_guard guard(lock);
  memory[static_cast<const char*>(*made)] = {size, device};
  ++living;
  return cudaSuccess;
}
/// Waits for whatever the device is at, as the original does.
static cudaError_t deallocate(void* what) {
  {
    std::unique_lock held(lock);
    changed.wait(held, [] {
      return hung.contains(current_device) || std::all_of(streams.begin(), streams.end(), [](const CUstream_st* s) {
               return s->device != current_device || (s->queue.empty() && !s->busy);
             });
    });
    if (memory.erase(static_cast<const char*>(what)) == 0) return cudaErrorInvalidValue;
    --living;
  }
  ::operator delete(what);
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** made, std::size_t size) { return allocate("cudaMalloc", made, size, current_device); }
cudaError_t cudaHostAlloc(void** made, std::size_t size, unsigned) { return allocate("cudaHostAlloc", made, size, -1); }
cudaError_t cudaFree(void* what) { return deallocate(what); }
cudaError_t cudaFreeHost(void* what) { return deallocate(what); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned) {
  if (const int code = call("cudaStreamCreateWithFlags")) return cuda(code);
  *made = new CUstream_st;
  (*made)->device = current_device;
  live(1);
  const std::lock_guard guard(lock);
  streams.insert(*made);
  (*made)->thread = std::thread([s = *made] { s->serve(); });
  return cudaSuccess;
}
/// Works off what was put there, unless the device hangs.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    const std::lock_guard guard(lock);
    stream->closed = true;
    stream->work.notify_one();
  }
  stream->thread.join();
  {
    const std::lock_guard guard(lock);
    streams.erase(stream);
  }
  delete stream;
  live(-1);
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned) {
  if (const int code = call("cudaEventCreateWithFlags")) return cuda(code);
  *made = new CUevent_st;
  live(1);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  live(-1);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const int code = call("cudaEventRecord")) return cuda(code);
  std::uint64_t number = 0;
  {
    const std::lock_guard guard(lock);
    number = ++event->shared->recorded;
  }
  stream->put([event = event->shared, number](CUstream_st& s) {
    const std::lock_guard guard(lock);
    event->reached = number;
    event->time = s.clock;
    changed.notify_all();
  });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  {
    const std::lock_guard guard(lock);
    const auto found = to_fail.find("cudaEventQuery");
    if (found != to_fail.end()) return cuda(found->second);
    if (event->shared->reached == event->shared->recorded) return cudaSuccess;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(5));  // who asks again and again holds up the streams
  return cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (const int code = call("cudaStreamWaitEvent")) return cuda(code);
  std::uint64_t number = 0;
  {
    const std::lock_guard guard(lock);
    number = event->shared->recorded;
  }
  stream->put([event = event->shared, number](CUstream_st& s) {
    std::unique_lock held(lock);
    changed.wait(held, [&] { return event->reached >= number || hung.contains(s.device); });
    s.clock = std::max(s.clock, event->time);
  });
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  const std::lock_guard guard(lock);
  const auto &from = begin->shared, &to = end->shared;
  if (from->reached != from->recorded || to->reached != to->recorded) return cudaErrorNotReady;
  *ms = static_cast<float>(static_cast<double>(to->time - from->time) / 1e6);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  if (const int code = call("cudaMemcpyAsync")) return cuda(code);
  return copy_rows(to, size, from, size, size, 1, kind, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t size, std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
  if (const int code = call("cudaMemcpy2DAsync")) return cuda(code);
  return copy_rows(to, to_pitch, from, from_pitch, size, rows, kind, stream);
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t size, cudaStream_t stream) {
  if (const int code = call("cudaMemsetAsync")) return cuda(code);
  stream->put([=](CUstream_st&) { std::memset(to, value, size); });
  return cudaSuccess;
}

// --- NCCL
const char* ncclGetErrorString(ncclResult_t code) {
  return code == ncclSystemError       ? "unhandled system error"
         : code == ncclRemoteError     ? "remote process exited or there was a network error"
         : code == ncclInvalidArgument ? "invalid argument"
         : code == ncclInvalidUsage    ? "invalid usage"
                                       : "some error";
}
const char* ncclGetLastError(ncclComm_t) { return "said by the double"; }
ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return static_cast<ncclResult_t>(call("ncclGetVersion"));
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> next{0};
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "fake %d", ++next);
  return static_cast<ncclResult_t>(call("ncclGetUniqueId"));
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (const int code = call("ncclCommInitRankConfig")) return static_cast<ncclResult_t>(code);
  std::unique_lock held(lock);
  auto& all = joining[id.internal];
  if (!all) all = std::make_shared<world>();
  all->size = size;
  ++all->here;
  auto* comm = new ncclComm{.all = all, .rank = rank, .device = current_device, .blocking = config->blocking != 0};
  ++living;
  *made = comm;
  changed.notify_all();
  if (comm->blocking) {
    changed.wait(held, [&] { return comm->all->here == size; });
    return ncclSuccess;
  }
  comm->pending = [all = comm->all] {
    const std::lock_guard guard(lock);
    return all->here == all->size;
  };
  comm->polls = now_set.polls;
  return ncclInProgress;
}
/// The last rank that comes makes the communicators of all, from its own thread.
ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t* slot, ncclConfig_t* config) {
  if (const int code = call("ncclCommSplit", std::to_string(color))) return static_cast<ncclResult_t>(code);
  const std::lock_guard guard(lock);
  const std::uint64_t number = parent->splits++;
  const auto w = parent->all;
  auto& asked = w->splits[number].ranks;
  asked.push_back({color, key, parent->rank, parent->device, slot, config->blocking != 0});
  if (static_cast<int>(asked.size()) == w->size) {
    std::sort(asked.begin(), asked.end(), [](const auto& a, const auto& b) {
      return std::tie(a.color, a.key, a.rank) < std::tie(b.color, b.key, b.rank);
    });
    std::shared_ptr<world> child;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (i == 0 || asked[i].color != asked[i - 1].color) child = std::make_shared<world>();
      auto* comm =
          new ncclComm{.all = child, .rank = child->size++, .device = asked[i].device, .blocking = asked[i].blocking};
      ++living;
      asked[i].made = comm;
      if (!now_set.splits_in_silence)
        std::atomic_ref<ncclComm_t>(*asked[i].slot).store(comm, std::memory_order_release);
    }
  }
  parent->in_silence = now_set.splits_in_silence;
  parent->pending = [w, number, rank = parent->rank, is_late = parent->in_silence] {
    const std::lock_guard held(lock);
    const auto& all = w->splits[number].ranks;
    if (static_cast<int>(all.size()) < w->size) return false;
    const auto own = std::find_if(all.begin(), all.end(), [&](const auto& a) { return a.rank == rank; });
    if (is_late) std::atomic_ref<ncclComm_t>(*own->slot).store(own->made, std::memory_order_release);
    return true;
  };
  parent->polls = now_set.polls;
  return parent->in_silence ? ncclSuccess : ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* code) {
  *code = ncclSuccess;
  {
    const std::lock_guard guard(lock);
    if (lonely.contains(comm->device)) return *code = ncclRemoteError, ncclSuccess;
    if (comm->all->is_wrong) return *code = ncclInvalidUsage, ncclSuccess;
  }
  if (!comm->pending) return ncclSuccess;
  if (!comm->in_silence) *code = ncclInProgress;
  if (comm->polls-- > 0) return ncclSuccess;
  if (comm->pending()) {
    comm->pending = {};
    *code = ncclSuccess;
  }
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return static_cast<ncclResult_t>(call("ncclCommFinalize")); }
static ncclResult_t let_go(const char* name, ncclComm_t comm) {
  const int code = call(name);
  const std::lock_guard guard(lock);
  *comm->aborted = true;
  changed.notify_all();
  delete comm;
  --living;
  return static_cast<ncclResult_t>(code);
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) { return let_go("ncclCommDestroy", comm); }
ncclResult_t ncclCommAbort(ncclComm_t comm) { return let_go("ncclCommAbort", comm); }
ncclResult_t ncclAllGather(const void* sent, void* received, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return enqueue(
      "ncclAllGather",
      {part::kind::all_gather, static_cast<const char*>(sent), static_cast<char*>(received), count, type, ncclSum, -1},
      comm, stream);
}
ncclResult_t ncclReduceScatter(const void* sent, void* received, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return enqueue(
      "ncclReduceScatter",
      {part::kind::reduce_scatter, static_cast<const char*>(sent), static_cast<char*>(received), count, type, op, -1},
      comm, stream);
}
ncclResult_t ncclAllReduce(const void* sent, void* received, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return enqueue(
      "ncclAllReduce",
      {part::kind::all_reduce, static_cast<const char*>(sent), static_cast<char*>(received), count, type, op, -1}, comm,
      stream);
}
ncclResult_t ncclSend(const void* sent, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return enqueue("ncclSend", {part::kind::send, static_cast<const char*>(sent), nullptr, count, type, ncclSum, peer},
                 comm, stream);
}
ncclResult_t ncclRecv(void* received, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return enqueue("ncclRecv", {part::kind::receive, nullptr, static_cast<char*>(received), count, type, ncclSum, peer},
                 comm, stream);
}
ncclResult_t ncclGroupStart() {
  ++group_depth;
  return static_cast<ncclResult_t>(call("ncclGroupStart"));
}
ncclResult_t ncclGroupEnd() {
  if (const int code = call("ncclGroupEnd")) return static_cast<ncclResult_t>(code);
  if (group_depth == 0) return ncclInvalidUsage;
  if (--group_depth > 0) return ncclSuccess;
  ncclResult_t code = ncclSuccess;
  for (const queued& q : group)
    if (launch_now(q) == ncclInProgress) code = ncclInProgress;
  group.clear();
  return code;
}
/// As NCCL does it: an estimate for the last call of the group, in microseconds; none for sends, and none where a call
/// is carried out at once (a communicator of one rank) or does not block.
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  if (const int code = call("ncclGroupSimulateEnd")) return static_cast<ncclResult_t>(code);
  if (group_depth == 0 || info->magic != 0x74685283) return ncclInvalidUsage;
  --group_depth;
  for (const queued& q : group) {
    const part& p = q.parts.back();
    if (q.comm->all->size == 1)
      launch_now(q);
    else if (q.comm->blocking && p.what != part::kind::send && p.what != part::kind::receive)
      info->estimatedTime = static_cast<float>(now_set.collective_ns +
                                               bytes_of({p}, q.comm->all->size) / now_set.collective_bytes_per_ns) /
                            1000;
  }
  group.clear();
  return ncclSuccess;
}

// --- cuBLAS
#ifdef SHARDWEAVE_HAS_CUBLAS
cublasStatus_t cublasCreate(cublasHandle_t* made) {
  if (const int code = call("cublasCreate")) return static_cast<cublasStatus_t>(code);
  *made = new cublasContext{current_device};
  live(1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  live(-1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return stream->device == handle->device ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasGetStatusString(cublasStatus_t code) {
  return code == CUBLAS_STATUS_ALLOC_FAILED    ? "the resource allocation failed"
         : code == CUBLAS_STATUS_INVALID_VALUE ? "an unsupported value or parameter was passed to the function"
                                               : "some error";
}
/// Takes its time, and computes nothing: the values of products are never looked at.
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t left, cublasOperation_t right, int m, int n, int k,
                            const void*, const void* a, cudaDataType a_type, int a_column, const void* b,
                            cudaDataType b_type, int b_column, const void*, void* c, cudaDataType c_type, int c_column,
                            cublasComputeType_t sums, cublasGemmAlgo_t) {
  const std::string about = std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n);
  if (const int code = call("cublasGemmEx", about)) return static_cast<cublasStatus_t>(code);
  const std::int64_t rows = m, columns = n, inner = k;
  const auto is_there = [&](const void* matrix, std::int64_t height, std::int64_t width, std::int64_t column) {
    const std::lock_guard guard(lock);
    return column >= height &&
           is_inside(matrix, static_cast<std::size_t>(2 * ((width - 1) * column + height)), handle->device);
  };
  if (left != CUBLAS_OP_N || right != CUBLAS_OP_N || a_type != CUDA_R_16BF || b_type != a_type || c_type != a_type ||
      sums != CUBLAS_COMPUTE_32F || !is_there(a, rows, inner, a_column) || !is_there(b, inner, columns, b_column) ||
      !is_there(c, rows, columns, c_column))
    return CUBLAS_STATUS_INVALID_VALUE;
  const std::int64_t flops = 2 * rows * columns * inner;
  const double per_byte =
      static_cast<double>(flops) / static_cast<double>(2 * (rows * inner + inner * columns + rows * columns));
  const double slower = 1 + static_cast<double>(now_set.product_half) / per_byte;
  const auto took = static_cast<std::int64_t>(static_cast<double>(flops) * slower /
                                              static_cast<double>(now_set.product_flops_per_ns));
  handle->stream->put([took = std::max(now_set.product_ns, took)](CUstream_st& s) { s.clock += took; });
  return CUBLAS_STATUS_SUCCESS;
}
#endif
}
