// Names of devices, the log beside the measurements, the number of buffer sets.

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernels/profiler/device_names.h"
#include "kernels/profiler/rotation.h"
#include "kernels/profiler/smi_log.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/kernels/profiler/fake_backend.h"

namespace headway::kernels {
namespace {

TEST_CASE("drivers' names of GPUs and the catalogue's", "[unit]") {
  CHECK(catalogue_gpu("NVIDIA H200") == "h200-sxm");
  CHECK(catalogue_gpu("NVIDIA H100 80GB HBM3") == "h100-sxm");
  CHECK(catalogue_gpu("NVIDIA A100-SXM4-80GB") == "a100-sxm");
  CHECK(catalogue_gpu("NVIDIA L40S") == "l40s");
  CHECK(catalogue_gpu("NVIDIA GeForce RTX 4090") == "rtx-4090");
  // Other boards of the same chip are other GPUs.
  CHECK(catalogue_gpu("NVIDIA H200 NVL") == "nvidia-h200-nvl");
  CHECK(catalogue_gpu("NVIDIA H100 PCIe") == "nvidia-h100-pcie");
  CHECK(catalogue_gpu("NVIDIA GH200 480GB") == "nvidia-gh200-480gb");
  CHECK(catalogue_gpu("") == "gpu");
}

KernelEntry entry_of(double rotated, double shared) {
  KernelEntry entry = test::fake_entry("gemm", {});
  entry.work = [=](const Case&) { return Work{1, 1, rotated, shared}; };
  return entry;
}

TEST_CASE("buffer sets exceed the cache together, and memory holds them", "[unit]") {
  const auto copies = [](double rotated, double shared, double beyond, double memory) {
    const KernelEntry entry = entry_of(rotated, shared);
    return rotation_copies(single(entry, {{1, 1, 1}, {}}), beyond, memory);
  };
  CHECK(copies(10, 0, 95, 1e9) == 10);
  CHECK(copies(100, 0, 95, 1e9) == 1);
  CHECK(copies(1, 0, 95, 1e9) == 64);    // at most
  CHECK(copies(0, 50, 95, 1e9) == 1);    // nothing to rotate
  CHECK(copies(10, 60, 95, 100) == 4);   // what fits beside the activations
  CHECK(copies(30, 60, 95, 100) == 1);
  CHECK_THROWS_AS(copies(50, 60, 95, 100), DoesNotFit);
}

class Counting final : public Prepared {
 public:
  Counting(std::vector<int>& log, int part) : log_(log), part_(part) {}
  void launch(int copy, Stream) override { log_.push_back(10 * part_ + copy); }

 private:
  std::vector<int>& log_;
  int part_;
};

TEST_CASE("a sequence launches its parts in order, each on its next set", "[unit]") {
  std::vector<int> log;
  std::vector<KernelEntry> entries{entry_of(1, 0), entry_of(1, 0)};
  for (int i = 0; i < 2; ++i) {
    entries[static_cast<std::size_t>(i)].prepare = [&log, i](const Case&, int copies,
                                                             std::uint64_t) {
      CHECK(copies == 3);
      return std::make_unique<Counting>(log, i);
    };
  }
  Rotation rotation({{{&entries[0], {}}, {&entries[1], {}}}, {0, 1, 1}}, 3, 1);
  rotation.launch({});
  rotation.launch({});
  CHECK(log == std::vector<int>{0, 10, 11, 1, 12, 10});
}

TEST_CASE("the device's own tool is read while it runs, and ended", "[unit]") {
  headway::test::TempFolder folder;
  const std::string tool = folder / "fake-smi";
  {
    std::ofstream script(tool);
    script << "#!/bin/sh\n"
              "printf '2026/01/01 00:00:00, 312.5, 41, 1980, 3201, 0x0\\n'\n"
              "printf 'cut, 1\\n'\n"
              "printf '2026/01/01 00:00:01, 690.1, 55, 1755, 3201, 0x4\\n'\n"
              "printf '2026/01/01 00:00:02, 6'\n"
              "exec sleep 60\n";
  }
  std::filesystem::permissions(tool, std::filesystem::perms::owner_all);
  std::vector<std::vector<std::string>> rows;
  {
    const SmiLog log(tool);
    REQUIRE(log.running());
    for (int i = 0; i < 2000 && rows.size() < 2; ++i) {
      ::usleep(5000);
      rows = log.rows();
    }
  }  // waits for the child: a second of sleep 60 would show
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == std::vector<std::string>{"2026/01/01 00:00:00", "312.5", "41", "1980", "3201",
                                            "0x0"});
  CHECK(rows[1][1] == "690.1");
  const SmiLog none("no-such-tool-anywhere");
  CHECK(none.rows().empty());
}

}  // namespace
}  // namespace headway::kernels
