#include "sim/hardware/gpu_catalogue.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/core/json_file.h"
#include "sim/core/suggest.h"

namespace headway {
namespace {

using Json = nlohmann::json;

constexpr double kLargest = 1e18;
struct Figure {
  const char* name;
  bool may_be_zero;
  bool whole;
  void (*set)(GpuSpec&, double);
};
template <auto Member>
void assign(GpuSpec& gpu, double value) {
  gpu.*Member = static_cast<std::remove_reference_t<decltype(gpu.*Member)>>(value);
}
constexpr std::array kFigures{
    Figure{"memory_bytes", false, true, assign<&GpuSpec::memory_bytes>},
    Figure{"memory_bandwidth", false, false, assign<&GpuSpec::memory_bandwidth>},
    Figure{"flops_bf16", false, false, assign<&GpuSpec::flops_bf16>},
    Figure{"flops_fp8", true, false, assign<&GpuSpec::flops_fp8>},
    Figure{"ops_int8", true, false, assign<&GpuSpec::ops_int8>},
    Figure{"flops_fp4", true, false, assign<&GpuSpec::flops_fp4>},
    Figure{"flops_fp32", false, false, assign<&GpuSpec::flops_fp32>},
    Figure{"link_bandwidth", true, false, assign<&GpuSpec::link_bandwidth>},
    Figure{"link_latency_us", true, false, assign<&GpuSpec::link_latency_us>},
    Figure{"host_link_bandwidth", true, false, assign<&GpuSpec::host_link_bandwidth>},
    Figure{"power_watts", true, false, assign<&GpuSpec::power_watts>},
    Figure{"price_per_hour", true, false, assign<&GpuSpec::price_per_hour>},
    Figure{"gpus_per_node", false, true, assign<&GpuSpec::gpus_per_node>},
};

struct Label {
  const char* name;
  std::string GpuSpec::*member;
};
constexpr std::array kLabels{
    Label{"name", &GpuSpec::name},
    Label{"full_name", &GpuSpec::full_name},
    Label{"source", &GpuSpec::source},
    Label{"memory_source", &GpuSpec::memory_source},
    Label{"price_source", &GpuSpec::price_source},
};

std::vector<std::string> catalogue_keys() {
  std::vector<std::string> keys = gpu_figure_names();
  for (const Label& label : kLabels) keys.emplace_back(label.name);
  return keys;
}

}  // namespace

std::vector<std::string> gpu_figure_names() {
  std::vector<std::string> names;
  for (const Figure& figure : kFigures) names.emplace_back(figure.name);
  return names;
}

void override_gpu(GpuSpec& gpu, const std::string& key, double value, const std::string& file,
                  const std::string& place) {
  const std::string where = place.empty() ? key : place + "." + key;
  for (const Figure& figure : kFigures) {
    if (key != figure.name) continue;
    const bool large_enough = figure.may_be_zero ? value >= 0 : value > 0;
    const double largest = key == "gpus_per_node" ? 1e6 : kLargest;
    const bool fits =
        large_enough && value <= largest && (!figure.whole || value == std::floor(value));
    if (!fits) {
      const std::string kind = figure.whole ? "a whole number" : "a number";
      throw InputError({file, where, describe_json(Json(value)),
                        kind + (figure.may_be_zero ? ", 0 or more" : " above 0")});
    }
    figure.set(gpu, value);
    return;
  }
  throw InputError({file, where, "an unknown key", one_of(key, gpu_figure_names())});
}

GpuSpec parse_gpu(const std::string& text, const std::string& file) {
  const Json document = parse_json_object(text, file);
  GpuSpec gpu;
  const std::vector<std::string> keys = catalogue_keys();
  for (const std::string& key : keys) {
    if (!document.contains(key)) throw InputError({file, key, "nothing", "a value"});
  }
  for (const auto& item : document.items()) {
    const auto label = std::find_if(kLabels.begin(), kLabels.end(),
                                    [&](const Label& l) { return item.key() == l.name; });
    if (label != kLabels.end()) {
      if (!item.value().is_string()) {
        throw InputError({file, item.key(), describe_json(item.value()), "a text"});
      }
      gpu.*(label->member) = item.value().get<std::string>();
      continue;
    }
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
      throw InputError({file, item.key(), "an unknown key", one_of(item.key(), keys)});
    }
    if (!item.value().is_number()) {
      throw InputError({file, item.key(), describe_json(item.value()), "a number"});
    }
    override_gpu(gpu, item.key(), item.value().get<double>(), file, "");
  }
  return gpu;
}

GpuSpec load_gpu(const std::string& name, const std::string& file, const std::string& place) {
  const std::vector<std::string> names = catalogue_names("gpus");
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw InputError({file, place, "\"" + name + "\"", one_of(name, names)});
  }
  const std::filesystem::path path = std::filesystem::path(data_folder("gpus")) / (name + ".json");
  return parse_gpu(read_whole_file(path.string()), path.string());
}

}  // namespace headway
