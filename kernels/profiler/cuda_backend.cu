// In-graph timing: a captured graph of launches on rotated buffers, replayed between two events.
// The stream is held until everything is queued, so that no host time is in a sample; one block a
// multiprocessor reads its cycle counter and the global timer before and after, which gives the
// clock that the sample ran at.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/profiler/cuda_backend.h"
#include "kernels/profiler/device_names.h"
#include "kernels/profiler/rotation.h"
#include "kernels/profiler/smi_log.h"
#include "kernels/profiler/statistics.h"
#include "sim/core/errors.h"
#include "sim/hardware/gpu_catalogue.h"

namespace headway::kernels {
namespace {

constexpr double kShortestSampleUs = 400;  // the gaps around a graph are a hundredth of it
constexpr int kMostNodes = 1024;
constexpr int kWarmUps = 3;
constexpr double kRotateBeyond = 3;    // times the L2
constexpr double kMemoryShare = 0.85;  // of what is free
constexpr std::size_t kCopyBytes = std::size_t{256} << 20;
constexpr unsigned long long kHoldNs = 2'000'000'000;  // a host that dies must not hang the device
constexpr double kUsPerSecond = 1e6;

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // this one is not sticky
    throw DoesNotFit(what);
  }
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}
#define HEADWAY_CHECK(call) check(call, #call)

double wall_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// ---- device code of the harness ----

struct Stamp {
  unsigned long long ns, cycles;
};

__global__ void read_clocks(Stamp* by_multiprocessor) {
  if (threadIdx.x != 0) return;
  unsigned id;
  unsigned long long ns;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  by_multiprocessor[id] = {ns, static_cast<unsigned long long>(clock64())};
}

__global__ void hold_until(const volatile int* released) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (*released == 0 && now - begin < kHoldNs);
}

__global__ void nothing() {}

// ---- owners ----

struct StreamOwner {
  cudaStream_t stream = nullptr;
  StreamOwner() { HEADWAY_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
  ~StreamOwner() { cudaStreamDestroy(stream); }
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;
  void wait() const { HEADWAY_CHECK(cudaStreamSynchronize(stream)); }
};

struct EventOwner {
  cudaEvent_t event = nullptr;
  EventOwner() { HEADWAY_CHECK(cudaEventCreate(&event)); }
  ~EventOwner() { cudaEventDestroy(event); }
  EventOwner(const EventOwner&) = delete;
  EventOwner& operator=(const EventOwner&) = delete;
};

// A captured graph, ready to be launched.
class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& queue) {
    HEADWAY_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try {
      queue();
    } catch (...) {
      cudaGraph_t broken = nullptr;
      cudaStreamEndCapture(stream, &broken);
      if (broken != nullptr) cudaGraphDestroy(broken);
      cudaGetLastError();
      throw;
    }
    cudaGraph_t graph = nullptr;
    HEADWAY_CHECK(cudaStreamEndCapture(stream, &graph));
    const cudaError_t code = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    HEADWAY_CHECK(code);
    HEADWAY_CHECK(cudaGraphUpload(executable_, stream));
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cudaStream_t stream) const { HEADWAY_CHECK(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

// What every timing needs: a stream that can be held, events, clock stamps.
class Bench {
 public:
  explicit Bench(int multiprocessors) : multiprocessors_(multiprocessors) {
    HEADWAY_CHECK(cudaHostAlloc(&released_, sizeof(int), cudaHostAllocMapped));
    HEADWAY_CHECK(cudaHostGetDevicePointer(&released_on_device_, released_, 0));
    HEADWAY_CHECK(cudaMallocManaged(&stamps_, 2 * kStamps * sizeof(Stamp)));
  }
  ~Bench() {
    cudaFreeHost(released_);
    cudaFree(stamps_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  cudaStream_t stream() const { return stream_.stream; }
  void wait() const { stream_.wait(); }

  // Device time of what `queue` puts on the stream, all queued before any of it starts.
  struct Timed {
    double us, clock_mhz;
  };
  Timed time(const std::function<void()>& queue) {
    for (int i = 0; i < 2 * kStamps; ++i) stamps_[i] = {0, 0};
    set_released(0);
    hold_until<<<1, 1, 0, stream()>>>(static_cast<const volatile int*>(released_on_device_));
    try {
      read_clocks<<<multiprocessors_, 32, 0, stream()>>>(stamps_);
      HEADWAY_CHECK(cudaEventRecord(begin_.event, stream()));
      queue();
      HEADWAY_CHECK(cudaEventRecord(end_.event, stream()));
      read_clocks<<<multiprocessors_, 32, 0, stream()>>>(stamps_ + kStamps);
    } catch (...) {
      set_released(1);
      throw;
    }
    set_released(1);
    wait();
    HEADWAY_CHECK(cudaGetLastError());
    float ms = 0;
    HEADWAY_CHECK(cudaEventElapsedTime(&ms, begin_.event, end_.event));
    return {1000.0 * static_cast<double>(ms), clock_mhz()};
  }

 private:
  static constexpr int kStamps = 1024;  // more multiprocessors than any GPU has

  void set_released(int value) { *static_cast<volatile int*>(released_) = value; }

  // Only a multiprocessor that was met both times says something: counters differ from one to the
  // next.
  double clock_mhz() const {
    std::vector<double> mhz;
    for (int i = 0; i < kStamps; ++i) {
      const Stamp &a = stamps_[i], &b = stamps_[kStamps + i];
      if (a.ns == 0 || b.ns <= a.ns) continue;
      mhz.push_back(1000.0 * static_cast<double>(b.cycles - a.cycles) /
                    static_cast<double>(b.ns - a.ns));
    }
    return mhz.empty() ? 0 : median(std::move(mhz));
  }

  StreamOwner stream_;
  EventOwner begin_, end_;
  int multiprocessors_;
  void* released_ = nullptr;
  void* released_on_device_ = nullptr;
  Stamp* stamps_ = nullptr;
};

class CudaTimer final : public PointTimer {
 public:
  CudaTimer(Bench& bench, const Sequence& sequence, int copies, std::uint64_t seed)
      : bench_(bench), rotation_(sequence, copies, seed) {
    const Stream stream{bench_.stream()};
    const auto all_sets = [&] {
      for (int i = 0; i < copies; ++i) rotation_.launch(stream);
    };
    // Eagerly first: lazy loading and workspaces are not for a capture. Not held, since a long
    // sequence would fill the queue of a stream that does not move.
    double first_us = 0;
    for (int i = 0; i < 2; ++i) {
      const double begin = wall_s();
      all_sets();
      bench_.wait();
      HEADWAY_CHECK(cudaGetLastError());
      first_us = kUsPerSecond * (wall_s() - begin) / copies;
    }
    // A graph launches every set, so that all of them pass through the cache.
    const double wanted = std::ceil(kShortestSampleUs / std::max(first_us, 0.1));
    sequences_ = std::max(copies, static_cast<int>(std::min<double>(wanted, kMostNodes)));
    graph_ = std::make_unique<Graph>(bench_.stream(), [&] {
      for (int i = 0; i < sequences_; ++i) rotation_.launch(stream);
    });
    for (int i = 0; i < kWarmUps; ++i) {
      const double us = bench_.time([&] { graph_->launch(bench_.stream()); }).us;
      replays_ = std::max(1, static_cast<int>(std::ceil(kShortestSampleUs / std::max(us, 1.0))));
    }
  }

  ~CudaTimer() override { cudaStreamSynchronize(bench_.stream()); }  // buffers may be in use

  Sample sample() override {
    const Bench::Timed timed = bench_.time([&] {
      for (int i = 0; i < replays_; ++i) graph_->launch(bench_.stream());
    });
    return {timed.us / (sequences_ * replays_), timed.clock_mhz, 1};
  }

 private:
  Bench& bench_;
  Rotation rotation_;
  std::unique_ptr<Graph> graph_;
  int sequences_ = 1, replays_ = 1;
};

int attribute(cudaDeviceAttr name) {
  int value = 0;
  HEADWAY_CHECK(cudaDeviceGetAttribute(&value, name, 0));
  return value;
}

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// 35 is a machine without a driver, 100 one with a driver and no device. Both are no fault of ours.
void require_device() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return;
  const std::string why = code == cudaErrorInsufficientDriver ? "no driver that this CUDA can use"
                          : code == cudaErrorNoDevice || code == cudaSuccess
                              ? "a driver, but no device"
                              : cudaGetErrorString(code);
  throw InputError({"command line", "--device",
                    "\"cuda\" on a machine without a usable GPU (" + why + ")",
                    "a machine with an NVIDIA GPU, or --device cpu"});
}

Device describe() {
  cudaDeviceProp properties{};
  HEADWAY_CHECK(cudaGetDeviceProperties(&properties, 0));
  std::size_t free_bytes = 0, all_bytes = 0;
  HEADWAY_CHECK(cudaMemGetInfo(&free_bytes, &all_bytes));
  int driver = 0, runtime = 0;
  HEADWAY_CHECK(cudaDriverGetVersion(&driver));
  HEADWAY_CHECK(cudaRuntimeGetVersion(&runtime));
  Device d;
  d.kind = "cuda";
  d.name = properties.name;
  d.gpu = catalogue_gpu(d.name);
  d.cache_bytes = properties.l2CacheSize;
  d.memory_bytes = kMemoryShare * static_cast<double>(free_bytes);
  d.flops = 3e14;
  d.bytes_per_s = 2e12;
  try {
    const GpuSpec spec = load_gpu(d.gpu);
    d.flops = spec.flops_bf16;
    d.bytes_per_s = spec.memory_bandwidth;
  } catch (const InputError&) {  // not in the catalogue: the guesses stand
  }
  const auto text = [](auto value) { return std::to_string(value); };
  d.facts = {{"compute_capability", text(properties.major) + "." + text(properties.minor)},
             {"multiprocessors", text(properties.multiProcessorCount)},
             {"l2_bytes", text(properties.l2CacheSize)},
             {"memory_bytes", text(all_bytes)},
             {"memory_free_bytes", text(free_bytes)},
             {"ecc", text(properties.ECCEnabled)},
             {"clock_max_khz", text(attribute(cudaDevAttrClockRate))},
             {"memory_clock_khz", text(attribute(cudaDevAttrMemoryClockRate))},
             {"cuda_driver", cuda_version(driver)},
             {"cuda_runtime", cuda_version(runtime)}};
  return d;
}

// Device and host buffers of one size, for copies.
struct CopyBuffers {
  char *from = nullptr, *to = nullptr, *host = nullptr;
  CopyBuffers() {
    HEADWAY_CHECK(cudaMalloc(&from, kCopyBytes));
    HEADWAY_CHECK(cudaMalloc(&to, kCopyBytes));
    HEADWAY_CHECK(cudaHostAlloc(&host, kCopyBytes, cudaHostAllocDefault));
    HEADWAY_CHECK(cudaMemset(from, 0x5a, kCopyBytes));
  }
  ~CopyBuffers() {
    cudaFree(from);
    cudaFree(to);
    cudaFreeHost(host);
  }
  CopyBuffers(const CopyBuffers&) = delete;
  CopyBuffers& operator=(const CopyBuffers&) = delete;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend() : device_(describe()), bench_(attribute(cudaDevAttrMultiProcessorCount)) {}

  const Device& device() const override { return device_; }
  std::string method() const override {
    return "cuda graph replay over buffers of 3 x L2 (weights and KV cold, activations warm), "
           "median";
  }
  double now_s() override { return wall_s(); }

  std::unique_ptr<PointTimer> prepare(const Sequence& sequence, std::uint64_t seed) override {
    const int copies =
        rotation_copies(sequence, kRotateBeyond * device_.cache_bytes, device_.memory_bytes);
    return std::make_unique<CudaTimer>(bench_, sequence, copies, seed);
  }

  double copy_us() override {
    std::vector<double> us;
    for (int i = 0; i < 3; ++i) {
      us.push_back(bench_.time([&] { copy(copies_.to, copies_.from, kCopyBytes); }).us);
    }
    return median(std::move(us));
  }

  std::map<std::string, double> overheads() override {
    std::map<std::string, double> out;
    launches(out);
    copies(out);
    return out;
  }

  std::vector<std::string> log_columns() const override { return SmiLog::columns(); }
  std::vector<std::vector<std::string>> log_rows() const override { return log_.rows(); }

 private:
  void copy(void* to, const void* from, std::size_t bytes) {
    HEADWAY_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, bench_.stream()));
  }
  void empty_kernel() { nothing<<<1, 32, 0, bench_.stream()>>>(); }

  static double median_of(int times, const std::function<double()>& one) {
    std::vector<double> values;
    for (int i = 0; i < times; ++i) values.push_back(one());
    return median(std::move(values));
  }
  // Host time of `calls` calls of `queue`, each; the device is idle before.
  double host_us(int calls, const std::function<void()>& queue) {
    bench_.wait();
    const double begin = wall_s();
    for (int i = 0; i < calls; ++i) queue();
    const double us = kUsPerSecond * (wall_s() - begin) / calls;
    bench_.wait();
    return us;
  }

  void launches(std::map<std::string, double>& out) {
    constexpr int kNodes = 500;
    const Graph many(bench_.stream(), [&] {
      for (int i = 0; i < kNodes; ++i) empty_kernel();
    });
    const Graph one(bench_.stream(), [&] { empty_kernel(); });
    empty_kernel();
    bench_.wait();
    // An empty node behind an empty node: what a graph adds to each kernel.
    out["graph_node_us"] = median_of(7, [&] {
      return bench_.time([&] { many.launch(bench_.stream()); }).us / kNodes;
    });
    out["graph_launch_us"] =
        median_of(7, [&] { return host_us(50, [&] { one.launch(bench_.stream()); }); });
    out["kernel_launch_us"] = median_of(7, [&] { return host_us(200, [&] { empty_kernel(); }); });
    // Queued eagerly without a hold: the slower of host and device, kernel after kernel.
    out["eager_kernel_us"] = median_of(7, [&] {
      bench_.wait();
      const double begin = wall_s();
      for (int i = 0; i < kNodes; ++i) empty_kernel();
      bench_.wait();
      return kUsPerSecond * (wall_s() - begin) / kNodes;
    });
    EventOwner event;
    out["event_record_us"] = median_of(7, [&] {
      return host_us(100, [&] { HEADWAY_CHECK(cudaEventRecord(event.event, bench_.stream())); });
    });
    out["launch_and_wait_us"] = median_of(51, [&] {
      const double begin = wall_s();
      empty_kernel();
      bench_.wait();
      return kUsPerSecond * (wall_s() - begin);
    });
  }

  void copies(std::map<std::string, double>& out) {
    const auto way = [&](const std::string& name, char* to, const char* from) {
      out[name + "_latency_us"] = median_of(51, [&] {
        const double begin = wall_s();
        copy(to, from, 64);
        bench_.wait();
        return kUsPerSecond * (wall_s() - begin);
      });
      out[name + "_bytes_per_s"] =
          static_cast<double>(kCopyBytes) * kUsPerSecond /
          median_of(5, [&] { return bench_.time([&] { copy(to, from, kCopyBytes); }).us; });
    };
    way("h2d", copies_.to, copies_.host);
    way("d2h", copies_.host, copies_.from);
    out["copy_bytes_per_s"] = 2 * static_cast<double>(kCopyBytes) * kUsPerSecond / copy_us();
  }

  Device device_;
  Bench bench_;
  CopyBuffers copies_;
  SmiLog log_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend() {
  require_device();
  HEADWAY_CHECK(cudaSetDevice(0));
  return std::make_unique<CudaBackend>();
}

std::vector<KernelEntry> cuda_kernels() { return gpu_kernels(); }

}  // namespace headway::kernels
