#include <array>
#include <charconv>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/study/demo.h"
#include "sim/study/lecture/demos.h"
#include "sim/study/planner/planner.h"

namespace headway {

std::span<const DemoEntry> demo_table() {
  static constexpr std::array<DemoEntry, 14> kRows{{
      {"01-intensity", "When does a GPU compute, and when does it wait for memory?",
       run_intensity_demo},
      {"02-batching", "What does a larger batch do for the MLP, and what for attention?",
       run_batching_demo},
      {"03-batch-table", "What does the batch do to latency, throughput and memory?",
       run_batch_table_demo},
      {"04-gqa", "What do fewer key/value heads buy, and what the batch that they free?",
       run_gqa_demo},
      {"05-kv-cache", "How does a sequence's cache grow, by architecture, from 1k to 1M tokens?",
       run_kv_cache_demo},
      {"06-quantisation", "What do fewer bytes a number buy?", run_quantisation_demo},
      {"07-pruning", "What does a pruned model buy?", run_pruning_demo},
      {"08-speculation",
       "What does a draft model buy, and at which batch does it turn into a loss?",
       run_speculation_demo},
      {"09-bus", "What does a bus that lets passengers on at every stop do for them?",
       run_bus_demo},
      {"10-fragmentation", "How much of the KV cache holds nothing, by how it is allocated?",
       run_fragmentation_demo},
      {"11-sharing", "What does sharing the KV of equal beginnings save?", run_sharing_demo},
      {"12-chunking", "How long does somebody else's prompt hold up an answer?", run_chunking_demo},
      {"13-copies", "What do more copies of the model buy?", run_copies_demo},
      {"14-diffusion", "When does refining a block of tokens at once beat one token at a time?",
       run_diffusion_demo},
  }};
  return kRows;
}

std::span<const DemoEntry> planner_table() {
  static constexpr std::array<DemoEntry, 4> kRows{{
      {"disaggregation", "Do prompts and answers belong on GPUs of their own?",
       run_disaggregation_demo, "planner"},
      {"routing", "Does it pay to send a conversation where its beginning is cached?",
       run_routing_demo, "planner"},
      {"autoscaling", "What does an autoscaler save in a day, and what do its users notice?",
       run_autoscaling_demo, "planner"},
      {"failure", "One of eight replicas fails: how many spare ones hide it?", run_failure_demo,
       "planner"},
  }};
  return kRows;
}

const DemoEntry& find_demo(const std::string& name) {
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool numeric = error == std::errc() && end == name.data() + name.size();
  std::vector<std::string> names;
  int row_number = 0;
  for (const DemoEntry& row : demo_table()) {
    const std::string_view rest = row.name.substr(row.name.find('-') + 1);
    if (row.name == name || rest == name || (numeric && number == ++row_number)) return row;
    names.emplace_back(rest);
  }
  for (const DemoEntry& row : planner_table()) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw InputError({"command line", "headway demo", "\"" + name + "\"",
                    one_of(name, names) + ", or its number"});
}

std::string demo_scenario(const DemoEntry& demo) {
  return std::string(demo.folder) + "/" + std::string(demo.name);
}

std::string demo_text(const DemoEntry& demo, const DemoAnswer& answer) {
  std::string text = std::string(demo.question) + "\n\n" + wrapped(answer.setup);
  for (const DemoTable& table : answer.tables) {
    text += "\n";
    if (!table.caption.empty()) text += wrapped(table.caption);
    text += aligned(table.rows);
  }
  return text + "\n" + wrapped(answer.answer);
}

}  // namespace headway
