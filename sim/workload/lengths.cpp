#include "sim/workload/lengths.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/random.h"
#include "sim/core/suggest.h"
#include "sim/workload/trace_fields.h"
#include "sim/workload/trace_source.h"

namespace headway {
namespace {

[[noreturn]] void fail(const LengthContext& context, const std::string& key,
                       const std::string& found, const std::string& expected) {
  throw InputError({"", context.place + (key.empty() ? "" : "." + key), found, expected});
}

// Draws by a function of the stream; rounds and clamps.
class FormulaSampler final : public LengthSampler {
 public:
  using Formula = std::function<double(RandomStream&)>;
  FormulaSampler(const LengthOptions& options, const LengthContext& context, Formula formula)
      : low_(options.min),
        high_(options.max),
        stream_(context.seed, context.stream),
        formula_(std::move(formula)) {}
  std::int32_t draw() override {
    const double value = std::round(formula_(stream_));
    return static_cast<std::int32_t>(
        std::clamp(value, static_cast<double>(low_), static_cast<double>(high_)));
  }

 private:
  std::int64_t low_, high_;
  RandomStream stream_;
  Formula formula_;
};

class MixtureSampler final : public LengthSampler {
 public:
  MixtureSampler(std::vector<std::unique_ptr<LengthSampler>> parts, std::vector<double> weights,
                 const LengthContext& context)
      : parts_(std::move(parts)),
        cumulative_(std::move(weights)),
        stream_(context.seed, context.stream + ".part") {
    std::partial_sum(cumulative_.begin(), cumulative_.end(), cumulative_.begin());
  }
  std::int32_t draw() override {
    const double at = stream_.uniform() * cumulative_.back();
    const auto part = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at);
    return parts_[static_cast<std::size_t>(part - cumulative_.begin())]->draw();
  }

 private:
  std::vector<std::unique_ptr<LengthSampler>> parts_;
  std::vector<double> cumulative_;
  RandomStream stream_;
};

std::vector<std::int32_t> read_column(const LengthOptions& options, const LengthContext& context) {
  if (options.file.empty()) fail(context, "file", "nothing", "a trace or a file of lengths");
  WorkloadOptions trace;
  trace.trace = options.file;
  std::vector<std::string> notes;
  const auto source = open_trace(find_trace(options.file, context.base_folder), trace, notes);
  std::vector<std::int32_t> lengths;
  while (const auto r = source->next()) {
    lengths.push_back(context.column == LengthColumn::kInput ? r->prompt_tokens : r->output_tokens);
  }
  return lengths;
}

std::unique_ptr<LengthSampler> formula(const LengthOptions& options, const LengthContext& context,
                                       FormulaSampler::Formula f) {
  return std::make_unique<FormulaSampler>(options, context, std::move(f));
}

std::unique_ptr<LengthSampler> make_fixed(const LengthOptions& o, const LengthContext& c) {
  if (!(o.value >= 1) || o.value > static_cast<double>(kMaxRowTokens)) {
    fail(c, "", std::to_string(o.value), "from 1 to " + std::to_string(kMaxRowTokens) + " tokens");
  }
  return formula(o, c, [value = o.value](RandomStream&) { return value; });
}

std::unique_ptr<LengthSampler> make_uniform(const LengthOptions& o, const LengthContext& c) {
  if (!(o.low >= 0 && o.low <= o.high && o.high <= static_cast<double>(kMaxRowTokens))) {
    fail(c, "low, high", std::to_string(o.low) + ", " + std::to_string(o.high),
         "0 <= low <= high <= " + std::to_string(kMaxRowTokens));
  }
  const auto low = static_cast<std::int64_t>(std::ceil(o.low));
  const auto high = std::max(low, static_cast<std::int64_t>(std::floor(o.high)));
  return formula(o, c, [low, high](RandomStream& stream) {
    return static_cast<double>(stream.uniform_int(low, high));
  });
}

void check_moments(const LengthOptions& o, const LengthContext& c) {
  if (!(o.mean > 0 && o.mean <= static_cast<double>(kMaxRowTokens))) {
    fail(c, "mean", std::to_string(o.mean), "a number of tokens above 0");
  }
  if (!(o.stddev >= 0) || !std::isfinite(o.stddev)) {
    fail(c, "stddev", std::to_string(o.stddev), "a number of tokens, 0 or more");
  }
}

std::unique_ptr<LengthSampler> make_normal(const LengthOptions& o, const LengthContext& c) {
  check_moments(o, c);
  return formula(o, c, [mean = o.mean, stddev = o.stddev](RandomStream& stream) {
    return stddev > 0 ? stream.normal(mean, stddev) : mean;
  });
}

std::unique_ptr<LengthSampler> make_lognormal(const LengthOptions& o, const LengthContext& c) {
  check_moments(o, c);
  const double variance = std::log1p(o.stddev * o.stddev / (o.mean * o.mean));
  const double mu = std::log(o.mean) - variance / 2;
  return formula(o, c, [mu, sigma = std::sqrt(variance)](RandomStream& stream) {
    return sigma > 0 ? stream.lognormal(mu, sigma) : std::exp(mu);
  });
}

std::unique_ptr<LengthSampler> make_mixture(const LengthOptions& o, const LengthContext& c) {
  if (o.parts.empty() || o.parts.size() != o.weights.size()) {
    fail(c, "parts, weights",
         std::to_string(o.parts.size()) + " parts and " + std::to_string(o.weights.size()) +
             " weights",
         "as many of each, at least one");
  }
  double sum = 0;
  for (const double weight : o.weights) {
    if (!(weight >= 0) || !std::isfinite(weight)) {
      fail(c, "weights", std::to_string(weight), "a number, 0 or more");
    }
    sum += weight;
  }
  if (!(sum > 0)) fail(c, "weights", "a sum of 0", "a sum above 0");
  std::vector<std::unique_ptr<LengthSampler>> parts;
  for (std::size_t i = 0; i < o.parts.size(); ++i) {
    LengthContext part = c;
    part.place.append(".parts[").append(std::to_string(i)).append("]");
    part.stream.append(".").append(std::to_string(i));
    parts.push_back(make_length_sampler(o.parts[i], part));
  }
  return std::make_unique<MixtureSampler>(std::move(parts), o.weights, c);
}

// Rows are drawn from the stream of the file, not of the column: input and output lengths from one
// file are drawn row by row and keep their correlation.
std::unique_ptr<LengthSampler> make_empirical(const LengthOptions& o, const LengthContext& c) {
  auto lengths = read_column(o, c);
  LengthContext row = c;
  row.stream = "empirical:" + o.file;
  return formula(o, row, [lengths = std::move(lengths)](RandomStream& stream) {
    const auto last = static_cast<std::int64_t>(lengths.size()) - 1;
    return static_cast<double>(lengths[static_cast<std::size_t>(stream.uniform_int(0, last))]);
  });
}

struct Distribution {
  const char* name;
  std::unique_ptr<LengthSampler> (*make)(const LengthOptions&, const LengthContext&);
};
constexpr Distribution kDistributions[] = {
    {"fixed", make_fixed},         {"uniform", make_uniform}, {"normal", make_normal},
    {"lognormal", make_lognormal}, {"mixture", make_mixture}, {"empirical", make_empirical},
};

}  // namespace

std::unique_ptr<LengthSampler> make_length_sampler(const LengthOptions& options,
                                                   const LengthContext& context) {
  if (options.min < 1 || options.max < options.min || options.max > kMaxRowTokens) {
    fail(context, "min, max", std::to_string(options.min) + ", " + std::to_string(options.max),
         "1 <= min <= max <= " + std::to_string(kMaxRowTokens));
  }
  std::vector<std::string> names;
  for (const Distribution& row : kDistributions) {
    if (options.distribution == row.name) return row.make(options, context);
    names.emplace_back(row.name);
  }
  fail(context, "distribution", "\"" + options.distribution + "\"",
       one_of(options.distribution, names));
}

}  // namespace headway
