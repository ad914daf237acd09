#include "sim/cost/measured_elementwise.h"

#include "sim/cost/measured_operators.h"

namespace headway {
namespace {

// The table of that op in the activations' format, or in whichever there is: these kernels stream,
// and a profile measures them in the format that its engine keeps them in.
const ProfileTable* table_of(const Profile& profile, const std::string& op, const char* dtype_key,
                             DType dtype, std::map<std::string, std::string> variant) {
  const ProfileTable* any = profile.find(op, variant);
  variant[dtype_key] = dtype_name(dtype == DType::kFp16 ? DType::kBf16 : dtype);
  const ProfileTable* same = profile.find(op, variant);
  return same != nullptr ? same : any;
}

std::optional<SitePricer> pricer(const ProfileTable* table, const std::vector<double>& site) {
  if (table == nullptr) return std::nullopt;
  return measured_operator(*table).site(site);
}

Priced sum(Priced a, Priced b) { return {a.us + b.us, weaker(a.from, b.from)}; }

}  // namespace

std::optional<MeasuredElementwise> MeasuredElementwise::find(const Profile& profile,
                                                             const RankOperators& ops,
                                                             const RankLayer& layer) {
  const MixerSpec& mixer = layer.spec.mixer;
  const MlpSpec& mlp = layer.spec.mlp;
  const bool plain = mixer.kind == MixerKind::kAttention && !mixer.output_gate &&
                     !mixer.shares_kv && !mixer.values_are_keys && mixer.q_lora_rank == 0 &&
                     mixer.sparse == SparseSpec{} && mlp.gated;
  if (!plain) return std::nullopt;
  const double hidden = static_cast<double>(ops.hidden);
  const double heads = mixer.heads, kv = mixer.kv_heads;
  const double columns = mlp.kind == MlpKind::kDense ? mlp.intermediate : mlp.shared_intermediate;
  const std::string head_dim = std::to_string(mixer.head_dim);
  const DType act = ops.precision.activations;

  const auto norm = pricer(table_of(profile, "rmsnorm", "dtype", act, {{"residual", "yes"}}),
                           {hidden});
  const auto rope = pricer(table_of(profile, "rope", "dtype", act, {{"head_dim", head_dim}}),
                           {heads, kv});
  const auto write =
      pricer(table_of(profile, "kv_write", "kv", ops.precision.kv, {{"head_dim", head_dim}}), {kv});
  if (!norm || !rope || !write) return std::nullopt;

  MeasuredElementwise out;
  out.norm_ = *norm;
  out.norms_ = layer.spec.norms;
  out.rope_ = *rope;
  out.kv_write_ = *write;
  if (columns > 0) {
    out.activation_ = pricer(table_of(profile, "silu_mul", "dtype", act, {}), {columns});
    if (!out.activation_) return std::nullopt;
  }
  out.embedding_ = pricer(table_of(profile, "embedding", "dtype", act, {}), {hidden});
  if (mixer.qk_norm) {
    out.head_norm_ = pricer(table_of(profile, "rmsnorm", "dtype", act, {{"residual", "no"}}),
                            {static_cast<double>(mixer.head_dim)});
    if (!out.head_norm_) return std::nullopt;
    out.head_norm_rows_ = heads + kv;
  }
  out.sampler_ = pricer(profile.find("sampling", {{"method", "greedy"}}),
                        {static_cast<double>(ops.vocab)});
  return out;
}

Priced MeasuredElementwise::layer(double tokens) const {
  const Priced norm = norm_.at(tokens);
  Priced all = sum({norms_ * norm.us, norm.from}, sum(rope_.at(tokens), kv_write_.at(tokens)));
  if (activation_) all = sum(all, activation_->at(tokens));
  if (head_norm_) all = sum(all, head_norm_->at(tokens * head_norm_rows_));
  return all;
}

Priced MeasuredElementwise::step(double tokens) const {
  const Priced norm = norm_.at(tokens);
  // A look-up is a copy of rows: where it was not measured, a norm stands for it.
  return sum(norm, embedding_ ? embedding_->at(tokens) : norm);
}

std::optional<Priced> MeasuredElementwise::sampler(double sequences) const {
  if (!sampler_) return std::nullopt;
  return sampler_->at(sequences);
}

}  // namespace headway
