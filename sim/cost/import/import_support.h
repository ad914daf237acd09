#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/import/table_builder.h"
#include "sim/cost/profile.h"

namespace headway {

// The catalogue's name of a model as published ("Qwen3-30B-A3B-Instruct-2507",
// "meta-llama/Llama-2-7b-hf", "llama2-70b"): owner and finish cut off, lower case.
std::string catalogue_model_name(std::string published);

// The host terms that an imported profile starts with: kernel tables say nothing of the host, so these
// were fitted once, on one run, and are the same for every GPU and source.
// "trtllm" has terms of its own; every other engine those of vLLM.
HostTerms fitted_host_terms(std::string_view engine = "vllm");

// A file name out of words, for table files: letters, digits, '-', '.' and '_' stay.
std::string file_word(std::string text);

// Builders by the name of the table's file, in the order in which they were first asked for.
class Builders {
 public:
  TableBuilder& get(const std::string& op, const std::map<std::string, std::string>& variant,
                    const std::string& file, const std::string& method);
  // Builds every table into the profile; flags outliers where asked. Returns how many it flagged.
  int build_into(Profile& profile, bool flag, std::FILE* log) const;

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<TableBuilder> builders_;
};

}  // namespace headway
