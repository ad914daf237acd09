#include "sim/scenario/fields.h"

namespace headway {
namespace {

constexpr std::int64_t kMaxDegree = 4096;

FieldRow<Precision> dtype(std::string name, DType Precision::*member,
                          std::vector<std::string> valid, std::string help) {
  std::string list;
  for (const std::string& v : valid) list += (list.empty() ? "" : " | ") + v;
  return {
      std::move(name),
      "text",
      std::move(list),
      std::move(help),
      [=](const Value& v, Precision& out) { out.*member = parse_dtype(v.choice(valid), "", ""); },
      [=](const Precision& in) { return Json(dtype_name(in.*member)); }};
}

const FieldTable<Precision>& precision_table() {
  using P = Precision;
  const std::vector<std::string> all{"fp32", "bf16", "fp16", "fp8", "int8", "int4", "fp4"};
  static const FieldTable<P> table = {
      dtype("weights", &P::weights, all, "how weights are stored"),
      dtype("activations", &P::activations, all, "what linear layers compute in"),
      dtype("kv", &P::kv, all, "how keys and values are stored"),
      integer("group_size", &P::group_size, 0, 65536,
              "weights that share a scale; 0 = as the format has it (int8, int4: 128, fp4: 16)"),
      number("kept_fraction", &P::kept_fraction, 0, 1,
             "share of quantised weights kept at 16 bits (LLM.int8() outliers, AWQ)"),
  };
  return table;
}

const FieldTable<ParallelOptions>& parallel_table() {
  using P = ParallelOptions;
  static const FieldTable<P> table = {
      integer("tensor_parallel_size", &P::tensor_parallel_size, 1, kMaxDegree,
              "GPUs a layer is cut over"),
      integer("pipeline_parallel_size", &P::pipeline_parallel_size, 1, kMaxDegree,
              "stages of layers"),
      integer("data_parallel_size", &P::data_parallel_size, 1, kMaxDegree,
              "engine copies behind one name"),
      integer("expert_parallel_size", &P::expert_parallel_size, 1, kMaxDegree,
              "groups of GPUs with whole experts; 1 = every expert is cut over all of them"),
      integer("context_parallel_size", &P::context_parallel_size, 1, kMaxDegree,
              "GPUs that share a prompt's tokens (prefill only; each keeps the whole cache)"),
      text("all2all_backend", &P::all2all_backend,
           "how tokens reach the experts of other ranks: allgather_reducescatter or all_to_all"),
  };
  return table;
}

const FieldTable<HostOptions>& host_table() {
  using H = HostOptions;
  static const FieldTable<H> table = {
      optional_number("per_step_us", &H::per_step_us, 0, 1e9,
                      "host time a step; null = the profile's"),
      optional_number("per_request_us", &H::per_request_us, 0, 1e9,
                      "host time a request, before it can be scheduled; null = the profile's"),
      optional_number("per_sequence_us", &H::per_sequence_us, 0, 1e9,
                      "host time a scheduled sequence and step; null = the profile's"),
      optional_number("per_admission_us", &H::per_admission_us, 0, 1e9,
                      "host time a request adds to its first step; null = the profile's"),
      optional_number("per_launch_us", &H::per_launch_us, 0, 1e6,
                      "host time to launch a kernel of a step outside CUDA graphs; null = as the "
                      "profile measured it, 0 where it did not"),
  };
  return table;
}

// One key, three forms: a rate, a rate for each position, the name of a published vector.
FieldRow<SpeculationOptions> acceptance_field() {
  using S = SpeculationOptions;
  return {
      "acceptance",
      "number, list or text",
      "0 to 1 each",
      "chance that a draft is kept: one rate, one for each position, or a published vector's name",
      [](const Value& v, S& out) {
        out.acceptance.clear();
        out.acceptance_preset.clear();
        if (v.json().is_string()) {
          out.acceptance_preset = v.text();
        } else if (v.json().is_array()) {
          for (std::size_t i = 0; i < v.json().size(); ++i) {
            out.acceptance.push_back(v.entry(i).number(0, 1));
          }
        } else {
          out.acceptance.push_back(v.number(0, 1));
        }
      },
      [](const S& in) {
        if (!in.acceptance_preset.empty()) return Json(in.acceptance_preset);
        if (in.acceptance.size() == 1) return number_json(in.acceptance.front());
        Json list = Json::array();
        for (const double rate : in.acceptance) list.push_back(number_json(rate));
        return list;
      }};
}

// Rows [first, last, k]: k drafts while that many sequences are in the step.
FieldRow<SpeculationOptions> batch_table_field() {
  using S = SpeculationOptions;
  return {"num_speculative_tokens_per_batch_size",
          "list of [first, last, k]",
          "ascending ranges",
          "drafts by the number of sequences in the step",
          [](const Value& v, S& out) {
            out.num_speculative_tokens_per_batch_size.clear();
            if (!v.json().is_array()) v.fail(describe(v.json()), "a list of [first, last, k]");
            for (std::size_t i = 0; i < v.json().size(); ++i) {
              const Value row = v.entry(i);
              if (!row.json().is_array() || row.json().size() != 3) {
                row.fail(describe(row.json()), "three whole numbers: first, last, k");
              }
              auto& added = out.num_speculative_tokens_per_batch_size.emplace_back();
              for (std::size_t j = 0; j < 3; ++j) {
                added[j] = static_cast<std::int32_t>(row.entry(j).integer(0, 1'000'000));
              }
            }
          },
          [](const S& in) {
            Json list = Json::array();
            for (const auto& row : in.num_speculative_tokens_per_batch_size)
              list.push_back(Json(row));
            return list;
          }};
}

const FieldTable<SpeculationOptions>& speculation_table() {
  using S = SpeculationOptions;
  static const FieldTable<S> table = {
      choice("method", &S::method, {"", "ngram", "eagle", "mtp", "medusa", "draft_model"},
             "where drafts come from; \"\" = no speculation"),
      integer("num_speculative_tokens", &S::num_speculative_tokens, 0, 64,
              "drafts a sequence and step"),
      acceptance_field(),
      text("draft_model", &S::draft_model, "draft_model: its catalogue name or config.json"),
      number("draft_hit_rate", &S::draft_hit_rate, 0, 1,
             "ngram: share of steps in which a match yields drafts"),
      batch_table_field(),
  };
  return table;
}

// "h100-sxm", or { base: "h100-sxm", memory_bytes: ... }. Only the name is read here: names.cpp
// looks it up, and applies the override to what it finds.
FieldRow<Scenario> gpu_field() {
  return {"gpu",
          "text or object",
          "a row of `headway list gpus`, or { base, figures to override }",
          "the GPU: a catalogue name, or { base: name, memory_bytes ... }",
          [](const Value& v, Scenario& out) {
            if (v.json().is_object()) {
              if (!v.has("base")) v.fail("no \"base\" in gpu", "\"base\": a catalogue name");
              out.gpu_name = v.member("base").text();
            } else if (v.json().is_string()) {
              out.gpu_name = v.text();
            } else {
              v.fail(describe(v.json()), "a catalogue name, or { base, ... }");
            }
          },
          [](const Scenario& in) { return write_gpu(in); }};
}

// "llama-3.1-8b", or { base: "llama-3.1-8b", num_key_value_heads: ... }; names.cpp applies them.
FieldRow<Scenario> model_field() {
  return {"model",
          "text or object",
          "a row of `headway list models`, a path, or { base, keys to override, pruning }",
          "a catalogue name, the path of a config.json, its folder or a .gguf file, or { base: "
          "name, num_key_value_heads ... }: keys of its config.json; pruning: a row of "
          "`headway list prunings`, or { what remains }",
          [](const Value& v, Scenario& out) {
            out.model_overrides.clear();
            if (v.json().is_object()) {
              if (!v.has("base")) v.fail("no \"base\" in model", "\"base\": a catalogue name");
              out.model_name = v.member("base").text();
              for (const auto& [key, value] : v.json().items()) {
                if (key != "base") out.model_overrides.emplace_back(key, dump(value));
              }
            } else if (v.json().is_string()) {
              out.model_name = v.text();
            } else {
              v.fail(describe(v.json()), "a catalogue name, a path, or { base, ... }");
            }
          },
          [](const Scenario& in) {
            if (in.model_overrides.empty()) return Json(in.model_name);
            Json object{{"base", in.model_name}};
            for (const auto& [key, value] : in.model_overrides) object[key] = Json::parse(value);
            return object;
          }};
}

FieldRow<Scenario> workload_field() {
  return {"workload",
          "object",
          "",
          "{ trace, ... } or { num_prompts, request_rate, ... }",
          [](const Value& v, Scenario& out) { read_workload(v, out.workload); },
          [](const Scenario& in) { return write_workload(in.workload); },
          "",
          false,
          workload_docs};
}

FieldRow<Scenario> cluster_field() {
  return {"cluster",
          "object",
          "",
          "replicas, or pools of them, and what stands before them",
          [](const Value& v, Scenario& out) { read_cluster(v, out.cluster); },
          [](const Scenario& in) { return write_cluster(in.cluster); },
          "",
          false,
          cluster_docs};
}

FieldRow<Scenario> seed_field() {
  return {"seed",
          "integer",
          "0 to 18446744073709551615",
          "what every random draw starts from",
          [](const Value& v, Scenario& out) { out.seed = v.unsigned_integer(); },
          [](const Scenario& in) { return Json(in.seed); }};
}

}  // namespace

const FieldTable<GpuSpec>& gpu_table() {
  using G = GpuSpec;
  constexpr double kMax = 1e21;
  static const FieldTable<G> table = {
      integer("memory_bytes", &G::memory_bytes, 1, 1'000'000'000'000'000, "memory of the GPU"),
      number("memory_bandwidth", &G::memory_bandwidth, kAboveZero, kMax, "bytes per second"),
      number("flops_bf16", &G::flops_bf16, kAboveZero, kMax, "dense bf16 and fp16 FLOP per second"),
      number("flops_fp8", &G::flops_fp8, 0, kMax, "dense fp8 FLOP per second; 0 = none"),
      number("ops_int8", &G::ops_int8, 0, kMax, "dense int8 operations per second; 0 = none"),
      number("flops_fp4", &G::flops_fp4, 0, kMax, "dense fp4 FLOP per second; 0 = none"),
      number("flops_fp32", &G::flops_fp32, 0, kMax, "FLOP per second outside the tensor cores"),
      number("link_bandwidth", &G::link_bandwidth, 0, kMax, "bytes per second to a peer GPU"),
      number("link_latency_us", &G::link_latency_us, 0, 1e9, "of a message to a peer GPU"),
      number("host_link_bandwidth", &G::host_link_bandwidth, 0, kMax,
             "bytes per second to the host"),
      number("power_watts", &G::power_watts, 0, 1e9, "limit of the board"),
      number("price_per_hour", &G::price_per_hour, 0, 1e9, "US dollars"),
      integer("gpus_per_node", &G::gpus_per_node, 1, 100'000, "GPUs of a node"),
  };
  return table;
}

const FieldTable<Scenario>& scenario_table() {
  using S = Scenario;
  static const FieldTable<S> table = {
      text("name", &S::name, "shown in reports; the file's name when left out"),
      required(model_field()),
      required(gpu_field()),
      text("profile", &S::profile, "\"roofline\", or a row of `headway list profiles`"),
      block("precision", &S::precision, precision_table, "storage types"),
      block("engine", &S::engine, engine_table, "the serving engine, in vLLM's words"),
      block("parallel", &S::parallel, parallel_table, "how the model is cut"),
      block("host", &S::host, host_table, "host time that kernels do not show"),
      block("speculation", &S::speculation, speculation_table, "speculative decoding"),
      cluster_field(),
      required(workload_field()),
      block("slo", &S::slo, slo_table, "limits that goodput counts by"),
      seed_field(),
  };
  return table;
}

std::vector<FieldDoc> scenario_fields() { return document_block("", scenario_table()); }

}  // namespace headway
