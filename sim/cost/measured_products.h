#pragma once

#include <functional>
#include <map>
#include <string>

#include "sim/cost/interpolation.h"
#include "sim/cost/operator_work.h"
#include "sim/cost/profile.h"

namespace headway {

using Variant = std::map<std::string, std::string>;

// Tables name 16-bit floats bf16: both run at the same speed.
std::string table_dtype(DType dtype);
// The table of that op and variant; InputError that names those there are.
const ProfileTable& need_table(const Profile& profile, const std::string& op,
                               const Variant& variant);
// A measured time for another call: what lies above the floor, by the ratio of the two rooflines.
Priced scaled(Priced measured, double floor_us, double ratio);

// The time of one call by its rows. Holds all it needs.
using RowsPricer = std::function<Priced(double rows)>;

// Matrix products of a profile, by site.
//
// Formats that were not measured (int8, int4, fp4, mixed ones) are priced from the nearest table
// that was: 8-bit products where activations are 8 bits wide, else 16-bit ones, scaled by the ratio
// of the two rooflines above the launch floor, and tagged roofline. So floor and efficiency are
// those of real kernels, and what a format saves is what its bytes and its peak say.
class MeasuredProducts {
 public:
  // All must outlive this object, not what it makes.
  MeasuredProducts(const Profile& profile, const RankOperators& ops, const GpuSpec& gpu)
      : profile_(profile), ops_(ops), gpu_(gpu) {}

  RowsPricer product(const GemmSite& site);
  // All products of the chosen experts, by tokens. Real routing is uneven: the power-law load where
  // it was measured; a model that states its own skew is priced from the balanced load, scaled as
  // formats are. Without a table: as one wide product of the experts that are hit, of as many rows as
  // each gets, tagged roofline. REQUIRES: layer.is_moe().
  RowsPricer experts(const RankLayer& layer);
  // Of a product in 16 bits: floor and efficiencies of products that no table holds.
  FittedModel model();

 private:
  struct Source {
    const ProfileTable* table;
    bool exact;  // of the very format
  };
  Source gemm_source(const Precision& own) const;
  Source expert_source(bool own_skew) const;
  const OperatorTable& read(const ProfileTable& table);
  RowsPricer experts_as_product(const RankLayer& layer);

  const Profile& profile_;
  const RankOperators& ops_;
  const GpuSpec& gpu_;
  std::map<const ProfileTable*, OperatorTable> read_;  // so that each is fitted once
};

}  // namespace headway
