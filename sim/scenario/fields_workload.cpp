#include <algorithm>
#include <numeric>

#include "sim/scenario/fields.h"
#include "sim/workload/synth.h"
#include "sim/workload/trace_fields.h"

namespace headway {
namespace {

using L = LengthOptions;
using W = WorkloadOptions;

constexpr double kMaxLength = 10'000'000;
// Kinds of workload; a key's group names those that it belongs to.
constexpr const char* kTrace = "trace";
constexpr const char* kSynth = "synth";
constexpr const char* kGenerator = "generator";

const std::vector<std::string> kDistributions = {"fixed",     "uniform", "normal",
                                                 "lognormal", "mixture", "empirical"};

void read_length(const Value& value, L& out);
Json write_length(const L& in);

FieldRow<L> parts_field() {
  return {"parts",
          "list of lengths",
          "",
          "mixture: what is mixed",
          [](const Value& v, L& out) {
            if (!v.json().is_array() || v.json().empty())
              v.fail(describe(v.json()), "a list of lengths");
            out.parts.assign(v.json().size(), {});
            for (std::size_t i = 0; i < out.parts.size(); ++i)
              read_length(v.entry(i), out.parts[i]);
          },
          [](const L& in) {
            Json list = Json::array();
            for (const L& part : in.parts) list.push_back(write_length(part));
            return list;
          },
          "mixture"};
}

FieldRow<L> weights_field() {
  return {"weights",
          "list of numbers",
          "above 0 each",
          "mixture: how much of each part",
          [](const Value& v, L& out) {
            if (!v.json().is_array()) v.fail(describe(v.json()), "a list of numbers");
            out.weights.clear();
            for (std::size_t i = 0; i < v.json().size(); ++i) {
              out.weights.push_back(v.entry(i).number(kAboveZero, 1e12));
            }
          },
          [](const L& in) {
            Json list = Json::array();
            for (const double weight : in.weights) list.push_back(number_json(weight));
            return list;
          },
          "mixture"};
}

// A row's group names the distributions that it belongs to.
const FieldTable<L>& length_table() {
  static const FieldTable<L> table = {
      choice("distribution", &L::distribution, kDistributions, "how lengths are drawn"),
      in_group("fixed", number("value", &L::value, 0, kMaxLength, "fixed: the length")),
      in_group("uniform", number("low", &L::low, 0, kMaxLength, "uniform: shortest")),
      in_group("uniform", number("high", &L::high, 0, kMaxLength, "uniform: longest, included")),
      in_group("normal lognormal", number("mean", &L::mean, kAboveZero, kMaxLength, "mean length")),
      in_group("normal lognormal",
               number("stddev", &L::stddev, 0, kMaxLength, "standard deviation of the lengths")),
      in_group("empirical", text("file", &L::file, "empirical: a trace to draw lengths from")),
      parts_field(),
      weights_field(),
      integer("min", &L::min, 1, static_cast<std::int64_t>(kMaxLength), "draws are raised to it"),
      integer("max", &L::max, 1, static_cast<std::int64_t>(kMaxLength), "draws are lowered to it"),
  };
  return table;
}

bool belongs(const std::string& group, const std::string& distribution) {
  return group.empty() || (" " + group + " ").find(" " + distribution + " ") != std::string::npos;
}

void check_length(const Value& value, const L& length) {
  for (const FieldRow<L>& field : length_table()) {
    const bool here = value.has(field.name);
    if (here && !belongs(field.group, length.distribution)) {
      value.member(field.name)
          .fail("a key of another distribution (" + field.group + ")",
                "keys of \"" + length.distribution + "\"");
    }
    if (!here && !field.group.empty() && belongs(field.group, length.distribution)) {
      value.fail("\"" + length.distribution + "\" without \"" + field.name + "\"",
                 "\"" + field.name + "\": " + field.help);
    }
  }
  if (length.min > length.max) value.fail("min above max", "min at most max");
  if (length.low > length.high) value.fail("low above high", "low at most high");
  if (length.parts.size() != length.weights.size()) {
    value.fail(std::to_string(length.parts.size()) + " parts and " +
                   std::to_string(length.weights.size()) + " weights",
               "one weight a part");
  }
}

void read_length(const Value& value, L& out) {
  out = L{};
  if (value.json().is_number()) {
    out.value = static_cast<double>(value.integer(1, static_cast<std::int64_t>(kMaxLength)));
    return;
  }
  if (!value.json().is_object()) {
    value.fail(describe(value.json()),
               "a whole number of tokens, or an object with a distribution");
  }
  read_block(value, length_table(), out);
  check_length(value, out);
}

Json write_length(const L& in) {
  if (in.distribution == "fixed" && in.min == L{}.min && in.max == L{}.max)
    return number_json(in.value);
  Json object = Json::object();
  for (const FieldRow<L>& field : length_table()) {
    if (belongs(field.group, in.distribution)) object[field.name] = field.write(in);
  }
  return object;
}

template <typename T>
FieldRow<T> length(std::string name, L T::*member, std::string help) {
  return {std::move(name),
          "length",
          "a number of tokens, or { distribution, ... }",
          std::move(help),
          [=](const Value& v, T& out) { read_length(v, out.*member); },
          [=](const T& in) { return write_length(in.*member); }};
}

const FieldTable<SessionOptions>& session_table() {
  using S = SessionOptions;
  static const FieldTable<S> table = {
      required(length("turns", &S::turns, "turns a session")),
      required(length("new_input_len", &S::new_input_len, "tokens that a turn adds")),
      number("think_time_s", &S::think_time_s, 0, 1e9, "mean pause before the next turn, seconds"),
      integer("shared_prefix_tokens", &S::shared_prefix_tokens, 0, 10'000'000,
              "system prompt that sessions share"),
      integer("prefix_groups", &S::prefix_groups, 1, 1'000'000, "different system prompts"),
  };
  return table;
}

FieldRow<W> sessions_field() {
  return {"sessions",
          "object or null",
          "",
          "conversations of several turns",
          [](const Value& v, W& out) {
            out.sessions.reset();
            if (!v.json().is_null()) read_block(v, session_table(), out.sessions.emplace());
          },
          [](const W& in) {
            return in.sessions ? write_block(*in.sessions, session_table()) : Json(nullptr);
          },
          kGenerator,
          false,
          [](const std::string& path) { return document_block(path, session_table()); }};
}

const FieldTable<TenantOptions>& tenant_table() {
  using T = TenantOptions;
  static const FieldTable<T> table = {
      required(number("share", &T::share, kAboveZero, 1e12,
                      "its share of requests (of sessions), in relation to the other shares")),
      integer("priority", &T::priority, -1'000'000'000, 1'000'000'000,
              "of its requests; smaller is more urgent"),
  };
  return table;
}

FieldRow<W> tenants_field() {
  return {"tenants",
          "list of objects",
          "",
          "accounts that the requests are of; a request's tenant is the place in this list, from 0",
          [](const Value& v, W& out) {
            if (!v.json().is_array()) v.fail(describe(v.json()), "a list of { share, priority }");
            out.tenants.assign(v.json().size(), {});
            for (std::size_t i = 0; i < out.tenants.size(); ++i) {
              read_block(v.entry(i), tenant_table(), out.tenants[i]);
            }
          },
          [](const W& in) {
            Json list = Json::array();
            for (const TenantOptions& tenant : in.tenants) {
              list.push_back(write_block(tenant, tenant_table()));
            }
            return list;
          },
          kGenerator,
          false,
          [](const std::string& path) { return document_block(path + "[i]", tenant_table()); }};
}

// vLLM's `random` dataset defaults, so that every key of a generated workload has one.
W generator_defaults(W options) {
  options.input_len.value = 1024;
  options.output_len.value = 128;
  options.num_prompts = 1000;
  options.request_rate = kInfinity;
  return options;
}

void add_trace(FieldTable<W>& rows) {
  rows.push_back(in_group(kTrace, text("trace", &W::trace, "a trace's path or catalogue name")));
  rows.push_back(
      in_group(kTrace, text("format", &W::format, "auto, or a row of `headway list formats`")));
  rows.push_back(in_group("trace synth", number("rate_scale", &W::rate_scale, kAboveZero, 1e9,
                                         "arrivals this many times as fast")));
  rows.push_back(in_group(
      "trace synth", integer("limit", &W::limit, 0, 1'000'000'000'000, "requests to take; 0 = all")));
  rows.push_back(
      in_group(kTrace, number("offset", &W::offset_s, 0, 1e12, "seconds of the trace to skip")));
  rows.push_back(in_group(kTrace, integer("hash_block_size", &W::hash_block_size, 0, 1'000'000,
                                          "tokens a hash id names; 0 = the format's own")));
  rows.push_back(in_group(kTrace, choice("failed_rows", &W::failed_rows, {"skip", "error"},
                                         "what to do with requests that failed in the log")));
}

void add_synth(FieldTable<W>& rows) {
  rows.push_back(in_group(kSynth, choice("synth", &W::synth, {"azure-week"},
                                         "a synthetic trace: a model of a cloud's week")));
  rows.push_back(in_group(kSynth, number("days", &W::days, kAboveZero, 3660,
                                         "days that num_prompts arrivals span")));
}

void add_generator(FieldTable<W>& rows) {
  rows.push_back(in_group("synth generator",
                          integer("num_prompts", &W::num_prompts, 1, 1'000'000'000,
                                  "requests to generate (azure-week: 44 million a week unless "
                                  "given)")));
  rows.push_back(in_group(kGenerator, number("request_rate", &W::request_rate, kAboveZero,
                                             kInfinity, "per second; \"inf\" = all at once")));
  rows.push_back(
      in_group(kGenerator, number("burstiness", &W::burstiness, kAboveZero, kInfinity,
                                  "gamma shape of the gaps: 1 = Poisson, \"inf\" = constant")));
  rows.push_back(
      in_group(kGenerator, boolean("rescale_arrivals", &W::rescale_arrivals,
                                   "stretch the arrivals to end exactly at requests / rate")));
  rows.push_back(in_group(kGenerator, length("input_len", &W::input_len, "prompt tokens")));
  rows.push_back(in_group(kGenerator, length("output_len", &W::output_len, "output tokens")));
  rows.push_back(sessions_field());
  rows.push_back(tenants_field());
}

std::string kind_of(const W& options) {
  if (!options.trace.empty()) return kTrace;
  return options.synth.empty() ? kGenerator : kSynth;
}

// A workload is of one kind; keys of another would be silently ignored.
void check_kind(const Value& value, const std::string& kind) {
  for (const FieldRow<W>& field : workload_table()) {
    if (!value.has(field.name) || belongs(field.group, kind)) continue;
    if (field.name == "sessions" && value.json().at("sessions").is_null()) continue;
    const Value member = value.member(field.name);
    if (kind == kTrace) {
      member.fail(field.group == kSynth ? "a synthetic trace's key beside a trace"
                                        : "a generator's key beside a trace",
                  "either \"trace\" or a generator's keys (num_prompts, request_rate ...)");
    }
    if (kind == kSynth) {
      member.fail("a key that does not go with \"synth\"",
                  "num_prompts, days, rate_scale, limit or max_concurrency beside it");
    }
    member.fail("a trace's key without a trace",
                "\"trace\": a path or catalogue name, or a generator's keys only");
  }
}

}  // namespace

const FieldTable<WorkloadOptions>& workload_table() {
  static const FieldTable<W> table = [] {
    FieldTable<W> rows;
    add_trace(rows);
    add_synth(rows);
    rows.push_back(integer("max_concurrency", &W::max_concurrency, 0, 100'000'000,
                           "most requests in flight; 0 = open loop"));
    rows.push_back(integer("samples", &W::samples, 0, kMaxSequences,
                           "answers sampled for each prompt; 0 = one, or as the trace says"));
    rows.push_back(integer("beam_width", &W::beam_width, 0, kMaxSequences,
                           "beams that search for each answer; 0 = none, or as the trace says"));
    add_generator(rows);
    return rows;
  }();
  return table;
}

void read_workload(const Value& value, WorkloadOptions& out) {
  value.require_object();
  const bool traced = value.has("trace");
  const bool synthetic = !traced && value.has("synth");
  out = traced || synthetic ? W{} : generator_defaults(W{});
  read_block(value, workload_table(), out);
  check_kind(value, traced ? kTrace : synthetic ? kSynth : kGenerator);
  if (traced && out.trace.empty()) {
    value.member("trace").fail("an empty text", "a trace's path or catalogue name");
  }
  if (synthetic && out.num_prompts == 0) out.num_prompts = default_synth_requests(out.days);
  if (!traced && !synthetic && !value.has("num_prompts")) {
    value.fail("neither \"trace\" nor \"num_prompts\"",
               "\"trace\": a path or catalogue name, or \"num_prompts\": requests to generate");
  }
}

Json write_workload(const WorkloadOptions& in) {
  const std::string kind = kind_of(in);
  Json object = Json::object();
  for (const FieldRow<W>& field : workload_table()) {
    if (belongs(field.group, kind)) object[field.name] = field.write(in);
  }
  return object;
}

std::vector<FieldDoc> workload_docs(const std::string& path) {
  std::vector<FieldDoc> docs;
  for (const FieldRow<W>& field : workload_table()) {
    if (field.children) {
      for (FieldDoc& doc : field.children(join_path(path, field.name)))
        docs.push_back(std::move(doc));
      continue;
    }
    const bool needed =
        field.name == "trace" || field.name == "synth" || field.name == "num_prompts";
    const std::string initial = needed ? "" : dump(field.write(generator_defaults(W{})));
    docs.push_back({join_path(path, field.name), field.type, field.valid, initial, field.help});
  }
  return docs;
}

std::vector<FieldDoc> length_fields() { return document_block("LENGTH", length_table()); }

}  // namespace headway
