#include "sim/cost/prefill_attention.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/operator_work.h"

namespace headway {
namespace {

constexpr std::int32_t kDense = 16384;
constexpr std::int32_t kStride = 16;

}  // namespace

PrefillAttention::PrefillAttention(SitePricer prefill, SitePricer decode, std::int32_t lengths,
                                   std::int32_t window)
    : prefill_(std::move(prefill)), decode_(std::move(decode)), window_(window) {
  floor_us_ = prefill_.at(1, 1).us;
  decode_floor_us_ = decode_.at(1, 1).us;
  const std::int32_t dense = std::min(lengths, kDense);
  dense_.reserve(static_cast<std::size_t>(std::max(dense, 0)) + 1);
  for (std::int32_t length = 0; length <= dense; ++length) dense_.push_back(direct(length));
  for (std::int32_t length = kDense; length < lengths + kStride && lengths > kDense;
       length += kStride) {
    sparse_.push_back(direct(length));
  }
}

PrefillAttention::Entry PrefillAttention::direct(double length) const {
  if (length <= 0) return {floor_us_, 0, Coverage::kMeasured};
  const Priced prompt = prefill_.at(1, length);
  return {prompt.us, std::max(0.0, decode_.at(1, length).us - decode_floor_us_), prompt.from};
}

PrefillAttention::Entry PrefillAttention::tabulated(double length) const {
  const auto between = [](const std::vector<Entry>& table, double place) {
    const std::size_t i = static_cast<std::size_t>(place);
    const double share = place - static_cast<double>(i);
    const Entry& low = table[i];
    if (share == 0) return low;
    const Entry& high = table[i + 1];
    return Entry{low.prompt_us + share * (high.prompt_us - low.prompt_us),
                 low.one_query_us + share * (high.one_query_us - low.one_query_us),
                 weaker(weaker(low.from, high.from), Coverage::kInterpolated)};
  };
  if (length <= static_cast<double>(dense_.size()) - 1) return between(dense_, length);
  const double place = (length - kDense) / kStride;
  if (place >= 0 && place < static_cast<double>(sparse_.size()) - 1) return between(sparse_, place);
  return direct(length);
}

template <typename Lookup>
Priced PrefillAttention::together(const std::vector<PrefillChunk>& chunks,
                                  const Lookup& lookup) const {
  double sum = 0, squares = 0;
  for (const PrefillChunk& chunk : chunks) {
    const double c = chunk.new_tokens;
    sum += c;
    squares += c * c;
  }
  const double batch = sum * sum / squares, length = squares / sum;
  const Priced measured = prefill_.at(batch, length);
  const double apart = batch * (lookup(length).prompt_us - floor_us_);
  if (apart <= 0) return {1, measured.from};
  return {std::max(0.0, measured.us - floor_us_) / apart, measured.from};
}

template <typename Lookup>
Priced PrefillAttention::price(const std::vector<PrefillChunk>& chunks,
                               const Lookup& lookup) const {
  Priced sum{0, Coverage::kMeasured};
  for (const PrefillChunk& chunk : chunks) {
    const double context = chunk.context_tokens, fresh = chunk.new_tokens;
    const Entry whole = lookup(context + fresh);
    sum.from = weaker(sum.from, whole.from);
    const bool cut = window_ > 0 && context + fresh > window_;
    const double share =
        cut ? causal_pairs(fresh, context, window_) / causal_pairs(fresh, context, 0) : 1;
    if (chunk.context_tokens == 0) {
      sum.us += share * (whole.prompt_us - floor_us_);
      continue;
    }
    const Entry before = lookup(context);
    const double read_us =
        cut ? lookup(std::min(context, window_) + fresh).one_query_us : whole.one_query_us;
    sum.us += std::max(share * (whole.prompt_us - before.prompt_us), read_us);
    sum.from = weaker(sum.from, before.from);
  }
  if (chunks.size() > 1) {
    const Priced scale = together(chunks, lookup);
    sum.us *= scale.us;
    sum.from = weaker(sum.from, scale.from);
  }
  sum.us = std::max(0.0, sum.us + floor_us_);
  return sum;
}

Priced PrefillAttention::call(const std::vector<PrefillChunk>& chunks) const {
  return price(chunks, [this](double length) { return tabulated(length); });
}

Priced PrefillAttention::call_untabulated(const std::vector<PrefillChunk>& chunks) const {
  return price(chunks, [this](double length) { return direct(length); });
}

}  // namespace headway
