#include "kernels/profiler/device_names.h"

#include <array>
#include <cctype>

namespace headway::kernels {
namespace {

struct Name {
  const char* driver;  // as a part of the driver's name
  const char* catalogue;
};
constexpr std::array kNames{Name{"A100-SXM", "a100-sxm"},
                            Name{"H100 80GB HBM3", "h100-sxm"},  // PCIe and NVL boards say so
                            Name{"H200", "h200-sxm"},
                            Name{"B200", "b200-sxm"},
                            Name{"L40S", "l40s"},
                            Name{"RTX 4090", "rtx-4090"},
                            Name{"RTX PRO 6000", "rtx-pro-6000"}};
// Boards with other memory or power than the catalogue's.
constexpr std::array kOthers{"NVL", "PCIe", "GB200", "GH200", "4090 D", "Max-Q", "MIG"};

std::string slug(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "gpu" : out;
}

}  // namespace

std::string catalogue_gpu(const std::string& driver_name) {
  for (const char* other : kOthers) {
    if (driver_name.find(other) != std::string::npos) return slug(driver_name);
  }
  for (const Name& name : kNames) {
    if (driver_name.find(name.driver) != std::string::npos) return name.catalogue;
  }
  return slug(driver_name);
}

}  // namespace headway::kernels
