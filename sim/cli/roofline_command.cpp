#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/cli/outputs.h"
#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/hardware/gpu_catalogue.h"
#include "sim/model/hf_config.h"
#include "sim/report/roofline_report.h"
#include "sim/scenario/parse.h"

namespace headway {
namespace {

constexpr std::int64_t kMostTokens = 100'000'000;
constexpr std::size_t kMostBatches = 64;

[[noreturn]] void refuse(const std::string& flag, const std::string& found,
                         const std::string& expected) {
  throw InputError({"command line", flag, found, expected});
}

std::vector<std::int64_t> parse_batches(const std::string& text) {
  std::vector<std::int64_t> batches;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::int64_t batch = 0;
    const auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, batch);
    if (error != std::errc() || rest != text.data() + end || batch < 1 || batch > kMostTokens) {
      refuse("--batch", "\"" + text + "\"", "whole numbers from 1, with commas between: 1,64,256");
    }
    batches.push_back(batch);
    begin = end + 1;
  }
  if (batches.size() > kMostBatches) {
    refuse("--batch", std::to_string(batches.size()) + " batches",
           "at most " + std::to_string(kMostBatches));
  }
  return batches;
}

class RooflineCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.text("--model", "M", model_, "A catalogue name, or the path of a config.json");
    arguments.text("--gpu", "G", gpu_, "A catalogue name");
    arguments.text("--batch", "1,64,256", batch_, "Sequences that generate together");
    arguments.number("--context", "N", context_, 1, "Tokens of each of them (default: 1024)");
    arguments.number("--prompt", "N", prompt_, 1,
                     "Tokens of the prompt that is prefilled (default: --context)");
    arguments.text("--weights", "DTYPE", weights_, "bf16 | fp16 | fp8 | int8 | int4 | fp4 | fp32");
    arguments.text("--activations", "DTYPE", activations_,
                   "What products compute in (default: bf16)");
    arguments.text("--kv", "DTYPE", kv_, "How keys and values are stored");
    arguments.number("--tp", "N", tensor_parallel_, 1, "GPUs that every layer is cut over");
    arguments.list("--set", "KEY=VALUE", sets_,
                   "model.KEY as in config.json (model.num_key_value_heads=8), or gpu.KEY "
                   "(gpu.memory_bytes=80e9)");
    arguments.flag("--formulas", formulas_, "Show the formulas, with the numbers put in");
    arguments.optional_text("--json", "FILE.json", json_path_, "-",
                            "Write everything as JSON (default: to stdout)");
    arguments.text("--svg", "FILE.svg", svg_path_,
                   "Draw the roofline, and latency against throughput");
  }

  int run() override {
    const RooflineQuestion question = read_question();
    Outputs outputs;
    outputs.claim("--json", json_path_);
    outputs.claim("--svg", svg_path_);
    const RooflineReport report = study_roofline(question);
    std::unique_ptr<OutputFile> json, svg;
    if (!json_path_.empty()) json = std::make_unique<OutputFile>(json_path_);
    if (!svg_path_.empty()) svg = std::make_unique<OutputFile>(svg_path_);
    if (json) json->write(roofline_json(report).dump(2) + "\n");
    if (svg) svg->write(roofline_svg(report));
    if (!outputs.to_stdout()) print_out(roofline_text(report, formulas_));
    if (json) outputs.commit(json_path_, *json);
    if (svg) outputs.commit(svg_path_, *svg);
    return 0;
  }

 private:
  RooflineQuestion read_question() const {
    if (model_.empty())
      refuse("headway roofline", "no model", "--model M, from `headway list models`");
    if (gpu_.empty()) refuse("headway roofline", "no GPU", "--gpu G, from `headway list gpus`");
    RooflineQuestion q;
    q.model = load_model(model_, "", "command line", "--model");
    q.gpu = load_gpu(gpu_, "command line", "--gpu");
    for (const std::string& set : sets_) apply(parse_assignment(set), q);
    q.precision.weights = dtype("--weights", weights_);
    q.precision.activations = dtype("--activations", activations_);
    q.precision.kv = dtype("--kv", kv_);
    q.tensor_parallel_size =
        static_cast<std::int32_t>(bounded("--tp", tensor_parallel_.value_or(1), 4096));
    q.context_tokens = bounded("--context", context_.value_or(q.context_tokens), kMostTokens);
    q.prompt_tokens = bounded("--prompt", prompt_.value_or(q.context_tokens), kMostTokens);
    if (!batch_.empty()) q.batches = parse_batches(batch_);
    return q;
  }

  static void apply(const Assignment& set, RooflineQuestion& q) {
    if (set.key.starts_with("model.")) {
      q.model = with_overrides(q.model, set.key.substr(6), set.value);
      return;
    }
    if (set.key.starts_with("gpu.")) {
      double value = 0;
      const char* const end = set.value.data() + set.value.size();
      const auto [rest, error] = std::from_chars(set.value.data(), end, value);
      if (error != std::errc() || rest != end)
        refuse("--set " + set.key, "\"" + set.value + "\"", "a number");
      override_gpu(q.gpu, set.key.substr(4), value, "command line", "--set gpu");
      return;
    }
    refuse("--set", "\"" + set.key + "\"", "model.KEY or gpu.KEY");
  }

  static DType dtype(const std::string& flag, const std::string& name) {
    return name.empty() ? DType::kBf16 : parse_dtype(name, "command line", flag);
  }

  static std::int64_t bounded(const std::string& flag, std::int64_t value, std::int64_t most) {
    if (value > most) refuse(flag, std::to_string(value), "at most " + std::to_string(most));
    return value;
  }

  std::string model_, gpu_, batch_, weights_, activations_, kv_, json_path_, svg_path_;
  std::optional<std::int64_t> context_, prompt_, tensor_parallel_;
  std::vector<std::string> sets_;
  bool formulas_ = false;
};

}  // namespace

std::unique_ptr<Command> make_roofline_command() { return std::make_unique<RooflineCommand>(); }

}  // namespace headway
