#include "kernels/profiler/tables.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "kernels/profiler/statistics.h"
#include "sim/cost/measured_operators.h"

namespace headway::kernels {
namespace {

// Five digits: far finer than any interval, and files stay small.
double rounded(double us) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", us);
  return std::strtod(text, nullptr);
}

std::string file_name(const KernelEntry& entry) {
  std::string name = entry.op + "-" + entry.impl;
  for (const auto& [key, value] : entry.variant) {
    const bool number = value.find_first_not_of("0123456789") == std::string::npos;
    name += "-" + (number || value == "yes" || value == "no" ? key + value : value);
  }
  std::replace(name.begin(), name.end(), '/', '-');
  return name + ".csv";
}

std::uint8_t flags_of(const Measured& m, const Estimate& e, double noisy_beyond) {
  const double half = std::max(e.high_us - e.us, e.us - e.low_us);
  std::uint8_t flags = 0;
  if (m.contended || half > noisy_beyond * e.us) flags |= kRowNoisy;
  if (m.throttled) flags |= kRowThrottled;
  if (m.visits() == 1) flags |= kRowSinglePass;
  return flags;
}

ProfileTable make_table(const KernelEntry& entry, const Session& session, double noisy_beyond) {
  std::map<std::vector<std::int64_t>, const Measured*> rows;  // sorted as the format wants it
  for (std::size_t i = 0; i < session.points().size(); ++i) {
    const Point& point = session.points()[i];
    if (point.entry != &entry || point.probe || session.measured()[i].visits() == 0) continue;
    rows[point.call.key] = &session.measured()[i];
  }
  ProfileTable t;
  t.op = entry.op;
  t.variant = table_variant(entry);
  t.axes = profile_axes(entry.op);
  t.file = file_name(entry);
  for (const auto& [key, m] : rows) {
    const Estimate e = m->estimate();
    t.keys.insert(t.keys.end(), key.begin(), key.end());
    t.time_us.push_back(rounded(e.us));
    t.low_us.push_back(std::min(rounded(e.low_us), t.time_us.back()));
    t.high_us.push_back(std::max(rounded(e.high_us), t.time_us.back()));
    t.flags.push_back(flags_of(*m, e, noisy_beyond));
  }
  return t;
}

HoldOut summary(const std::vector<double>& errors) {
  HoldOut out;
  out.points = static_cast<std::int64_t>(errors.size());
  if (errors.empty()) return out;
  std::vector<double> sizes;
  for (double e : errors) sizes.push_back(std::abs(e));
  out.err_median = rounded(quantile(sizes, 0.5));
  out.err_p90 = rounded(quantile(sizes, 0.9));
  out.bias = rounded(quantile(errors, 0.5));
  return out;
}

// predicted / measured - 1 of the entry's probes.
std::vector<double> probe_errors(const Session& session, const std::vector<ProfileTable>& tables,
                                 const KernelEntry& entry, bool ragged) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < session.points().size(); ++i) {
    const Point& point = session.points()[i];
    const Measured& m = session.measured()[i];
    if (point.entry != &entry || !point.probe || m.visits() == 0) continue;
    if (ragged != !point.call.lengths.empty()) continue;
    if (const auto us = table_time_us(tables, entry, point.call.key)) {
      errors.push_back(*us / m.estimate().us - 1);
    }
  }
  return errors;
}

std::vector<const KernelEntry*> entries_of(const Session& session) {
  std::vector<const KernelEntry*> entries;
  for (const Point& point : session.points()) {
    if (std::find(entries.begin(), entries.end(), point.entry) == entries.end()) {
      entries.push_back(point.entry);
    }
  }
  return entries;
}

}  // namespace

Variant table_variant(const KernelEntry& entry) {
  Variant variant = entry.variant;
  variant["impl"] = entry.impl;
  return variant;
}

std::optional<double> table_time_us(const std::vector<ProfileTable>& tables,
                                    const KernelEntry& entry,
                                    const std::vector<std::int64_t>& key) {
  const Variant variant = table_variant(entry);
  for (const ProfileTable& table : tables) {
    if (table.op != entry.op || table.variant != variant || !has_price(table.op)) continue;
    if (table.rows() == 0) continue;
    const OperatorTable op = measured_operator(table);
    const std::vector<double> question(key.begin(), key.end());
    const auto axes = question.begin() + static_cast<std::ptrdiff_t>(op.site_axes());
    return op.site({question.begin(), axes}).at(&*axes).us;
  }
  return std::nullopt;
}

std::vector<ProfileTable> make_tables(const Session& session, const std::string& method,
                                      double noisy_beyond) {
  std::vector<ProfileTable> tables;
  std::vector<const KernelEntry*> kept;
  for (const KernelEntry* entry : entries_of(session)) {
    ProfileTable table = make_table(*entry, session, noisy_beyond);
    if (table.rows() == 0) continue;
    table.method = method;
    tables.push_back(std::move(table));
    kept.push_back(entry);
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const std::vector<double> errors = probe_errors(session, tables, *kept[i], false);
    if (!errors.empty()) tables[i].holdout = summary(errors);
  }
  return tables;
}

HoldOut ragged_holdout(const Session& session, const std::vector<ProfileTable>& tables) {
  std::vector<double> errors;
  for (const KernelEntry* entry : entries_of(session)) {
    const std::vector<double> some = probe_errors(session, tables, *entry, true);
    errors.insert(errors.end(), some.begin(), some.end());
  }
  return summary(errors);
}

}  // namespace headway::kernels
