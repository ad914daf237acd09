#include "sim/report/csv_observers.h"

#include <utility>

namespace headway {
namespace {

constexpr int kSeconds = 9, kMilliseconds = 6, kMicroseconds = 3;

std::string requests_header(const RequestsCsvColumns& columns) {
  std::string header(kRequestsCsvHeader);
  if (columns.between_replicas) header += kBetweenReplicasCsvHeader;
  if (columns.accounts) header += kAccountsCsvHeader;
  return header;
}

void write_latencies(CsvWriter& csv, const RequestRecord& r) {
  for (std::size_t i = 0; i < kUsualParts; ++i) csv.decimal(r.split[i].ns(), kMilliseconds);
  csv.decimal(ttft_of(r).ns(), kMilliseconds);
  if (const auto tpot = tpot_ms_of(r)) {
    csv.number(*tpot, kMilliseconds);
  } else {
    csv.empty();
  }
  csv.decimal(e2el_of(r).ns(), kMilliseconds);
  csv.decimal(r.max_itl.ns(), kMilliseconds);
}

}  // namespace

RequestsCsv::RequestsCsv(const std::string& path, SloLimits slo, RequestsCsvColumns columns,
                         std::vector<SloClass> classes)
    : csv_(path, requests_header(columns)),
      slo_(slo),
      classes_(std::move(classes)),
      columns_(columns) {}

void RequestsCsv::on_finish(const RequestRecord& r) {
  csv_.integer(static_cast<std::int64_t>(r.id));
  if (r.session_id >= 0) {
    csv_.integer(r.session_id);
  } else {
    csv_.empty();
  }
  csv_.decimal(r.arrival.ns(), kSeconds);
  if (r.failed) {
    csv_.empty();
    csv_.empty();
  } else {
    csv_.decimal(r.scheduled.ns(), kSeconds);
    csv_.decimal(r.first_token.ns(), kSeconds);
  }
  csv_.decimal(r.finish.ns(), kSeconds);
  csv_.integer(r.prompt_tokens);
  csv_.integer(r.output_tokens);
  csv_.integer(r.cached_tokens);
  if (r.failed) {
    for (std::size_t i = 0; i < kUsualParts + 4; ++i) csv_.empty();
  } else {
    write_latencies(csv_, r);
  }
  csv_.integer(r.preemptions);
  if (r.replica == kNoReplica) {
    csv_.empty();
  } else {
    csv_.integer(r.replica);
  }
  csv_.text(r.finish_reason);
  if (const SloLimits& limits = limits_of(r, slo_, classes_); limits.any()) {
    csv_.text(judge_slo(limits, r).all() ? "true" : "false");
  } else {
    csv_.empty();
  }
  for (std::size_t i = kUsualParts; columns_.between_replicas && i < kLatencyParts; ++i) {
    if (r.failed) {
      csv_.empty();
    } else {
      csv_.decimal(r.split[i].ns(), kMilliseconds);
    }
  }
  if (columns_.accounts) {
    csv_.integer(r.tenant);
    csv_.integer(r.priority);
  }
  csv_.end_row();
}

void StepsCsv::on_step(const StepRecord& s) {
  csv_.integer(s.replica);
  csv_.integer(static_cast<std::int64_t>(s.step));
  csv_.decimal(s.start.ns(), kSeconds);
  csv_.decimal(s.duration.ns(), kMicroseconds);
  csv_.integer(s.batch);
  csv_.integer(s.prefill_tokens);
  csv_.integer(s.decode_tokens);
  csv_.integer(s.cached_tokens);
  csv_.integer(s.running);
  csv_.integer(s.waiting);
  csv_.integer(s.kv_blocks);
  csv_.integer(s.preempted);
  csv_.decimal(s.gpu.ns(), kMicroseconds);
  csv_.decimal(s.host.ns(), kMicroseconds);
  csv_.end_row();
}

}  // namespace headway
