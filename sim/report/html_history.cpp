#include "sim/report/html_history.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/report/html_data.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

// Counts of columns as narrow as a step would be a comb: they are told in columns this much wider.
constexpr std::int64_t kCountWidth = 8;

struct Spanned {
  HistoryColumn column;
  double ns;  // of it have passed
};

std::vector<Spanned> spanned(const RunHistory& history, std::int64_t width_ns) {
  std::vector<Spanned> out;
  std::int64_t start = 0;
  for (const HistoryColumn& column : history.columns(width_ns)) {
    const std::int64_t ns = std::min(width_ns, history.end_ns() - start);
    out.push_back({column, static_cast<double>(ns)});
    start += width_ns;
  }
  if (out.size() > 1 && out.back().ns <= 0) {  // the end falls on an edge
    const HistoryColumn last = out.back().column;
    out.pop_back();
    out.back().column.add(last);
  }
  return out;
}

template <typename Of>
Json listed(const std::vector<Spanned>& columns, const Of& of) {
  Json out = Json::array();
  for (const Spanned& s : columns) out.push_back(of(s));
  return out;
}

Json ratio_or_null(double part, double whole) { return whole > 0 ? short_number(part / whole) : Json(); }

template <typename Of>
Json rates(const std::vector<Spanned>& columns, const Of& of) {
  return listed(columns, [&](const Spanned& s) {
    return ratio_or_null(static_cast<double>(of(s.column)), s.ns / 1e9);
  });
}

}  // namespace

std::int64_t common_width_ns(std::span<const RunHistory* const> runs, std::size_t columns) {
  std::int64_t width = RunHistory::kFirstWidthNs, end = 0;
  for (const RunHistory* run : runs) {
    width = std::max(width, run->width_ns());
    end = std::max(end, run->end_ns());
  }
  while (end / width >= static_cast<std::int64_t>(columns)) width *= 2;
  return width;
}

Json history_data(const RunHistory& history, std::int64_t width_ns) {
  const std::vector<Spanned> fine = spanned(history, width_ns);
  const auto least = [](std::int64_t count) { return count < 0 ? Json() : Json(count); };
  const auto replicas = static_cast<double>(std::max<std::int64_t>(1, history.replicas()));
  Json out = {{"width_s", static_cast<double>(width_ns) / 1e9}, {"columns", fine.size()}};
  out["in_system"] =
      listed(fine, [](const Spanned& s) { return ratio_or_null(s.column.in_system_ns, s.ns); });
  out["in_system_min"] = listed(fine, [&](const Spanned& s) { return least(s.column.in_system_min); });
  out["in_system_max"] = listed(fine, [&](const Spanned& s) { return least(s.column.in_system_max); });
  out["running"] =
      listed(fine, [](const Spanned& s) { return ratio_or_null(s.column.running_ns, s.ns); });
  out["waiting"] =
      listed(fine, [](const Spanned& s) { return ratio_or_null(s.column.waiting_ns, s.ns); });
  out["kv"] = listed(fine, [](const Spanned& s) {
    return ratio_or_null(100 * s.column.kv_share_ns, s.column.busy_ns);
  });
  out["kv_peak"] = listed(fine, [](const Spanned& s) {
    return s.column.busy_ns > 0 ? short_number(100 * s.column.kv_peak) : Json();
  });
  out["busy"] = listed(fine, [&](const Spanned& s) {
    return ratio_or_null(100 * s.column.busy_ns, replicas * s.ns);
  });

  const std::vector<Spanned> wide = spanned(history, width_ns * kCountWidth);
  out["count_width_s"] = static_cast<double>(width_ns * kCountWidth) / 1e9;
  out["arrivals_per_s"] = rates(wide, [](const HistoryColumn& c) { return c.arrivals; });
  out["finishes_per_s"] = rates(wide, [](const HistoryColumn& c) { return c.finishes; });
  out["output_tokens_per_s"] = rates(wide, [](const HistoryColumn& c) { return c.output_tokens; });
  out["prefill_tokens_per_s"] = rates(wide, [](const HistoryColumn& c) { return c.prefill_tokens; });
  out["preemptions"] = listed(wide, [](const Spanned& s) { return Json(s.column.preemptions); });
  return out;
}

}  // namespace headway
