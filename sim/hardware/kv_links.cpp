#include "sim/hardware/kv_links.h"

#include <array>

namespace headway {

std::span<const KvLinkSpec> kv_links() {
  static constexpr std::array<KvLinkSpec, 11> kLinks = {{
      {"nvlink-3", 3.0e11, 10, "NVIDIA A100 data sheet: 600 GB/s a GPU, both ways together"},
      {"nvlink-4", 4.5e11, 10, "NVIDIA H100 data sheet: 900 GB/s a GPU, both ways together"},
      {"nvlink-5", 9.0e11, 10, "NVIDIA B200 data sheet: 1.8 TB/s a GPU, both ways together"},
      {"infiniband-hdr", 2.5e10, 5, "InfiniBand HDR 4x: 200 Gb/s a port"},
      {"infiniband-ndr", 5.0e10, 5, "InfiniBand NDR 4x: 400 Gb/s a port"},
      {"infiniband-xdr", 1.0e11, 5, "InfiniBand XDR 4x: 800 Gb/s a port"},
      {"roce-200", 2.5e10, 10, "200 Gb/s Ethernet with RDMA"},
      {"roce-400", 5.0e10, 10, "400 Gb/s Ethernet with RDMA"},
      {"ethernet-100", 1.25e10, 50, "100 Gb/s Ethernet, TCP"},
      {"pcie-4", 3.15e10, 10, "PCI Express 4.0 x16: 16 GT/s a lane, 128b/130b"},
      {"pcie-5", 6.30e10, 10, "PCI Express 5.0 x16: 32 GT/s a lane, 128b/130b"},
  }};
  return kLinks;
}

std::vector<std::string> kv_link_names() {
  std::vector<std::string> names;
  for (const KvLinkSpec& link : kv_links()) names.emplace_back(link.name);
  return names;
}

const KvLinkSpec* find_kv_link(std::string_view name) {
  for (const KvLinkSpec& link : kv_links()) {
    if (link.name == name) return &link;
  }
  return nullptr;
}

}  // namespace headway
