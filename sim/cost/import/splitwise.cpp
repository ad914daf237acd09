// Splitwise's performance table (Mutinifni/splitwise-sim, MIT; Patel et al., ISCA 2024):
// perf_model.csv, one row a run of a whole engine: a batch of equal prompts, a number of output
// tokens; prompt_time is the prompt iteration, token_time the mean token iteration, in
// milliseconds.
// Both become op "iteration". The power columns and the power-capped H100 rows are left out.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/core/errors.h"
#include "sim/cost/import/csv_columns.h"
#include "sim/cost/import/import_support.h"
#include "sim/cost/import/importers.h"

namespace headway {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMethod = "whole engine iterations, mean over a run";

struct Hardware {
  const char* theirs;
  const char* gpu;
  const char* device;
};
constexpr Hardware kHardware[] = {{"a100-80gb", "a100-sxm", "NVIDIA A100 80GB (DGX-A100)"},
                                  {"h100-80gb", "h100-sxm", "NVIDIA H100 80GB (DGX-H100)"}};

void add_rows(const std::string& file, const std::string& hardware, Builders& out) {
  CsvColumns csv(file);
  const int model = csv.column("model"), device = csv.column("hardware");
  const int prompt = csv.column("prompt_size"), batch = csv.column("batch_size");
  const int output = csv.column("token_size"), tp = csv.column("tensor_parallel");
  const int times[] = {csv.column("prompt_time"), csv.column("token_time")};
  const char* phases[] = {"prompt", "token"};
  while (csv.next()) {
    if (csv.text(device) != hardware) continue;
    const std::string name = catalogue_model_name(std::string(csv.text(model)));
    const std::string gpus(csv.text(tp));
    for (int i = 0; i < 2; ++i) {
      out.get("iteration", {{"model", name}, {"gpus", gpus}, {"phase", phases[i]}},
              std::string("iteration-") + phases[i] + "-" + file_word(name) + "-gpus" +
                  file_word(gpus),
              kMethod)
          .add({csv.whole(prompt), csv.whole(output), csv.whole(batch)},
               csv.time_us(times[i], 1000));
    }
  }
}

std::string splitwise_provenance(const Hardware& hardware) {
  const nlohmann::ordered_json json = {
      {"source", "https://github.com/Mutinifni/splitwise-sim"},
      {"commit", "not stated"},
      {"licence", "MIT"},
      {"attribution", "Patel et al., Splitwise, ISCA 2024; converted by Headway"},
      {"device", hardware.device},
      {"engine", "vllm"},
      {"engine_version", "not stated by the source"},
      {"driver", "not stated by the source"},
      {"clocks", "not stated by the source"},
      {"date", "not stated by the source"},
      {"measured_by", "the authors of Splitwise"},
      {"method", "whole engine iterations: the prompt iteration, and the mean token iteration"},
      {"kept", "prompt and token times without a power cap; four significant digits"},
      {"duplicates", "repeated runs are averaged; low_us and high_us are their extremes"}};
  return json.dump();
}

}  // namespace

std::vector<Profile> import_splitwise(const std::string& path, std::FILE* log) {
  const std::string file = fs::is_directory(path) ? path + "/perf_model.csv" : path;
  std::vector<Profile> profiles;
  for (const Hardware& hardware : kHardware) {
    Builders builders;
    add_rows(file, hardware.theirs, builders);
    Profile profile;
    profile.gpu = hardware.gpu;
    profile.name = profile.gpu + "/splitwise-sim";
    profile.provenance_json = splitwise_provenance(hardware);
    builders.build_into(profile, false, log);
    if (!profile.tables.empty()) profiles.push_back(std::move(profile));
  }
  if (profiles.empty()) {
    throw InputError({file, "", "no row of a100-80gb or h100-80gb", "Splitwise's perf_model.csv"});
  }
  return profiles;
}

}  // namespace headway
