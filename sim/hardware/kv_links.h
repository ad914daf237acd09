#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway {

// A link over which one replica sends KV to another: what a GPU can send, in one direction.
struct KvLinkSpec {
  std::string_view name;
  double bandwidth = 0;   // bytes per second, nominal
  double latency_us = 0;  // before the first byte
  std::string_view source;
};

// The catalogue. Latencies are of the order that the technology has, not measured: who has measured
// a link of their own gives its figures instead.
std::span<const KvLinkSpec> kv_links();
std::vector<std::string> kv_link_names();
// Null: there is none of that name.
const KvLinkSpec* find_kv_link(std::string_view name);

}  // namespace headway
