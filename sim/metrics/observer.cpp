#include "sim/metrics/observer.h"

#include "sim/metrics/decode_run.h"

namespace headway {

StepRecord DecodeRunRecord::at(std::int64_t step) const {
  if (step == 0) return first;
  const auto i = static_cast<std::size_t>(step);
  StepRecord record = first;
  record.step += static_cast<std::uint64_t>(step);
  record.start = ends[i - 1];
  record.duration = ends[i] - ends[i - 1];
  record.gpu = record.duration - record.host;
  record.running -= given_back.running;
  record.kv_blocks += blocks_taken_by(step) - given_back.blocks;
  record.kv_tokens_reserved = record.kv_blocks * block_size;
  record.kv_tokens_stored += step * record.batch - given_back.tokens;
  record.by_class_us = fixed_class_us;
  record.coverage_us = fixed_coverage_us;
  const double changing_us = gpu_us[i] - fixed_us;
  record.by_class_us[changing_class] += changing_us;
  record.coverage_us[from[i]] += changing_us;
  return record;
}

void DecodeRunRecord::lay_out(DecodeRunBuffers& buffers) {
  lay_out_ends(buffers);
  prices->price(*this, buffers);
}

void DecodeRunRecord::lay_out_ends(DecodeRunBuffers& buffers) {
  const std::size_t n = gaps_ns.size();
  if (buffers.ends.size() < n) buffers.ends.resize(n);
  SimTime end = first_end();
  const std::int32_t* const gaps = gaps_ns.data();
  SimTime* const out = buffers.ends.data();
  for (std::size_t i = 0; i < n; ++i) out[i] = end += SimTime::from_ns(gaps[i]);
  ends = {out, n};
}

void Observer::on_decode_run(const DecodeRunRecord& run) {
  for (std::int64_t step = 0; step < run.steps(); ++step) {
    const StepRecord record = run.at(step);
    const SimTime end = record.start + record.duration;
    if (step > 0) on_token_gaps(record.duration, record.batch, end);
    on_tokens(record.batch, end);
    on_step(record);
  }
}

}  // namespace headway
