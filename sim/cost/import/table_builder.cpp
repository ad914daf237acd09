#include "sim/cost/import/table_builder.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "sim/core/errors.h"

namespace headway {
namespace {

// Appends one key's rows [begin, end) as one row of the table.
template <class Iterator>
void append_mean(ProfileTable& t, Iterator begin, Iterator end, int digits) {
  double sum = 0, low = begin->time_us, high = begin->time_us;
  for (auto it = begin; it != end; ++it) {
    sum += it->time_us;
    low = std::min(low, it->time_us);
    high = std::max(high, it->time_us);
  }
  const double mean = round_significant(sum / static_cast<double>(end - begin), digits);
  t.keys.insert(t.keys.end(), begin->key.begin(), begin->key.end());
  t.time_us.push_back(mean);
  t.low_us.push_back(std::min(mean, round_significant(low, digits)));
  t.high_us.push_back(std::max(mean, round_significant(high, digits)));
}

}  // namespace

double round_significant(double value, int digits) {
  char buffer[64];
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                  std::chars_format::scientific, digits - 1)
                        .ptr;
  double rounded = 0;
  std::from_chars(buffer, end, rounded);
  return rounded;
}

TableBuilder::TableBuilder(std::string op, std::map<std::string, std::string> variant,
                           std::string file, std::string method) {
  shape_.axes = profile_axes(op);
  SIM_CHECK(!shape_.axes.empty(), op);
  shape_.op = std::move(op);
  shape_.variant = std::move(variant);
  shape_.file = std::move(file) + ".csv.gz";
  shape_.method = std::move(method);
}

void TableBuilder::add(const std::vector<std::int64_t>& key, double time_us,
                       std::string_view kernel) {
  SIM_CHECK(key.size() == shape_.axes.size(), shape_.file);
  auto it = std::find(kernels_.begin(), kernels_.end(), kernel);
  if (it == kernels_.end()) {
    it = kernels_.insert(kernels_.end(), std::string(kernel));
    kernel_rows_.push_back(0);
  }
  const auto index = static_cast<std::size_t>(it - kernels_.begin());
  ++kernel_rows_[index];
  rows_.push_back({key, time_us, index});
}

std::vector<std::size_t> TableBuilder::kernel_ranks() const {
  std::vector<std::size_t> order(kernels_.size()), ranks(kernels_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (kernel_rows_[a] != kernel_rows_[b]) return kernel_rows_[a] > kernel_rows_[b];
    return kernels_[a] < kernels_[b];
  });
  for (std::size_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

std::string TableBuilder::kernel_list(const std::vector<std::size_t>& ranks) const {
  std::vector<std::string> names(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) names[ranks[i]] = kernels_[i];
  std::string list;
  for (const std::string& name : names) {
    if (!name.empty()) list += (list.empty() ? "; kernel " : ", then ") + name;
  }
  return list;
}

ProfileTable TableBuilder::build(int digits) const {
  const std::vector<std::size_t> ranks = kernel_ranks();
  std::vector<Row> rows = rows_;
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    if (a.key != b.key) return a.key < b.key;
    if (ranks[a.kernel] != ranks[b.kernel]) return ranks[a.kernel] < ranks[b.kernel];
    return a.time_us < b.time_us;  // so that the sum does not depend on the file's order
  });
  ProfileTable table = shape_;
  table.method += kernel_list(ranks);
  bool band = false;
  for (auto begin = rows.begin(); begin != rows.end();) {
    auto end = begin;
    while (end != rows.end() && end->key == begin->key && end->kernel == begin->kernel) ++end;
    band = band || end - begin > 1;
    append_mean(table, begin, end, digits);
    while (end != rows.end() && end->key == begin->key) ++end;  // other kernels' rows
    begin = end;
  }
  if (!band) {
    table.low_us.clear();
    table.high_us.clear();
  }
  return table;
}

}  // namespace headway
