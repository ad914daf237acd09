#include "sim/cost/interpolation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/core/errors.h"

namespace headway {
namespace {

constexpr double kSiteReachOctaves = 2;
constexpr std::size_t kMaxAxes = 12;

bool is_outlier(const ProfileTable& table, std::size_t row) {
  return !table.flags.empty() && (table.flags[row] & kRowOutlier) != 0;
}

std::vector<double> key_of(const ProfileTable& table, std::size_t row) {
  std::vector<double> key(table.axes.size());
  for (std::size_t a = 0; a < key.size(); ++a) key[a] = static_cast<double>(table.key(row, a));
  return key;
}

}  // namespace

RatioGrid::RatioGrid(const ProfileTable& table, std::size_t begin, std::size_t end,
                     std::size_t site_axes, std::vector<double> log_ratios)
    : begin_row_(begin), log_ratios_(std::move(log_ratios)) {
  SIM_CHECK(begin < end && log_ratios_.size() == end - begin && site_axes < table.axes.size());
  const std::size_t levels = table.axes.size() - site_axes;
  levels_.resize(levels);
  zero_based_.assign(levels, 0);
  for (std::size_t row = begin; row < end; ++row) {
    for (std::size_t l = 0; l < levels; ++l) {
      if (table.key(row, site_axes + l) == 0) zero_based_[l] = 1;
    }
  }
  for (std::size_t row = begin; row < end; ++row) {
    bool fresh = row == begin;  // from the first level whose key changes, new nodes
    for (std::size_t l = 0; l < levels; ++l) {
      const double value = static_cast<double>(table.key(row, site_axes + l));
      fresh = fresh || value != levels_[l].values.back();
      if (!fresh) continue;
      levels_[l].values.push_back(value);
      levels_[l].coordinates.push_back(coordinate(l, value));
      if (l + 1 < levels) {
        levels_[l].first.push_back(static_cast<std::uint32_t>(levels_[l + 1].values.size()));
      }
    }
    skip_.push_back(is_outlier(table, row) ? 1 : 0);
  }
  for (std::size_t l = 0; l + 1 < levels; ++l) {
    levels_[l].first.push_back(static_cast<std::uint32_t>(levels_[l + 1].values.size()));
  }
  SIM_CHECK(levels_.back().values.size() == end - begin, "rows of a table are sorted and unique");
}

RatioGrid::RatioGrid(std::vector<double> values, std::vector<double> log_ratios)
    : begin_row_(0), log_ratios_(std::move(log_ratios)), skip_(values.size(), 0) {
  SIM_CHECK(!values.empty() && values.size() == log_ratios_.size());
  zero_based_.push_back(values.front() == 0 ? 1 : 0);
  Level level;
  for (double value : values) level.coordinates.push_back(coordinate(0, value));
  level.values = std::move(values);
  levels_.push_back(std::move(level));
}

double RatioGrid::coordinate(std::size_t level, double value) const {
  return zero_based_[level] != 0 ? std::log1p(value) : std::log(std::max(value, 1e-9));
}

RatioGrid::Answer RatioGrid::at(const double* key, std::size_t without) const {
  return node(0, 0, levels_[0].values.size(), {key, without, true});
}

RatioGrid::Answer RatioGrid::leaf(std::size_t begin, std::size_t end, const Query& query) const {
  const Level& level = levels_.back();
  const double value = query.key[levels_.size() - 1];
  const auto first = level.values.begin();
  const auto usable = [&](std::size_t i) {
    return skip_[i] == 0 && begin_row_ + i != query.without;
  };
  std::size_t above = static_cast<std::size_t>(
      std::lower_bound(first + static_cast<std::ptrdiff_t>(begin),
                       first + static_cast<std::ptrdiff_t>(end), value) - first);
  if (above < end && level.values[above] == value && begin_row_ + above != query.without &&
      (query.exact || usable(above))) {
    return {log_ratios_[above], true, false, begin_row_ + above};
  }
  std::size_t below = above;  // one past the usable point below
  while (below > begin && !usable(below - 1)) --below;
  while (above < end && !usable(above)) ++above;
  if (below == begin && above == end) return {};
  if (below == begin) return {log_ratios_[above], true, true, kNoRow};
  if (above == end) return {log_ratios_[below - 1], true, true, kNoRow};
  const double low = level.coordinates[below - 1], high = level.coordinates[above];
  const double share = (coordinate(levels_.size() - 1, value) - low) / (high - low);
  return {log_ratios_[below - 1] + share * (log_ratios_[above] - log_ratios_[below - 1]), true,
          false, kNoRow};
}

RatioGrid::Answer RatioGrid::child(std::size_t level, std::size_t index,
                                   const Query& query) const {
  return node(level + 1, levels_[level].first[index], levels_[level].first[index + 1], query);
}

RatioGrid::Answer RatioGrid::node(std::size_t l, std::size_t begin, std::size_t end,
                                  const Query& query) const {
  if (l + 1 == levels_.size()) return leaf(begin, end, query);
  const double value = query.key[l];
  const Level& level = levels_[l];
  const auto first = level.values.begin();
  std::size_t above = static_cast<std::size_t>(
      std::lower_bound(first + static_cast<std::ptrdiff_t>(begin),
                       first + static_cast<std::ptrdiff_t>(end), value) - first);
  std::size_t below = above;  // one past the bracket below
  if (above < end && level.values[above] == value) {
    const Answer exact = child(l, above, query);
    if (exact.any) return exact;
    ++above;
  }
  const Query between{query.key, query.without, false};
  Answer low, high;
  while (below > begin && !(low = child(l, below - 1, between)).any) --below;
  while (above < end && !(high = child(l, above, between)).any) ++above;
  low.row = high.row = kNoRow;
  if (!low.any || !high.any) {
    Answer held = low.any ? low : high;
    held.outside = true;
    return held;
  }
  const double from = level.coordinates[below - 1], to = level.coordinates[above];
  const double share = (coordinate(l, value) - from) / (to - from);
  if (low.outside != high.outside) {  // a ragged corner
    Answer surviving = low.outside ? high : low;
    surviving.outside = (low.outside ? share : 1 - share) < 0.5;
    return surviving;
  }
  return {low.log_ratio + share * (high.log_ratio - low.log_ratio), true, low.outside, kNoRow};
}

Priced SitePricer::at(const double* key) const {
  double log_ratio = 0;
  bool outside = false;
  for (const Neighbour& neighbour : neighbours_) {
    const RatioGrid::Answer answer = neighbour.grid.at(key);
    if (answer.row != RatioGrid::kNoRow && at_best_ == Coverage::kMeasured) {
      return {times_us_[answer.row - first_row_], Coverage::kMeasured};
    }
    log_ratio += neighbour.weight * answer.log_ratio;
    outside = outside || answer.outside;
  }
  const double us = std::max(model_.us(demand_(key)) * std::exp(log_ratio), model_.floor_us);
  Coverage from = weaker(at_best_, Coverage::kInterpolated);
  if (outside) from = weaker(from, Coverage::kExtrapolated);
  return {us, from};
}

// Along one axis each neighbour's log ratio is straight between its own values (in the log of the
// axis), so their weighted sum is straight between the values of any of them: one grid holds it.
void SitePricer::merge_neighbours() {
  if (neighbours_.size() < 2) return;
  std::vector<double> ratios;
  for (double value : last_axis_) {
    double sum = 0;
    for (const Neighbour& n : neighbours_) sum += n.weight * n.grid.at(&value).log_ratio;
    ratios.push_back(sum);
  }
  std::vector<Neighbour> merged;
  merged.push_back({RatioGrid(last_axis_, std::move(ratios)), 1});
  neighbours_ = std::move(merged);
}

OperatorTable::OperatorTable(const ProfileTable& table, std::size_t site_axes, SitePolicy policy,
                             DemandOf demand)
    : table_(&table), site_axes_(site_axes), policy_(policy), demand_(std::move(demand)) {
  SIM_CHECK(table.rows() > 0 && site_axes < table.axes.size() &&
            table.axes.size() <= kMaxAxes);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    bool fresh = row == 0;
    for (std::size_t a = 0; a < site_axes && !fresh; ++a) {
      fresh = table.key(row, a) != table.key(row - 1, a);
    }
    if (fresh) sites_.push_back({row, row});
    sites_.back().end = row + 1;
  }
  if (policy == SitePolicy::kInverseDistance) shared_ = fit_rows(0, table.rows());
}

FittedModel OperatorTable::fit_rows(std::size_t begin, std::size_t end) const {
  std::vector<Demand> demands;
  std::vector<double> times;
  for (std::size_t row = begin; row < end; ++row) {
    if (is_outlier(*table_, row) && end - begin > 1) continue;
    demands.push_back(demand_(key_of(*table_, row).data()));
    times.push_back(table_->time_us[row]);
  }
  if (demands.empty()) return fit_rows(begin, begin + 1);
  return fit_model(demands, times);
}

std::size_t OperatorTable::find(const std::vector<double>& site) const {
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    bool same = true;
    for (std::size_t a = 0; a < site_axes_ && same; ++a) {
      same = static_cast<double>(table_->key(sites_[i].begin, a)) == site[a];
    }
    if (same) return i;
  }
  return kNoSite;
}

bool OperatorTable::has_site(const std::vector<double>& site) const {
  return find(site) != kNoSite;
}

double OperatorTable::site_distance(std::size_t index, const std::vector<double>& site) const {
  double sum = 0;
  for (std::size_t a = 0; a < site_axes_; ++a) {
    const double there = static_cast<double>(table_->key(sites_[index].begin, a));
    const double octaves = std::log2(std::max(site[a], 0.5) / std::max(there, 0.5));
    sum += octaves * octaves;
  }
  return std::sqrt(sum);
}

// Within the least and the greatest value of each site axis.
bool OperatorTable::inside_sites(const std::vector<double>& site) const {
  for (std::size_t a = 0; a < site_axes_; ++a) {
    double least = std::numeric_limits<double>::max(), most = 0;
    for (const Site& s : sites_) {
      least = std::min(least, static_cast<double>(table_->key(s.begin, a)));
      most = std::max(most, static_cast<double>(table_->key(s.begin, a)));
    }
    if (site[a] < least || site[a] > most) return false;
  }
  return true;
}

RatioGrid OperatorTable::grid(const Site& site, const FittedModel& model) const {
  std::vector<double> ratios;
  ratios.reserve(site.end - site.begin);
  for (std::size_t row = site.begin; row < site.end; ++row) {
    const double expected = model.us(demand_(key_of(*table_, row).data()));
    ratios.push_back(std::log(table_->time_us[row] / expected));
  }
  return RatioGrid(*table_, site.begin, site.end, site_axes_, std::move(ratios));
}

void OperatorTable::add_neighbours(const std::vector<double>& site, std::size_t leave_out,
                                   SitePricer& pricer) const {
  std::vector<std::pair<double, std::size_t>> near;
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    if (i != leave_out) near.emplace_back(site_distance(i, site), i);
  }
  std::sort(near.begin(), near.end());
  if (near.empty()) return;
  if (policy_ == SitePolicy::kNearest) {
    const Site& nearest = sites_[near.front().second];
    pricer.model_ = fit_rows(nearest.begin, nearest.end);
    pricer.neighbours_.push_back({grid(nearest, pricer.model_), 1});
    return;
  }
  double sum = 0;
  for (const auto& [distance, index] : near) {
    if (distance > kSiteReachOctaves) break;
    const double weight = 1 / (distance * distance);
    pricer.neighbours_.push_back({grid(sites_[index], shared_), weight});
    sum += weight;
  }
  for (auto& neighbour : pricer.neighbours_) neighbour.weight /= sum;
}

SitePricer OperatorTable::build(const std::vector<double>& site, std::size_t leave_out) const {
  SIM_CHECK(site.size() == site_axes_);
  SitePricer pricer;
  const std::size_t exact = find(site);
  pricer.model_ = shared_;
  if (exact != kNoSite && exact != leave_out) {
    const Site& here = sites_[exact];
    if (policy_ == SitePolicy::kNearest) pricer.model_ = fit_rows(here.begin, here.end);
    pricer.neighbours_.push_back({grid(here, pricer.model_), 1});
    pricer.first_row_ = here.begin;
    pricer.times_us_.assign(
        table_->time_us.begin() + static_cast<std::ptrdiff_t>(here.begin),
        table_->time_us.begin() + static_cast<std::ptrdiff_t>(here.end));
  } else {
    add_neighbours(site, leave_out, pricer);
    pricer.at_best_ = inside_sites(site) ? Coverage::kInterpolated : Coverage::kExtrapolated;
    if (pricer.neighbours_.empty()) pricer.at_best_ = Coverage::kExtrapolated;  // analytic
  }
  for (const auto& neighbour : pricer.neighbours_) {
    const std::vector<double>& values = neighbour.grid.last_axis();
    pricer.last_axis_.insert(pricer.last_axis_.end(), values.begin(), values.end());
  }
  std::sort(pricer.last_axis_.begin(), pricer.last_axis_.end());
  pricer.last_axis_.erase(std::unique(pricer.last_axis_.begin(), pricer.last_axis_.end()),
                          pricer.last_axis_.end());
  if (table_->axes.size() == site_axes_ + 1) pricer.merge_neighbours();
  pricer.demand_ = [demand = demand_, site, inner = table_->axes.size() - site_axes_](
                       const double* key) {
    std::array<double, kMaxAxes> whole;
    std::copy(site.begin(), site.end(), whole.begin());
    std::copy(key, key + inner, whole.begin() + static_cast<std::ptrdiff_t>(site.size()));
    return demand(whole.data());
  };
  return pricer;
}

SitePricer OperatorTable::site(const std::vector<double>& site) const {
  return build(site, kNoSite);
}

Priced OperatorTable::without_row(std::size_t row, bool whole_site) const {
  const std::vector<double> key = key_of(*table_, row);
  const auto site_end = key.begin() + static_cast<std::ptrdiff_t>(site_axes_);
  const std::vector<double> site(key.begin(), site_end);
  const double* inner = key.data() + site_axes_;
  const std::size_t index = find(site);
  if (whole_site) return build(site, index).at(inner);
  const Site& here = sites_[index];
  const FittedModel model =
      policy_ == SitePolicy::kNearest ? fit_rows(here.begin, here.end) : shared_;
  const RatioGrid::Answer answer = grid(here, model).at(inner, row);
  const double us = model.us(demand_(key.data())) * std::exp(answer.log_ratio);
  return {std::max(us, model.floor_us), answer.any && !answer.outside ? Coverage::kInterpolated
                                                                      : Coverage::kExtrapolated};
}

}  // namespace headway
