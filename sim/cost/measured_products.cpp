#include "sim/cost/measured_products.h"

#include <algorithm>

#include "sim/core/errors.h"
#include "sim/cost/measured_operators.h"

namespace headway {
namespace {

std::string text_of(const Variant& variant) {
  std::string text;
  for (const auto& [key, value] : variant) text += (text.empty() ? "" : " ") + key + "=" + value;
  return text;
}

Variant gemm_variant(DType weights, DType activations) {
  return {{"weights", table_dtype(weights)}, {"activations", table_dtype(activations)}};
}

// What the rows of a table were measured in.
Precision precision_of(const ProfileTable& table, Precision like) {
  like.kept_fraction = 0;
  like.group_size = 0;
  like.weights = parse_dtype(table.variant.at("weights"), table.file, "weights");
  const auto activations = table.variant.find("activations");
  like.activations = activations == table.variant.end()
                         ? like.weights
                         : parse_dtype(activations->second, table.file, "activations");
  return like;
}

}  // namespace

std::string table_dtype(DType dtype) {
  return dtype_name(dtype == DType::kFp16 ? DType::kBf16 : dtype);
}

const ProfileTable& need_table(const Profile& profile, const std::string& op,
                               const Variant& variant) {
  if (const ProfileTable* table = profile.find(op, variant)) return *table;
  std::string choices;
  for (const ProfileTable& table : profile.tables) {
    if (table.op == op) choices += (choices.empty() ? "" : "; ") + text_of(table.variant);
  }
  throw InputError({"", "profile " + profile.name, op + " with " + text_of(variant),
                    choices.empty() ? "a profile that has " + op : "one of: " + choices});
}

Priced scaled(Priced measured, double floor_us, double ratio) {
  const double floor = std::min(floor_us, measured.us);
  return {floor + (measured.us - floor) * ratio, Coverage::kRoofline};
}

MeasuredProducts::Source MeasuredProducts::gemm_source(const Precision& own) const {
  if (own.kept_fraction == 0) {
    Variant variant = gemm_variant(own.weights, own.activations);
    if (own.weights == DType::kFp8 && own.group_size == 128) variant["scaling"] = "block";
    if (const ProfileTable* table = profile_.find("gemm", variant)) return {table, true};
  }
  if (bytes_per_element(own.activations) < 2) {
    const ProfileTable* table = profile_.find("gemm", gemm_variant(DType::kFp8, DType::kFp8));
    if (table != nullptr) return {table, false};
  }
  const ProfileTable* wide = profile_.find("gemm", gemm_variant(DType::kBf16, DType::kBf16));
  if (wide != nullptr) return {wide, false};
  return {&need_table(profile_, "gemm", gemm_variant(own.weights, own.activations)), true};
}

const OperatorTable& MeasuredProducts::read(const ProfileTable& table) {
  auto it = read_.find(&table);
  if (it == read_.end()) it = read_.emplace(&table, measured_operator(table)).first;
  return it->second;
}

RowsPricer MeasuredProducts::product(const GemmSite& site) {
  const Precision own = gemm_precision(site, ops_.precision);
  const Source source = gemm_source(own);
  const SitePricer measured =
      read(*source.table).site({static_cast<double>(site.n), static_cast<double>(site.k)});
  if (source.exact) return [measured](double rows) { return measured.at(rows); };
  const Precision base = precision_of(*source.table, own);
  return [measured, base, own, site, gpu = gpu_](double rows) {
    const double ratio = operator_us(gemm_operator(site, rows, own), gpu) /
                         operator_us(gemm_operator(site, rows, base), gpu);
    return scaled(measured.at(rows), measured.floor_us(), ratio);
  };
}

FittedModel MeasuredProducts::model() {
  const Precision wide;
  return read(*gemm_source(wide).table)
      .site({static_cast<double>(ops_.hidden), static_cast<double>(ops_.hidden)})
      .model();
}

MeasuredProducts::Source MeasuredProducts::expert_source(bool own_skew) const {
  const char* load = own_skew ? "balanced" : "power_law_1.2";
  const auto table_of = [&](DType weights) {
    const std::string name = table_dtype(weights);
    const ProfileTable* table = profile_.find("moe", {{"weights", name}, {"distribution", load}});
    return table != nullptr ? table : profile_.find("moe", {{"weights", name}});
  };
  const Precision& own = ops_.precision;
  if (own.kept_fraction == 0) {
    if (const ProfileTable* table = table_of(own.weights)) return {table, !own_skew};
  }
  if (bytes_per_element(own.activations) < 2) {
    if (const ProfileTable* table = table_of(DType::kFp8)) return {table, false};
  }
  return {table_of(DType::kBf16), false};
}

RowsPricer MeasuredProducts::experts(const RankLayer& layer) {
  const Source source = expert_source(!layer.expert_chances.empty());
  if (source.table == nullptr) return experts_as_product(layer);
  const MlpSpec& mlp = layer.spec.mlp;
  const double columns =
      std::max(1, ops_.tensor_parallel * ops_.data_parallel / ops_.expert_parallel);
  const SitePricer measured = read(*source.table)
                                  .site({static_cast<double>(ops_.hidden),
                                         mlp.expert_intermediate * columns,
                                         static_cast<double>(mlp.experts_per_tok),
                                         static_cast<double>(mlp.experts), columns,
                                         static_cast<double>(ops_.expert_parallel)});
  if (source.exact && mlp.gated) return [measured](double tokens) { return measured.at(tokens); };
  RankOperators own = ops_, base = ops_;
  base.precision = precision_of(*source.table, ops_.precision);
  RankLayer plain = layer;  // as every table is
  plain.spec.mlp.gated = true;
  plain.expert_chances.clear();
  return [=, gpu = gpu_](double tokens) {
    const double ratio = operator_us(experts_operator(own, layer, tokens), gpu) /
                         operator_us(experts_operator(base, plain, tokens), gpu);
    return scaled(measured.at(tokens), measured.floor_us(), ratio);
  };
}

RowsPricer MeasuredProducts::experts_as_product(const RankLayer& layer) {
  const ExpertWidths widths = expert_widths(ops_, layer);
  const GemmSite wide{"experts",
                      static_cast<std::int64_t>(widths.held * widths.matrices * widths.ffn),
                      ops_.hidden};
  const RowsPricer measured = product(wide);
  const double floor_us = model().floor_us;
  return [=](double tokens) {
    const double hit = experts_hit(widths, tokens);
    if (hit <= 0) return Priced{0, Coverage::kRoofline};
    const double rows = std::max(1.0, expert_rows(widths, tokens) / hit);
    return scaled(measured(rows), floor_us, hit / widths.held);
  };
}

}  // namespace headway
