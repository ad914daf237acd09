#include "kernels/profiler/models.h"

#include <charconv>

#include "sim/core/errors.h"
#include "sim/model/hf_config.h"

namespace headway::kernels {
namespace {

// "tp4" -> 4.
std::int32_t ranks(const std::string& suffix) {
  std::int32_t value = 0;
  const char* end = suffix.data() + suffix.size();
  if (suffix.starts_with("tp")) {
    const auto [stop, error] = std::from_chars(suffix.data() + 2, end, value);
    if (error == std::errc{} && stop == end && value > 0) return value;
  }
  throw InputError({"command line", "--model", "\":" + suffix + "\"", "\":tpN\", as in :tp4"});
}

}  // namespace

ProfiledModel profiled_model(const std::string& name) {
  const std::size_t colon = name.rfind(":tp");
  const std::int32_t tp = colon == std::string::npos ? 1 : ranks(name.substr(colon + 1));
  ProfiledModel model;
  model.spec = load_model(name.substr(0, colon), "", "command line", "--model");
  model.rank = rank_operators(model.spec, {}, tp, 1);
  model.label = model.spec.name + " tp " + std::to_string(tp);
  return model;
}

std::vector<std::string> default_models(const std::string& device_kind, bool quick) {
  if (device_kind == "cpu") return {"toy-llama-12m", "toy-llama-110m"};
  if (quick) return {"llama-3.1-8b"};
  return {"llama-3.1-8b", "qwen3-14b", "qwen3-32b:tp2", "llama-3.1-70b:tp8", "llama-3.2-1b"};
}

}  // namespace headway::kernels
