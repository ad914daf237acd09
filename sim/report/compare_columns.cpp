#include "sim/report/compare_columns.h"

namespace headway {
namespace {

using Value = std::optional<double>;
using Better = CompareColumn::Better;

Value if_any(const RunSummary& s, double value) {
  return s.completed > 0 ? Value(value) : std::nullopt;
}

constexpr CompareColumn kColumns[] = {
    {"completed", "done", "requests", Better::kNone,
     [](const RunSummary& s) { return Value(static_cast<double>(s.completed)); }},
    {"failed", "failed", "requests", Better::kLow,
     [](const RunSummary& s) { return Value(static_cast<double>(s.failed)); }, true},
    {"request_throughput", "through", "req/s", Better::kHigh,
     [](const RunSummary& s) { return if_any(s, s.request_throughput); }},
    {"request_goodput", "goodput", "req/s", Better::kHigh,
     [](const RunSummary& s) { return s.request_goodput; }},
    {"slo_attainment_percent", "in SLO", "%", Better::kHigh,
     [](const RunSummary& s) {
       return s.slo_attainment ? Value(100 * *s.slo_attainment) : std::nullopt;
     }},
    {"output_throughput", "output", "tok/s", Better::kHigh,
     [](const RunSummary& s) { return if_any(s, s.output_throughput); }},
    {"mean_ttft_ms", "TTFT", "mean ms", Better::kLow,
     [](const RunSummary& s) { return if_any(s, s.ttft_ms.mean); }},
    {"p99_ttft_ms", "TTFT", "p99 ms", Better::kLow,
     [](const RunSummary& s) { return if_any(s, s.ttft_ms.p99); }},
    {"mean_tpot_ms", "TPOT", "mean ms", Better::kLow,
     [](const RunSummary& s) {
       return s.tpot_ms.count > 0 ? Value(s.tpot_ms.mean) : std::nullopt;
     }},
    {"p99_tpot_ms", "TPOT", "p99 ms", Better::kLow,
     [](const RunSummary& s) { return s.tpot_ms.count > 0 ? Value(s.tpot_ms.p99) : std::nullopt; }},
    {"p99_itl_ms", "ITL", "p99 ms", Better::kLow,
     [](const RunSummary& s) { return s.itl_ms.count > 0 ? Value(s.itl_ms.p99) : std::nullopt; }},
    {"mean_e2el_ms", "E2EL", "mean ms", Better::kLow,
     [](const RunSummary& s) { return if_any(s, s.e2el_ms.mean); }},
    {"p99_e2el_ms", "E2EL", "p99 ms", Better::kLow,
     [](const RunSummary& s) { return if_any(s, s.e2el_ms.p99); }},
    {"mean_batch", "batch", "mean", Better::kNone,
     [](const RunSummary& s) { return Value(s.engine.mean_batch); }, false, true},
    {"kv_peak_percent", "KV peak", "%", Better::kNone,
     [](const RunSummary& s) { return Value(100 * s.engine.kv_peak_share); }, false, true},
    {"preemptions", "preempted", "times", Better::kNone,
     [](const RunSummary& s) { return Value(static_cast<double>(s.engine.preemptions)); }, true},
};

}  // namespace

std::span<const CompareColumn> compare_columns() { return kColumns; }

}  // namespace headway
