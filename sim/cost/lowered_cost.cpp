#include "sim/cost/lowered_cost.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>

#include "sim/core/errors.h"
#include "sim/core/fetch_ahead.h"
#include "sim/core/in_place.h"
#include "sim/core/wide.h"
#include "sim/cost/sum_index.h"

namespace headway {
namespace {

// Half of what design asks for (0.1 %), since only a few points between knots are looked at.
constexpr double kTolerance = 5e-4;
constexpr std::array<double, 3> kProbes{0.25, 0.5, 0.75};

// Knots of a function of the KV sum, refined by halving between the given ones.
class KnotBuilder {
 public:
  KnotBuilder(const StepPricer& pricer, std::int32_t batch) : pricer_(pricer), batch_(batch) {}

  struct Knot {
    std::int64_t kv_tokens;
    Priced value;
    Coverage after;  // source of the values between this knot and the next
  };

  std::vector<Knot> build(std::int32_t max_length) {
    std::vector<std::int64_t> sums;
    for (double length : pricer_.decode_knots(batch_)) {
      if (length < max_length) sums.push_back(std::llround(length * batch_));
    }
    sums.push_back(batch_);
    sums.push_back(static_cast<std::int64_t>(max_length) * batch_);
    std::sort(sums.begin(), sums.end());
    sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
    add(sums.front(), at(sums.front()));
    for (std::size_t i = 1; i < sums.size(); ++i) refine(sums[i], at(sums[i]));
    return std::move(knots_);
  }

 private:
  Priced at(std::int64_t sum) const {
    return pricer_.decode_attention(batch_, static_cast<double>(sum));
  }
  void add(std::int64_t sum, Priced value) { knots_.push_back({sum, value, value.from}); }

  // Appends what is needed between the last knot and `sum`, then `sum`.
  void refine(std::int64_t sum, Priced value) {
    const std::int64_t first = knots_.back().kv_tokens;
    const double first_us = knots_.back().value.us;
    const double width = static_cast<double>(sum - first);
    Coverage between = value.from;
    bool straight = true;
    if (sum - first > 1) {
      for (double share : kProbes) {
        const double place = static_cast<double>(first) + share * width;
        const Priced probe = pricer_.decode_attention(batch_, place);
        const double line = first_us + share * (value.us - first_us);
        straight = straight && std::abs(probe.us - line) <= kTolerance * probe.us;
        between = probe.from;
      }
    }
    if (!straight) {
      const std::int64_t middle = first + (sum - first) / 2;
      refine(middle, at(middle));
      refine(sum, value);
      return;
    }
    knots_.back().after = between;
    add(sum, value);
  }

  const StepPricer& pricer_;
  std::int32_t batch_;
  std::vector<Knot> knots_;
};

void add_launches(const CudaGraphs& graphs, std::int32_t rows, double kernels, StepCost& cost) {
  const double us = graphs.exposed_us(rows, kernels, cost.gpu_us);
  if (us > 0) add_cost(cost, OpClass::kOther, us, Coverage::kRoofline);
}

// Of a buffer that is written anew: filling it with zeros first takes as long.
template <typename T>
void have_room(std::vector<T>& buffer, std::size_t n) {
  if (buffer.size() < n) buffer.resize(n);
}

// us[k] = fixed + (start + slope * (first + k * each)).
HEADWAY_WIDE void fill_line(double fixed, double start, double slope, double first, double each,
                            double* us, std::int32_t n) {
  for (std::int32_t k = 0; k < n; ++k) us[k] = fixed + (start + slope * (first + k * each));
}

}  // namespace

struct LoweredCost::Row {
  std::once_flag once;
  std::atomic<bool> ready = false;
  struct Piece {
    std::int64_t sum;  // where it begins
    double us, slope;
    Coverage at, after;
  };
  std::vector<Piece> pieces;  // ascending; the last one only ends the one before it
  std::optional<SumIndex> index;

  // The one that `sum` lies in. REQUIRES: it lies in one.
  const Piece& piece(std::int64_t sum) const {
    return *index->last_up_to(pieces.data(), sum, [](const Piece& p) { return p.sum; });
  }
};

LoweredCost::LoweredCost(std::unique_ptr<const StepPricer> pricer, LoweringLimits limits,
                         CudaGraphs graphs)
    : pricer_(std::move(pricer)), limits_(limits), graphs_(graphs), kernels_(pricer_->kernels()) {
  SIM_CHECK(limits.tokens >= 1 && limits.sequences >= 1 && limits.kv_length >= 1);
  linear_.reserve(static_cast<std::size_t>(limits.tokens) + 1);
  for (std::int32_t t = 0; t <= limits.tokens; ++t) linear_.push_back(pricer_->linear(t));
  for (std::int32_t s = 0; s <= limits.sequences; ++s) lm_head_.push_back(pricer_->lm_head(s));
  if (limits.ranks > 1) {
    constexpr std::int32_t kMostRows = 65536;
    const std::int32_t rows = std::min(kMostRows, limits.ranks * limits.tokens);
    for (std::int32_t t = 0; t <= rows; ++t) experts_.push_back(pricer_->experts(t));
  }
  for (std::int32_t s = 0; s <= limits.sequences; ++s) {
    decode_fixed_.push_back(pricer_->decode_fixed(s));
  }
  // Whatever else a step has adds to its linear layers. (A profile may say that fewer rows take longer.)
  least_us_ = linear_[1].gpu_us;
  for (std::int32_t t = 2; t <= graphs_.padded(limits.tokens); ++t) {
    least_us_ = std::min(least_us_, linear(t).gpu_us);
  }
  rows_ = std::make_unique<Row[]>(static_cast<std::size_t>(limits.sequences) + 1);
  for (std::int32_t n = 0; n <= limits.sequences; ++n) {
    skew_.push_back(n == 0 ? 0.0 : pricer_->decode_skew(n));
    StepShape decodes;
    decodes.tokens = decodes.sampled_sequences = decodes.decode_sequences = n;
    decodes_.push_back(make_fixed_part(decodes));
  }
}

LoweredCost::~LoweredCost() = default;

const LoweredCost::Row& LoweredCost::row(std::int32_t batch) const {
  Row& row = rows_[static_cast<std::size_t>(batch)];
  if (row.ready.load(std::memory_order_acquire)) return row;
  std::call_once(row.once, [&] {
    const auto knots = KnotBuilder(*pricer_, batch).build(limits_.kv_length);
    std::vector<std::int64_t> sums;
    for (std::size_t i = 0; i < knots.size(); ++i) {
      const auto& knot = knots[i];
      double slope = 0;
      if (i + 1 < knots.size()) {
        slope = (knots[i + 1].value.us - knot.value.us) /
                static_cast<double>(knots[i + 1].kv_tokens - knot.kv_tokens);
      }
      sums.push_back(knot.kv_tokens);
      row.pieces.push_back({knot.kv_tokens, knot.value.us, slope, knot.value.from, knot.after});
    }
    row.index.emplace(sums);
    row.ready.store(true, std::memory_order_release);
  });
  return row;
}

DecodeSegment LoweredCost::decode_attention_segment(std::int32_t batch,
                                                    std::int64_t kv_tokens) const {
  const std::int64_t longest = static_cast<std::int64_t>(limits_.kv_length) * batch;
  if (batch > limits_.sequences || kv_tokens >= longest || kv_tokens < batch) {
    const double sum = static_cast<double>(kv_tokens);
    const Priced here = pricer_->decode_attention(batch, sum);
    const Priced next = pricer_->decode_attention(batch, sum + 1);
    return {here.us, next.us - here.us, kv_tokens + 1, here.from, next.from};
  }
  const Row::Piece& piece = row(batch).piece(kv_tokens);
  const std::int64_t into = kv_tokens - piece.sum;
  return {piece.us + piece.slope * static_cast<double>(into), piece.slope, (&piece + 1)->sum,
          into == 0 ? piece.at : piece.after, piece.after};
}

double LoweredCost::decode_skew(std::int32_t batch) const {
  return batch <= limits_.sequences ? skew_[static_cast<std::size_t>(batch)]
                                    : pricer_->decode_skew(batch);
}

Priced LoweredCost::decode_at(std::int32_t batch, std::int64_t kv_tokens) const {
  const DecodeSegment segment = decode_attention_segment(batch, kv_tokens);
  return {segment.us, segment.from};
}

Priced LoweredCost::decode(const StepShape& shape) const {
  const std::int32_t batch = shape.decode_sequences;
  if (batch == 0) return {0, Coverage::kMeasured};
  const Priced mean = decode_at(batch, shape.decode_kv_tokens);
  const double skew = decode_skew(batch);
  const std::int64_t longest = std::int64_t{shape.decode_kv_max} * batch;
  if (skew == 0 || longest <= shape.decode_kv_tokens) return mean;
  const Priced all = decode_at(batch, longest);
  return {mean.us + skew * (all.us - mean.us), weaker(mean.from, all.from)};
}

StepCost LoweredCost::fixed_part(const StepShape& shape) const {
  const std::int32_t n = shape.tokens;
  const bool only_decodes = n == shape.decode_sequences && n == shape.sampled_sequences &&
                            shape.padded_tokens == 0 && shape.group_tokens == 0;
  if (only_decodes && n <= limits_.sequences) return decodes_[static_cast<std::size_t>(n)];
  return make_fixed_part(shape);
}

StepCost LoweredCost::linear(std::int32_t rows) const {
  return rows <= limits_.tokens ? linear_[static_cast<std::size_t>(rows)] : pricer_->linear(rows);
}

StepCost LoweredCost::make_fixed_part(const StepShape& shape) const {
  const std::int32_t rows =
      shape.padded_tokens > 0 ? shape.padded_tokens : graphs_.padded(shape.tokens);
  StepCost cost = linear(rows);
  const std::int32_t sampled = shape.sampled_sequences;
  if (sampled <= limits_.sequences) {
    add_cost(cost, lm_head_[static_cast<std::size_t>(sampled)]);
  } else {
    add_cost(cost, pricer_->lm_head(sampled));
  }
  if (!experts_.empty()) add_cost(cost, experts(rows, shape.group_tokens));
  const std::int32_t decoding = shape.decode_sequences;
  if (decoding <= limits_.sequences) {
    add_cost(cost, decode_fixed_[static_cast<std::size_t>(decoding)]);
  } else {
    add_cost(cost, pricer_->decode_fixed(decoding));
  }
  add_launches(graphs_, rows, kernels_, cost);
  return cost;
}

// A step of its own (a drafter's, a question asked without a group) has the other ranks idle.
StepCost LoweredCost::experts(std::int32_t rows, std::int32_t group_rows) const {
  const auto i = static_cast<std::size_t>(group_rows > 0 ? group_rows : rows);
  return i < experts_.size() ? experts_[i] : pricer_->experts(static_cast<std::int32_t>(i));
}

StepCost LoweredCost::price(const StepShape& shape) const {
  // Of the large tables the one that no two steps in a row read in the same place.
  if (!shape.prefill.empty() && shape.tokens <= limits_.tokens) {
    fetch_ahead(linear_[static_cast<std::size_t>(shape.tokens)]);
  }
  const Priced decode = this->decode(shape);
  StepCost cost = fixed_part(shape);
  if (shape.prefill.empty()) {
    add_cost(cost, OpClass::kDecodeAttention, decode.us, decode.from);
  } else {
    pricer_->add_prefill(shape, decode, cost);
  }
  return cost;
}

// fixed_us + decode_at() for sums that grow by the batch with every step: a loop per piece.
void LoweredCost::decode_run(std::int32_t batch, std::int64_t kv_tokens, std::size_t steps,
                             double fixed_us, double* us, std::uint8_t* from) const {
  const std::int64_t end = static_cast<std::int64_t>(limits_.kv_length) * batch;
  const Row* row = batch <= limits_.sequences && kv_tokens >= batch ? &this->row(batch) : nullptr;
  std::size_t i = 0;
  while (i < steps) {
    const std::int64_t sum = kv_tokens + static_cast<std::int64_t>(i) * batch;
    if (row == nullptr || sum >= end) {
      const Priced one = decode_at(batch, sum);
      us[i] = fixed_us + one.us;
      from[i++] = static_cast<std::uint8_t>(one.from);
      continue;
    }
    const Row::Piece& piece = row->piece(sum);
    const std::int64_t into = sum - piece.sum;
    const std::int64_t left = ((&piece + 1)->sum - sum + batch - 1) / batch;
    const auto here = static_cast<std::int32_t>(
        std::min<std::int64_t>(left, static_cast<std::int64_t>(steps - i)));
    fill_line(fixed_us, piece.us, piece.slope, static_cast<double>(into), batch, us + i, here);
    std::fill_n(from + i, here, static_cast<std::uint8_t>(piece.after));
    if (into == 0) from[i] = static_cast<std::uint8_t>(piece.at);
    i += static_cast<std::size_t>(here);
  }
}

void LoweredCost::price_run(const StepShape& first, std::int64_t steps, DecodeRunCost& out) const {
  make_in_place(out.fixed, [&] { return fixed_part(first); });
  out.changing = OpClass::kDecodeAttention;
  const auto n = static_cast<std::size_t>(steps);
  have_room(out.gpu_us, n);
  have_room(out.from, n);
  const std::int32_t batch = first.decode_sequences;
  const double skew = decode_skew(batch);
  const std::int64_t longest = std::int64_t{first.decode_kv_max} * batch;
  const bool skewed = skew != 0 && longest > first.decode_kv_tokens;  // stays so: both grow alike
  const double fixed_us = skewed ? 0.0 : out.fixed.gpu_us;
  decode_run(batch, first.decode_kv_tokens, n, fixed_us, out.gpu_us.data(), out.from.data());
  if (!skewed) return;
  have_room(out.all_us, n);
  have_room(out.all_from, n);
  decode_run(batch, longest, n, 0.0, out.all_us.data(), out.all_from.data());
  for (std::size_t i = 0; i < n; ++i) {
    const double mean_us = out.gpu_us[i];
    out.gpu_us[i] = out.fixed.gpu_us + (mean_us + skew * (out.all_us[i] - mean_us));
    out.from[i] = std::max(out.from[i], out.all_from[i]);  // the weaker
  }
}

// A term for every piece, the longest sequences' pieces being others than the mean's.
DecodeRunSum LoweredCost::sum_run(const StepShape& first, std::int64_t steps) const {
  DecodeRunSum sum{.fixed = fixed_part(first)};
  const std::int32_t batch = first.decode_sequences;
  const double skew = decode_skew(batch);
  std::int64_t mean_kv = first.decode_kv_tokens, longest_kv = std::int64_t{first.decode_kv_max} * batch;
  const bool skewed = skew != 0 && longest_kv > mean_kv;  // stays so: both grow alike
  for (std::int64_t i = 0; i < steps;) {
    const DecodeSegment mean = decode_attention_segment(batch, mean_kv);
    std::int64_t here = std::min(steps - i, mean.steps(mean_kv, batch));
    double us = mean.us, us_per_token = mean.us_per_token;
    Coverage from = mean.from;
    if (skewed) {
      const DecodeSegment longest = decode_attention_segment(batch, longest_kv);
      here = std::min(here, longest.steps(longest_kv, batch));
      us += skew * (longest.us - us);
      us_per_token += skew * (longest.us_per_token - us_per_token);
      from = weaker(from, longest.from);
    }
    const auto n = static_cast<double>(here);
    sum.changing_us[static_cast<std::size_t>(from)] += n * (us + us_per_token * batch * (n - 1) / 2);
    i += here;
    mean_kv += here * batch;
    longest_kv += here * batch;
  }
  return sum;
}

std::string LoweredCost::describe() const { return pricer_->describe(); }

StepCost price_unlowered(const StepPricer& pricer, const CudaGraphs& graphs,
                         const StepShape& shape) {
  const std::int32_t rows =
      shape.padded_tokens > 0 ? shape.padded_tokens : graphs.padded(shape.tokens);
  StepCost cost = pricer.linear(rows);
  add_cost(cost, pricer.experts(shape.group_tokens > 0 ? shape.group_tokens : rows));
  add_cost(cost, pricer.lm_head(shape.sampled_sequences));
  add_cost(cost, pricer.decode_fixed(shape.decode_sequences));
  add_launches(graphs, rows, pricer.kernels(), cost);
  Priced decode{0, Coverage::kMeasured};
  if (shape.decode_sequences > 0) {
    const std::int32_t batch = shape.decode_sequences;
    decode = pricer.decode_attention(batch, static_cast<double>(shape.decode_kv_tokens));
    const Priced all =
        pricer.decode_attention(batch, static_cast<double>(shape.decode_kv_max) * batch);
    decode.us += pricer.decode_skew(batch) * std::max(0.0, all.us - decode.us);
  }
  if (shape.prefill.empty()) {
    add_cost(cost, OpClass::kDecodeAttention, decode.us, decode.from);
  } else {
    pricer.add_prefill_unlowered(shape, decode, cost);
  }
  return cost;
}

}  // namespace headway
