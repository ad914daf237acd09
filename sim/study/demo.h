#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace headway {

// A demonstration: one question, answered by a computation that runs in seconds. It prints nothing
// but what it computed.
struct DemoEntry {
  std::string_view name;
  std::string_view question;
  std::string (*run)();  // the text to print; InputError when data is missing
};

// The visible table of demos.
std::span<const DemoEntry> demo_table();
// InputError that names the nearest entry when there is none.
const DemoEntry& find_demo(const std::string& name);

std::string run_speculation_demo();

}  // namespace headway
