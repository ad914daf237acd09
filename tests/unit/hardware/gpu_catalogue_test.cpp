#include "sim/hardware/gpu_catalogue.h"

#include <algorithm>
#include <cmath>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

double ridge(const GpuSpec& gpu) {
  return gpu.flops(DType::kBf16, DType::kBf16) / gpu.memory_bandwidth;
}

TEST_CASE("every catalogue GPU is complete", "[unit]") {
  const auto names = catalogue_names("gpus");
  for (const char* name :
       {"a100-sxm", "h100-sxm", "h200-sxm", "b200-sxm", "l40s", "rtx-pro-6000", "rtx-4090"}) {
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
  for (const std::string& name : names) {
    const GpuSpec gpu = load_gpu(name);
    INFO(name);
    CHECK(gpu.name == name);
    CHECK_FALSE(gpu.source.empty());
    CHECK_THAT(gpu.price_source, ContainsSubstring("list price"));
    if (name == "cpu") continue;  // the machine at hand: no price, no link
    CHECK(gpu.price_per_hour > 0);
    CHECK(gpu.power_watts > 0);
    CHECK(gpu.memory_bytes > 20'000'000'000);
    CHECK(gpu.link_bandwidth > 0);
    // Sparse figures of data sheets are twice these: none slipped in.
    CHECK(ridge(gpu) < 450);
  }
}

TEST_CASE("ridge points in FLOP per byte, from the data sheets' figures", "[unit]") {
  CHECK(std::lround(ridge(load_gpu("h100-sxm"))) == 295);  // 989e12 / 3.35e12
  CHECK(std::lround(ridge(load_gpu("h200-sxm"))) == 206);  // 989e12 / 4.8e12
  CHECK(std::lround(ridge(load_gpu("a100-sxm"))) == 153);  // 312e12 / 2.039e12
  CHECK(std::lround(ridge(load_gpu("l40s"))) == 419);      // 362.05e12 / 864e9
  CHECK(std::lround(ridge(load_gpu("b200-sxm"))) == 292);  // 2250e12 / 7.7e12
}

TEST_CASE("memory is what the engine sees, not the nominal size", "[unit]") {
  CHECK(load_gpu("rtx-4090").memory_bytes == 25250627584);
  CHECK(load_gpu("h100-sxm").memory_bytes == 81089LL * 1048576);
  CHECK(load_gpu("h200-sxm").memory_bytes < 141LL << 30);
}

TEST_CASE("products run at the rate of the wider operand", "[unit]") {
  const GpuSpec h100 = load_gpu("h100-sxm");
  CHECK(h100.flops(DType::kBf16, DType::kBf16) == 989e12);
  CHECK(h100.flops(DType::kFp8, DType::kFp8) == 1979e12);
  CHECK(h100.flops(DType::kFp8, DType::kBf16) == 989e12);  // weights only: widened
  CHECK(h100.flops(DType::kInt4, DType::kBf16) == 989e12);
  CHECK(h100.flops(DType::kInt8, DType::kInt8) == 1979e12);
  CHECK(h100.flops(DType::kFp4, DType::kFp4) == 1979e12);  // no fp4 tensor cores: as fp8
  CHECK(h100.flops(DType::kFp32, DType::kFp32) == 67e12);
  const GpuSpec a100 = load_gpu("a100-sxm");
  CHECK(a100.flops(DType::kFp8, DType::kFp8) == 312e12);  // no fp8 tensor cores: as bf16
  CHECK(a100.flops(DType::kInt8, DType::kInt8) == 624e12);
  CHECK(load_gpu("b200-sxm").flops(DType::kFp4, DType::kFp4) == 9e15);
}

TEST_CASE("an unknown GPU names the nearest", "[unit]") {
  try {
    load_gpu("h100", "demo.json", "line 4: gpu");
    FAIL("accepted");
  } catch (const InputError& e) {
    CHECK(e.parts().place == "line 4: gpu");
    CHECK_THAT(e.parts().expected, ContainsSubstring("did you mean h100-sxm?"));
  }
}

TEST_CASE("a figure of a GPU may be overridden", "[unit]") {
  GpuSpec gpu = load_gpu("h100-sxm");
  override_gpu(gpu, "memory_bytes", 40e9, "demo.json");
  override_gpu(gpu, "price_per_hour", 0, "demo.json");
  CHECK(gpu.memory_bytes == 40'000'000'000);
  CHECK(gpu.price_per_hour == 0);
  const auto place = [&](const std::string& key, double value) {
    try {
      override_gpu(gpu, key, value, "demo.json");
    } catch (const InputError& e) {
      return e.parts().place + " | " + e.parts().expected;
    }
    FAIL("accepted " << key);
    return std::string();
  };
  CHECK(place("memory_bytes", 0) == "gpu.memory_bytes | a whole number above 0");
  CHECK(place("memory_bytes", 1.5) == "gpu.memory_bytes | a whole number above 0");
  CHECK(place("memory_bandwidth", std::nan("")) == "gpu.memory_bandwidth | a number above 0");
  CHECK(place("flops_fp8", -1) == "gpu.flops_fp8 | a number, 0 or more");
  CHECK_THAT(place("memory_byte", 1), ContainsSubstring("did you mean memory_bytes?"));
}

TEST_CASE("a catalogue file is strict", "[unit]") {
  const std::string good = read_whole_file(data_folder("gpus") + "/l40s.json");
  CHECK(parse_gpu(good, "l40s.json").name == "l40s");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  CHECK_THROWS_AS(parse_gpu(changed("\"flops_bf16\"", "\"flops_bf61\""), "x"), InputError);
  CHECK_THROWS_AS(parse_gpu(changed("\"name\"", "\"extra\": 1, \"name\""), "x"), InputError);
  CHECK_THROWS_AS(parse_gpu(changed("350", "\"350\""), "x"), InputError);
}

}  // namespace
}  // namespace headway
