#include "sim/cost/import/import_support.h"

#include <algorithm>
#include <cctype>

#include "sim/cost/import/outliers.h"

namespace headway {

std::string catalogue_model_name(std::string published) {
  const std::size_t slash = published.rfind('/');
  if (slash != std::string::npos) published.erase(0, slash + 1);
  std::transform(published.begin(), published.end(), published.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* finish : {"-hf", "-instruct-2507", "-instruct"}) {
    const std::string_view end = finish;
    if (published.ends_with(end)) published.resize(published.size() - end.size());
  }
  if (published.starts_with("meta-")) published.erase(0, 5);
  if (published.starts_with("llama2-")) published.replace(0, 6, "llama-2");
  return published;
}

std::string file_word(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  }
  return text;
}

TableBuilder& Builders::get(const std::string& op,
                            const std::map<std::string, std::string>& variant,
                            const std::string& file, const std::string& method) {
  const auto it = index_.find(file);
  if (it != index_.end()) return builders_[it->second];
  index_[file] = builders_.size();
  builders_.emplace_back(op, variant, file, method);
  return builders_.back();
}

int Builders::build_into(Profile& profile, bool flag, std::FILE* log) const {
  int outliers = 0;
  std::size_t rows = 0;
  for (const TableBuilder& builder : builders_) {
    profile.tables.push_back(builder.build());
    ProfileTable& table = profile.tables.back();
    rows += table.rows();
    const int found = flag ? flag_outliers(table) : 0;
    outliers += found;
    if (log != nullptr && found > 0) {
      std::fprintf(log, "  %s: %d outliers flagged\n", table.file.c_str(), found);
    }
  }
  if (log != nullptr) {
    std::fprintf(log, "%s: %zu tables, %zu rows\n", profile.name.c_str(), builders_.size(), rows);
  }
  return outliers;
}

HostTerms fitted_host_terms(std::string_view engine) {
  HostTerms host;
  host.per_request_us = 8000;
  if (engine == "trtllm") {
    host.per_step_us = 300;
    host.per_sequence_us = 24;
    host.source =
        "fitted and frozen: per_step_us and per_sequence_us on the 31 closed loops of TensorRT-LLM "
        "1.0.0rc3, Llama-3.1-8B, H100, TP 1 to 8, with prompts of 1024 tokens (mean TPOT; on a grid "
        "of 150 and 8 us), with h100-sxm/trtllm-1.2.0rc5; per_request_us is vLLM's";
    return host;
  }
  host.per_step_us = 235;
  host.source =
      "fitted on one measured run and frozen: Qwen3-14B bf16, H100 80 GB, vLLM 0.23.0, Poisson 4/s, "
      "986 + 128 tokens (mean TPOT 13.58 ms, mean TTFT 73.49 ms), with h100-sxm/vllm-0.24.0 and "
      "asynchronous scheduling";
  return host;
}

}  // namespace headway
