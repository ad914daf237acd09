#include "sim/workload/trace_format.h"

#include "sim/core/errors.h"
#include "sim/core/suggest.h"
#include "sim/workload/formats/formats.h"

namespace headway {

std::span<const TraceFormat> trace_formats() {
  static const TraceFormat kFormats[] = {
      plain_csv_format(),      azure_csv_format(),       burstgpt_csv_format(),
      mooncake_jsonl_format(), vidur_csv_format(),       llmservingsim_jsonl_format(),
      lengths_csv_format(),    vllm_bench_json_format(),
  };
  return kFormats;
}

const TraceFormat& choose_trace_format(const std::string& name, const TraceText& text) {
  std::vector<std::string> names = {"auto"};
  for (const TraceFormat& format : trace_formats()) {
    if (name == format.name) return format;
    if (name == "auto" && format.recognises(text.head())) return format;
    names.emplace_back(format.name);
  }
  if (name != "auto") {
    throw InputError({"", "workload.format", "\"" + name + "\"", one_of(name, names)});
  }
  if (text.head().empty()) throw InputError({text.path(), "", "an empty file", "a trace"});
  std::string expected;
  for (const TraceFormat& format : trace_formats()) {
    expected += (expected.empty() ? "" : "; or ") + std::string(format.recognised);
  }
  const std::string first_line = text.head().substr(0, text.head().find('\n'));
  bad_field({text.path(), 1, ""}, first_line, expected);
}

}  // namespace headway
