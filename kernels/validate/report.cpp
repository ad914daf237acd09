#include "kernels/validate/report.h"

#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/cli/console.h"
#include "sim/core/build_info.h"

namespace headway::kernels {
namespace {

using Json = nlohmann::ordered_json;

// printf's text. (This program goes to machines that have no libfmt.)
__attribute__((format(printf, 1, 2))) std::string text_of(const char* form, ...) {
  char text[512];
  va_list values;
  va_start(values, form);
  std::vsnprintf(text, sizeof text, form, values);
  va_end(values);
  return text;
}

std::string figure(double value) { return text_of(value >= 1000 ? "%.0f" : "%.4g", value); }
std::string percent(double share) { return text_of("%+.1f %%", 100 * share); }

std::string word_of(const Validation& v, const RegimeResult& r, const Comparison& c) {
  if (r.busy < v.least_busy) return "not judged";
  return c.within() ? "within" : "beyond";
}

std::string table(const Validation& v) {
  std::vector<std::vector<std::string>> rows{{"regime", "load", "figure", "measured", "predicted",
                                              "error", "noise", "allowed", "verdict"}};
  for (const RegimeResult& r : v.regimes) {
    for (std::size_t f = 0; f < kFigures; ++f) {
      const Comparison& c = r.figures[f];
      rows.push_back({f == 0 ? r.regime.name : "",
                      f == 0 ? text_of("%.0f %%", 100 * r.regime.load) : "", figure_rows()[f].name,
                      figure(c.measured), figure(c.predicted), percent(c.error),
                      text_of("%.1f %%", 100 * c.noise), text_of("%.0f %%", 100 * c.allowed),
                      word_of(v, r, c)});
    }
  }
  return aligned(rows);
}

std::string runs_text(const Validation& v) {
  std::string text;
  for (const RegimeResult& r : v.regimes) {
    text += text_of("%s%s %.2f req/s, %lld requests x %d", text.empty() ? "" : "; ", r.regime.name,
                    r.rate, static_cast<long long>(r.requests), r.runs);
    if (r.disturbed > 0) text += text_of(" (%d disturbed)", r.disturbed);
  }
  return text;
}

std::string closure_text(const char* name, const StepClosure& c) {
  if (c.steps == 0) return "";
  const double n = static_cast<double>(c.steps);
  return text_of("  %lld steps %s: %.1f us each, priced %.1f us: ratio %.3f\n",
                 static_cast<long long>(c.steps), name, c.measured_us / n, c.priced_us / n,
                 c.ratio());
}

Json closure_json(const StepClosure& c) {
  return {{"steps", c.steps},
          {"measured_us", c.measured_us},
          {"priced_us", c.priced_us},
          {"ratio", c.ratio()}};
}

Json regime_json(const Validation& v, const RegimeResult& r) {
  Json json = {{"regime", r.regime.name},
               {"load", r.regime.load},
               {"below_knee", r.regime.below_knee},
               {"request_rate", r.rate},
               {"requests", r.requests},
               {"runs", r.runs},
               {"disturbed_runs", r.disturbed},
               {"cpu_share", r.busy},
               {"judged", r.busy >= v.least_busy}};
  for (int f = 0; f < kFigures; ++f) {
    const Comparison& c = r.figures[static_cast<std::size_t>(f)];
    json["figures"][figure_rows()[static_cast<std::size_t>(f)].key] = {
        {"measured", c.measured}, {"predicted", c.predicted}, {"error", c.error},
        {"noise", c.noise},       {"allowed", c.allowed},     {"within", c.within()}};
  }
  return json;
}

}  // namespace

std::string verdict_of(const Validation& v) {
  if (v.tokens.different > 0) return "wrong tokens";
  if (!v.unjudged().empty()) return "not judged: something else used the processor";
  return v.accurate() ? "within" : "not within";
}

std::string report_text(const Validation& v) {
  std::string text = "Headway validation: " + v.scenario.model_name + " under " +
                     v.scenario.engine.scheduler + " on " + v.device + "\n";
  for (const std::string& note : v.notes) text += "  note: " + note + "\n";
  text += text_of("\nCapacity, all requests at once: %.2f req/s, %.0f output tok/s\n", v.capacity,
                  v.capacity_tokens);
  text += "Runs: " + runs_text(v) + "\n";
  text += text_of(
      "Host terms measured: %.1f us a step, %.2f us a sequence and step, %.1f us a request\n",
      v.host.per_step_us, v.host.per_sequence_us, v.host.per_request_us);
  text += text_of("Profile: %zu points between the runs, spread of one call %.1f %%\n",
                  v.profile_points, 100 * v.profile.run_sigma);
  text += closure_text("without prompts", v.decode_steps);
  text += closure_text("with prompts", v.prefill_steps);
  if (v.speculates) {
    text +=
        text_of("Speculation: %llu of %llu drafted tokens accepted, %.2f tokens a verification\n",
                static_cast<unsigned long long>(v.speculation.accepted_tokens),
                static_cast<unsigned long long>(v.speculation.drafted_tokens),
                v.speculation.mean_acceptance_length());
  }
  text += "\n" + table(v) + "\n";
  const TokenCheck& t = v.tokens;
  text += text_of(
      "Tokens: %lld of %lld answers (%lld tokens) compared with one request alone: %lld differ",
      static_cast<long long>(t.answers), static_cast<long long>(t.all_answers),
      static_cast<long long>(t.tokens), static_cast<long long>(t.different));
  if (t.near_ties > 0) text += text_of(", %lld ties", static_cast<long long>(t.near_ties));
  text += " (" + t.rule + ")\n";
  if (!t.first_difference.empty()) text += "  first: " + t.first_difference + "\n";
  text += "Verdict below the knee (TPOT, E2EL, throughput): " + verdict_of(v) +
          text_of(". Took %.0f s.\n", v.wall_s);
  return text;
}

std::string report_json(const Validation& v) {
  Json json = {{"schema", "headway-validation/1"},
               {"version", program_version()},
               {"device", v.device},
               {"model", v.scenario.model_name},
               {"scheduler", v.scenario.engine.scheduler},
               {"notes", v.notes},
               {"capacity_req_per_s", v.capacity},
               {"capacity_tokens_per_s", v.capacity_tokens},
               {"host",
                {{"per_step_us", v.host.per_step_us},
                 {"per_sequence_us", v.host.per_sequence_us},
                 {"per_request_us", v.host.per_request_us}}},
               {"profile", {{"points", v.profile_points}, {"run_sigma", v.profile.run_sigma}}},
               {"closure",
                {{"decode_steps", closure_json(v.decode_steps)},
                 {"steps_with_prompts", closure_json(v.prefill_steps)}}}};
  for (const RegimeResult& r : v.regimes) json["regimes"].push_back(regime_json(v, r));
  if (v.speculates) {
    json["speculation"] = {{"drafted_tokens", v.speculation.drafted_tokens},
                           {"accepted_tokens", v.speculation.accepted_tokens},
                           {"per_position", v.speculation.per_position()}};
  }
  json["tokens"] = {{"answers", v.tokens.all_answers}, {"compared", v.tokens.answers},
                    {"tokens", v.tokens.tokens},       {"different", v.tokens.different},
                    {"near_ties", v.tokens.near_ties}, {"rule", v.tokens.rule}};
  json["verdict"] = verdict_of(v);
  json["wall_s"] = v.wall_s;
  return json.dump(2) + "\n";
}

}  // namespace headway::kernels
