#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/metrics/observer.h"
#include "sim/metrics/slo_class.h"
#include "sim/report/csv_writer.h"

namespace headway {

inline constexpr std::string_view kRequestsCsvHeader =
    "request_id,session_id,arrival_s,scheduled_s,first_token_s,finish_s,input_tokens,output_tokens,"
    "cached_tokens,queue_ms,prefill_ms,interference_ms,decode_ms,preemption_ms,host_ms,ttft_ms,"
    "tpot_ms,e2el_ms,max_itl_ms,preemptions,replica,finish_reason,slo_ok";
// Of fleets whose requests may change replicas; of workloads with tenants or priorities.
inline constexpr std::string_view kBetweenReplicasCsvHeader = ",transfer_ms,retry_ms";
inline constexpr std::string_view kAccountsCsvHeader = ",tenant,priority";
inline constexpr std::string_view kStepsCsvHeader =
    "replica,step,start_s,duration_us,batch,prefill_tokens,decode_tokens,cached_tokens,running,"
    "waiting,kv_blocks,preempted,gpu_us,host_us";

// Which columns there are beside kRequestsCsvHeader's, in this order.
struct RequestsCsvColumns {
  bool between_replicas = false;
  bool accounts = false;
};

// --requests: one row a request, in the order they finished (or were rejected), written as the run
// goes. Empty cells: session_id of a request of its own, tpot_ms of a single token, slo_ok without
// limits, and all times but arrival and finish of a failed request, whose reason is finish_reason.
// The file appears at commit(), which the caller makes when the whole run has succeeded.
class RequestsCsv final : public Observer {
 public:
  // `slo` judges what is of no class.
  RequestsCsv(const std::string& path, SloLimits slo, RequestsCsvColumns columns = {},
              std::vector<SloClass> classes = {});
  void on_finish(const RequestRecord& request) override;
  void commit() { csv_.commit(); }

 private:
  CsvWriter csv_;
  SloLimits slo_;
  std::vector<SloClass> classes_;
  RequestsCsvColumns columns_;
};

// --steps: one row an engine step, in the order the steps ended. commit() as above.
class StepsCsv final : public Observer {
 public:
  explicit StepsCsv(const std::string& path) : csv_(path, kStepsCsvHeader) {}
  void on_step(const StepRecord& step) override;
  void commit() { csv_.commit(); }

 private:
  CsvWriter csv_;
};

}  // namespace headway
