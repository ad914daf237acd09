#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/cost/fitted_model.h"
#include "sim/cost/profile.h"
#include "sim/cost/step_pricer.h"

namespace headway {

// How a measured operator is read between and beyond its points. Hold-out tests on the imported
// tables chose it (median / 90th percentile error: decode 3.2 / 12 %, prefill 1.6-2.8 / 6-9 %,
// products 3.4 / 11 %; blending times or efficiencies is worse by up to 6 times):
//
//   1. a measured point: its value, exactly; an outlier (flagged row) too, but only when asked for
//      exactly: nothing is interpolated through it;
//   2. inside: model(q) x exp(multilinear over the logs of the axes of log(time / model));
//      at a ragged corner, where one bracket has no point that far, the other bracket's ratio
//      (called interpolated while the surviving bracket is the nearer one);
//   3. above: the ratio of the nearest point is held and the model carries growth: extrapolated;
//   4. below: the same, but never under the model's floor;
//   5. a site that was not measured: see SitePolicy.

// The measured points of one site over the axes that follow the site's, as log(time / model).
// Axes may be ragged: each value of an axis has its own values of the next.
class RatioGrid {
 public:
  // Rows [begin, end) of the table, which share the first `site_axes` keys; one log ratio each.
  RatioGrid(const ProfileTable& table, std::size_t begin, std::size_t end, std::size_t site_axes,
            std::vector<double> log_ratios);
  // One axis: ratios at ascending values that belong to no row.
  RatioGrid(std::vector<double> values, std::vector<double> log_ratios);

  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);
  struct Answer {
    double log_ratio = 0;
    bool any = false;        // false: no usable point at all
    bool outside = false;    // held from the nearest point along some axis
    std::size_t row = kNoRow;  // of the table, when the key is a measured point
  };
  // `key`: one value an axis after the site's. `without`: a row to leave out, for leave-one-out.
  Answer at(const double* key, std::size_t without = kNoRow) const;
  const std::vector<double>& last_axis() const { return levels_.back().values; }

 private:
  struct Level {
    std::vector<double> values;       // axis values, ascending within a node
    std::vector<double> coordinates;  // their logs
    std::vector<std::uint32_t> first; // first child in the next level; one more at the end
  };
  // A question on its way down: `exact` while every axis so far met a measured value, since only
  // then may an outlier answer.
  struct Query {
    const double* key;
    std::size_t without;
    bool exact;
  };
  Answer node(std::size_t level, std::size_t begin, std::size_t end, const Query& query) const;
  Answer leaf(std::size_t begin, std::size_t end, const Query& query) const;
  Answer child(std::size_t level, std::size_t index, const Query& query) const;
  double coordinate(std::size_t level, double value) const;

  std::size_t begin_row_;
  std::vector<Level> levels_;
  std::vector<std::uint8_t> zero_based_;  // an axis with zeros: log(1 + value)
  std::vector<double> log_ratios_;        // by leaf entry
  std::vector<std::uint8_t> skip_;        // outliers, by leaf entry
};

// What to do about a site (the leading axes of a table: widths, head counts) without rows.
enum class SitePolicy : std::uint8_t {
  kNearest,          // the nearest site's model and ratio, asked for this site's demand
  kInverseDistance,  // one model for all sites; ratios of the sites within 2 octaves, weighted by
                     // the inverse square of their distance in log2; with none that near, the
                     // model alone
};

// One operator at one site, ready to be priced. Copyable; holds all it needs.
class SitePricer {
 public:
  using DemandOf = std::function<Demand(const double* key)>;

  // `key`: one value an axis after the site's.
  Priced at(const double* key) const;
  Priced at(double a) const { return at(&a); }
  Priced at(double a, double b) const {
    const double key[] = {a, b};
    return at(key);
  }
  double floor_us() const { return model_.floor_us; }
  const FittedModel& model() const { return model_; }
  // Values of the last axis at any site that is blended, ascending (where the price bends).
  const std::vector<double>& last_axis() const { return last_axis_; }

 private:
  friend class OperatorTable;
  struct Neighbour {
    RatioGrid grid;
    double weight;  // they sum to 1
  };
  void merge_neighbours();

  DemandOf demand_;
  FittedModel model_;
  std::vector<Neighbour> neighbours_;
  Coverage at_best_ = Coverage::kMeasured;
  std::vector<double> times_us_;  // of the rows of the exact site
  std::size_t first_row_ = 0;
  std::vector<double> last_axis_;
};

// A table of a profile, by site. The table must outlive it.
class OperatorTable {
 public:
  // The demand of a call from its whole key: site, then the other axes.
  using DemandOf = std::function<Demand(const double* key)>;

  OperatorTable(const ProfileTable& table, std::size_t site_axes, SitePolicy policy,
                DemandOf demand);

  // REQUIRES: site.size() == site_axes.
  SitePricer site(const std::vector<double>& site) const;
  bool has_site(const std::vector<double>& site) const;

  // What the table would say of a row if it were not there. With `whole_site`: if none of the rows
  // of its site were.
  Priced without_row(std::size_t row, bool whole_site) const;
  std::size_t sites() const { return sites_.size(); }
  std::size_t site_axes() const { return site_axes_; }
  const ProfileTable& table() const { return *table_; }

 private:
  struct Site {
    std::size_t begin, end;  // rows
  };
  static constexpr std::size_t kNoSite = static_cast<std::size_t>(-1);
  std::size_t find(const std::vector<double>& site) const;
  double site_distance(std::size_t index, const std::vector<double>& site) const;
  bool inside_sites(const std::vector<double>& site) const;
  FittedModel fit_rows(std::size_t begin, std::size_t end) const;
  RatioGrid grid(const Site& site, const FittedModel& model) const;
  void add_neighbours(const std::vector<double>& site, std::size_t leave_out,
                      SitePricer& pricer) const;
  SitePricer build(const std::vector<double>& site, std::size_t leave_out) const;

  const ProfileTable* table_;
  std::size_t site_axes_;
  SitePolicy policy_;
  DemandOf demand_;
  std::vector<Site> sites_;
  FittedModel shared_;  // kInverseDistance only
};

}  // namespace headway
