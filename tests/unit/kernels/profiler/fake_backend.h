#pragma once

#include <cmath>
#include <functional>
#include <memory>

#include "kernels/profiler/backend.h"
#include "sim/core/random.h"

namespace headway::kernels::test {

// A device whose clock moves only when something is timed, and whose calls take a known time with
// known noise.
class FakeBackend final : public Backend {
 public:
  FakeBackend() {
    device_.kind = device_.gpu = "cpu";
    device_.name = "a fake";
    device_.flops = 1e12;
    device_.bytes_per_s = 1e11;
    device_.memory_bytes = 1e9;
  }

  // Of one call, from its key; the default is a floor and a slope along the last axis.
  std::function<double(const KernelEntry&, const Case&)> true_us = [](const KernelEntry&,
                                                                     const Case& call) {
    return 5 + 0.5 * static_cast<double>(call.key.back());
  };
  double sigma = 0;         // of the log of a sample
  double noisy_from_us = 0;  // calls below have no noise
  double prepare_s = 0.01;  // what buffers cost
  double sample_s = 0.001;  // at least, whatever the call takes
  std::function<double(double now_s)> clock_mhz = [](double) { return 1500.0; };
  std::function<double(double now_s)> busy = [](double) { return 1.0; };
  std::function<void(double now_s)> on_sample = [](double) {};
  std::function<bool(const Sequence&)> refuses;
  int prepared = 0, samples = 0;

  const Device& device() const override { return device_; }
  Device& changeable_device() { return device_; }
  std::string method() const override { return "made up"; }
  double now_s() override { return now_; }
  void pass(double seconds) { now_ += seconds; }

  std::unique_ptr<PointTimer> prepare(const Sequence& sequence, std::uint64_t) override {
    double bytes = 0, us = 0;
    for (const Sequence::Part& part : sequence.parts) {
      bytes += part.entry->work(part.call).rotated_bytes;
    }
    if (bytes > device_.memory_bytes) throw DoesNotFit("too large for the fake");
    if (refuses && refuses(sequence)) throw std::runtime_error("misaligned address");
    for (const int part : sequence.order) {
      const Sequence::Part& p = sequence.parts[static_cast<std::size_t>(part)];
      us += true_us(*p.entry, p.call);
    }
    ++prepared;
    now_ += prepare_s;
    return std::make_unique<Timer>(*this, us);
  }
  double copy_us() override {
    now_ += 1e-4;
    return 100;
  }
  std::map<std::string, double> overheads() override { return {{"kernel_launch_us", 2.5}}; }

 private:
  class Timer final : public PointTimer {
   public:
    Timer(FakeBackend& fake, double us) : fake_(fake), us_(us) {}
    Sample sample() override {
      ++fake_.samples;
      const double sigma = us_ < fake_.noisy_from_us ? 0 : fake_.sigma;
      const double us = us_ * std::exp(fake_.noise_.normal(0, sigma));
      const double busy = fake_.busy(fake_.now_);
      const double mhz = fake_.clock_mhz(fake_.now_);
      fake_.now_ += std::max(fake_.sample_s, us * 1e-6);
      fake_.on_sample(fake_.now_);
      return {us / busy, mhz, busy};
    }

   private:
    FakeBackend& fake_;
    double us_;
  };

  Device device_;
  double now_ = 1000;
  RandomStream noise_{7, "fake"};
};

// An entry that computes nothing; the fake knows its time.
inline KernelEntry fake_entry(const char* op, Variant variant, const char* impl = "own") {
  KernelEntry entry;
  entry.name = std::string(op) + "_kernel";
  entry.op = op;
  entry.impl = impl;
  entry.variant = std::move(variant);
  entry.check = [] { return std::vector<CheckResult>{{"all", 0.001, 0.01}}; };
  entry.work = [](const Case& call) {
    double product = 1;
    for (const std::int64_t value : call.key) product *= static_cast<double>(value);
    return Work{product, 2 * product, 0, 1000};
  };
  return entry;
}

}  // namespace headway::kernels::test
