#include "kernels/profiler/cpu_backend.h"

#include <malloc.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <vector>

#include "kernels/profiler/rotation.h"
#include "kernels/profiler/statistics.h"

namespace headway::kernels {
namespace {

constexpr int kWarmUps = 3;
constexpr double kRotateBeyond = 1.25;  // times the last-level cache
constexpr double kMemoryShare = 0.5;  // of what is free: others live here too
constexpr double kUsPerSecond = 1e6;

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double wall_s() { return seconds_of(CLOCK_MONOTONIC); }
double cpu_s() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

// The value of the first line "key ... : value" of a file under /proc.
std::string proc_value(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

double last_level_cache_bytes() {
  double largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream in("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    double value = 0;
    char unit = 0;
    if (!(in >> value)) continue;
    in >> unit;
    largest = std::max(largest, value * (unit == 'M' ? 1048576 : unit == 'K' ? 1024 : 1));
  }
  return largest > 0 ? largest : 32.0 * 1048576;
}

double free_memory_bytes() {
  const std::string text = proc_value("/proc/meminfo", "MemAvailable");
  const double kib = text.empty() ? 0 : std::strtod(text.c_str(), nullptr);
  return kib > 0 ? kib * 1024 : 1e9;
}

Device describe(const CpuOptions& options) {
  Device d;
  d.kind = d.gpu = "cpu";
  d.name = proc_value("/proc/cpuinfo", "model name");
  if (d.name.empty()) d.name = "unknown CPU";
  d.cache_bytes = last_level_cache_bytes();
  d.memory_bytes = kMemoryShare * free_memory_bytes();
  d.flops = 8.4e10;  // hardware/catalogue/cpu.json
  d.bytes_per_s = 2.5e10;
  utsname system{};
  uname(&system);
  d.facts = {{"cpus", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))},
             {"threads", std::to_string(options.threads)},
             {"cache_bytes", std::to_string(static_cast<long long>(d.cache_bytes))},
             {"os", std::string(system.sysname) + " " + system.release},
             {"machine", system.machine}};
  return d;
}

class CpuTimer final : public PointTimer {
 public:
  CpuTimer(const Sequence& sequence, int copies, std::uint64_t seed, const CpuOptions& options)
      : rotation_(sequence, copies, seed), threads_(options.threads) {
    // A few calls, then as many a sample as fill its time. (The pages of every set were written
    // when it was filled.)
    for (int i = 0; i < kWarmUps; ++i) {
      calls_ = calls_for(sample().us / kUsPerSecond, options);
    }
  }

  Sample sample() override {
    const double cpu = cpu_s(), begin = wall_s();
    for (int i = 0; i < calls_; ++i) rotation_.launch({});
    const double wall = wall_s() - begin, busy = cpu_s() - cpu;
    return {kUsPerSecond * wall / calls_, 0, busy / (wall * threads_)};
  }

 private:
  static int calls_for(double call_s, const CpuOptions& options) {
    return static_cast<int>(
        std::clamp(std::ceil(options.shortest_sample_s / std::max(call_s, 1e-9)), 1.0, 1e6));
  }

  Rotation rotation_;
  int threads_;
  int calls_ = 1;
};

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options) : options_(options), device_(describe(options)) {
    if (options_.rotate_bytes <= 0) options_.rotate_bytes = kRotateBeyond * device_.cache_bytes;
  }

  const Device& device() const override { return device_; }
  std::string method() const override {
    return "loop over buffers beyond the last-level cache (weights and KV cold, activations warm), "
           "median of samples with CPU time at least 97 % of wall time";
  }
  double now_s() override { return wall_s(); }

  std::unique_ptr<PointTimer> prepare(const Sequence& sequence, std::uint64_t seed) override {
    const int copies = rotation_copies(sequence, options_.rotate_bytes, device_.memory_bytes);
    return std::make_unique<CpuTimer>(sequence, copies, seed, options_);
  }

  double copy_us() override {
    if (from_.empty()) {
      from_.assign(static_cast<std::size_t>(device_.cache_bytes), 1);
      to_.assign(from_.size(), 2);
    }
    double best = 0;
    for (int i = 0; i < 2; ++i) {
      const double begin = wall_s();
      std::memcpy(to_.data(), from_.data(), from_.size());
      from_[0] = to_[to_.size() / 2];  // the copy is used
      const double us = kUsPerSecond * (wall_s() - begin);
      best = i == 0 ? us : std::min(best, us);
    }
    return best;
  }

  std::map<std::string, double> overheads() override {
    std::vector<double> pair_us;
    for (int i = 0; i < 1000; ++i) {
      const double begin = wall_s();
      pair_us.push_back(kUsPerSecond * (wall_s() - begin));
    }
    std::vector<double> copies;
    for (int i = 0; i < 5; ++i) copies.push_back(copy_us());
    const double us = median(copies);
    return {{"clock_read_us", std::max(median(pair_us), 1e-3)},
            {"copy_bytes_per_s", 2 * static_cast<double>(from_.size()) / us * kUsPerSecond}};
  }

 private:
  CpuOptions options_;
  Device device_;
  std::vector<char> from_, to_;
};

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace headway::kernels
