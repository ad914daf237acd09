#include "sim/scenario/names.h"

#include <filesystem>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/core/suggest.h"
#include "sim/hardware/gpu_catalogue.h"
#include "sim/model/hf_config.h"
#include "sim/scenario/fields.h"

namespace headway {
namespace fs = std::filesystem;
namespace {

bool listed(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The catalogue name unchanged, or the absolute path of a file or folder that exists; "" for
// neither.
std::string name_or_path(const std::string& given, const std::string& kind,
                         const std::string& base_folder) {
  if (listed(given, catalogue_names(kind))) return given;
  std::error_code ec;
  const fs::path path = fs::absolute(fs::path(base_folder) / given, ec).lexically_normal();
  return !given.empty() && given.find('\0') == std::string::npos && fs::exists(path, ec)
             ? path.string()
             : std::string();
}

std::string or_a_path(const std::string& what, const std::string& word,
                      const std::vector<std::string>& names) {
  return what + " (a path from the scenario's folder), or " + one_of(word, names);
}

void resolve_model(const Document& document, const std::string& base, Scenario& s) {
  const std::string found = name_or_path(s.model_name, "models", base);
  if (found.empty()) {
    document.fail(document.root.at("model").is_object() ? "model.base" : "model",
                  in_quotes(s.model_name) + ", no such model or file",
                  or_a_path("a config.json", s.model_name, catalogue_names("models")));
  }
  s.model_name = found;
  s.model = load_model(found, base, document.file, document.place("model"));
  if (s.model_overrides.empty()) return;
  try {
    s.model = with_overrides(s.model, s.model_overrides, document.file);
  } catch (const InputError& e) {
    document.fail(e.parts().place, e.parts().found, e.parts().expected);
  }
}

void resolve_gpu(const Document& document, Scenario& s) {
  const std::vector<std::string> names = catalogue_names("gpus");
  const Json& gpu = document.root.at("gpu");
  if (!listed(s.gpu_name, names)) {
    document.fail(gpu.is_object() ? "gpu.base" : "gpu", in_quotes(s.gpu_name) + ", no such GPU",
                  one_of(s.gpu_name, names));
  }
  s.gpu = load_gpu(s.gpu_name);
  if (!gpu.is_object()) return;
  FieldTable<GpuSpec> fields = gpu_table();
  fields.push_back({"base", "text", "", "a catalogue name", [](const Value&, GpuSpec&) {}, {}});
  read_block(Value(document, gpu, "gpu"), fields, s.gpu);
}

// The GPU that a profile was measured on; "" when its provenance does not say.
std::string gpu_of_profile(const std::string& folder) {
  const std::string file = (fs::path(folder) / "profile.json").string();
  const Json json = read_document(read_whole_file(file), file).root;
  if (!json.is_object() || !json.contains("gpu") || !json.at("gpu").is_string()) return "";
  return json.at("gpu").get<std::string>();
}

void resolve_profile(const Document& document, const std::string& base, Scenario& s) {
  if (s.profile == "roofline") return;
  const std::string found = name_or_path(s.profile, "profiles", base);
  std::vector<std::string> fitting = {"roofline"};
  for (const std::string& name : catalogue_names("profiles")) {
    if (name.starts_with(s.gpu_name + "/")) fitting.push_back(name);
  }
  if (found.empty()) {
    std::vector<std::string> all = catalogue_names("profiles");
    all.emplace_back("roofline");
    document.fail("profile", in_quotes(s.profile) + ", no such profile", one_of(s.profile, all));
  }
  const bool catalogued = found == s.profile && fs::path(found).is_relative();
  const std::string folder =
      catalogued ? (fs::path(data_folder("profiles")) / found).string() : found;
  const std::string gpu = gpu_of_profile(folder);
  if (!gpu.empty() && gpu != s.gpu_name) {
    document.fail("profile", in_quotes(s.profile) + ", measured on " + gpu,
                  "a profile of " + s.gpu_name + ": " + one_of(s.profile, fitting));
  }
  s.profile = found;
}

void resolve_trace(const Document& document, const std::string& path, const std::string& base,
                   std::string& trace) {
  if (trace == "-") return;
  const std::string found = name_or_path(trace, "traces", base);
  if (found.empty()) {
    document.fail(path, in_quotes(trace) + ", no such trace or file",
                  or_a_path("a trace", trace, catalogue_names("traces")));
  }
  trace = found;
}

void resolve_lengths(const Document& document, const std::string& path, const std::string& base,
                     LengthOptions& length) {
  if (length.distribution == "empirical") {
    resolve_trace(document, path + ".file", base, length.file);
  }
  for (std::size_t i = 0; i < length.parts.size(); ++i) {
    resolve_lengths(document, path + ".parts[" + std::to_string(i) + "]", base, length.parts[i]);
  }
}

}  // namespace

void resolve_names(const Document& document, const std::string& base, Scenario& s) {
  resolve_model(document, base, s);
  resolve_gpu(document, s);
  resolve_profile(document, base, s);
  WorkloadOptions& w = s.workload;
  if (!w.synth.empty()) return;
  if (!w.generated()) return resolve_trace(document, "workload.trace", base, w.trace);
  resolve_lengths(document, "workload.input_len", base, w.input_len);
  resolve_lengths(document, "workload.output_len", base, w.output_len);
  if (w.sessions) {
    resolve_lengths(document, "workload.sessions.turns", base, w.sessions->turns);
    resolve_lengths(document, "workload.sessions.new_input_len", base, w.sessions->new_input_len);
  }
}

Json write_gpu(const Scenario& scenario) {
  const GpuSpec base = load_gpu(scenario.gpu_name);
  Json override_of{{"base", scenario.gpu_name}};
  for (const FieldRow<GpuSpec>& field : gpu_table()) {
    Json value = field.write(scenario.gpu);
    if (value != field.write(base)) override_of[field.name] = std::move(value);
  }
  return override_of.size() > 1 ? override_of : Json(scenario.gpu_name);
}

}  // namespace headway
