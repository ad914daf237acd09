#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/workload/formats/formats.h"

namespace headway {
namespace {

using Json = nlohmann::json;

// The result file of `vllm bench serve --save-result --save-detailed`: one object with a list per
// quantity, an element a request. start_times are on the client's clock in seconds; older versions
// lack them, and then only a run that sent everything at once can be replayed.
class VllmBenchReader final : public TraceReader {
 public:
  explicit VllmBenchReader(TraceText text) : path_(text.path()) {
    std::string all;
    std::string_view line;
    while (text.next(line)) all.append(line).push_back('\n');
    Json json;
    try {
      json = Json::parse(all);
    } catch (const Json::parse_error& error) {
      throw InputError(
          {path_, "byte " + std::to_string(error.byte), "what is not JSON", "one JSON object"});
    }
    inputs_ = list(json, "input_lens", "");
    outputs_ = list(json, "output_lens", "");
    read_times(json);
    if (json.contains("errors") && json["errors"].is_array()) {
      for (const Json& error : json["errors"]) {
        failed_.push_back(error.is_string() && !error.get_ref<const std::string&>().empty());
      }
    }
    for (const auto* other : {&outputs_, &times_}) {
      if (other->size() != inputs_.size()) {
        throw InputError({path_, "",
                          "lists of " + std::to_string(inputs_.size()) + " and " +
                              std::to_string(other->size()) + " elements",
                          "lists of one length"});
      }
    }
  }

  bool next(TraceRow& row) override {
    if (at_ == inputs_.size()) return false;
    row = TraceRow();
    row.failed = at_ < failed_.size() && failed_[at_];
    set(row, TraceField::kArrivalS, times_[at_], "start_times");
    set(row, TraceField::kOutputTokens, outputs_[at_], "output_lens");
    set(row, TraceField::kInputTokens, inputs_[at_], "input_lens");
    ++at_;
    check_row(row, place());
    return true;
  }

  // Elements are counted as lines are in the other formats.
  FieldPlace place() const override { return {path_, static_cast<std::int64_t>(at_), ""}; }

 private:
  std::vector<std::string> list(const Json& json, const char* key, const std::string& hint) const {
    if (!json.is_object() || !json.contains(key) || !json[key].is_array()) {
      throw InputError({path_, "", std::string("no list \"") + key + "\"",
                        "a result saved with --save-detailed" + hint});
    }
    std::vector<std::string> values;
    for (const Json& element : json[key]) values.push_back(element.dump());
    return values;
  }

  void read_times(const Json& json) {
    const bool inf = json.contains("request_rate") &&
                     (json["request_rate"] == "inf" || json["request_rate"].is_null());
    const bool has_times = json.contains("start_times") && json["start_times"].is_array() &&
                           !json["start_times"].empty();
    if (!has_times && inf) {
      times_.assign(inputs_.size(), "0");
    } else {
      times_ = list(json, "start_times", ", by a version that writes the send times");
    }
  }

  void set(TraceRow& row, TraceField field, const std::string& text, const char* key) const {
    std::string column(key);
    column.append("[").append(std::to_string(at_)).append("]");
    set_field(row, field, text, {path_, static_cast<std::int64_t>(at_), column});
  }

  std::string path_;
  std::vector<std::string> inputs_, outputs_, times_;
  std::vector<bool> failed_;
  std::size_t at_ = 0;
};

bool recognises(std::string_view head) {
  return head.starts_with('{') && head.find("\"input_lens\"") != std::string_view::npos;
}

std::unique_ptr<TraceReader> open(TraceText text, const TraceReadOptions& /*options*/,
                                  std::vector<std::string>& /*notes*/) {
  return std::make_unique<VllmBenchReader>(std::move(text));
}

}  // namespace

TraceFormat vllm_bench_json_format() {
  return {"vllm-bench",
          "result of vllm bench serve --save-detailed: input_lens, output_lens, start_times",
          "a JSON object with input_lens", recognises, open};
}

}  // namespace headway
