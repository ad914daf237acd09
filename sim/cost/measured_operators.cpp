#include "sim/cost/measured_operators.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sim/core/errors.h"
#include "sim/cost/operators.h"

namespace headway {
namespace {

using Variant = std::map<std::string, std::string>;

DType dtype_of(const ProfileTable& table, const char* key) {
  const auto it = table.variant.find(key);
  return it == table.variant.end() ? DType::kBf16 : parse_dtype(it->second, table.file, key);
}

OperatorTable::DemandOf gemm_demand(const ProfileTable& table) {
  Precision precision;
  precision.weights = dtype_of(table, "weights");
  precision.activations = dtype_of(table, "activations");
  return [precision](const double* key) {
    const double n = key[0], k = key[1], m = key[2];
    return Demand{{2 * m * n * k, n * k * bytes_per_element(precision.weights) +
                                      m * k * bytes_per_element(precision.activations) +
                                      m * n * kHiddenBytes},
                  0};
  };
}

double size_of(const ProfileTable& table, const char* key, const char* what) {
  const auto it = table.variant.find(key);
  const std::string text = it == table.variant.end() ? "" : it->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) {
    throw InputError(
        {table.file, std::string("variant.") + key, "\"" + text + "\"", what});
  }
  return static_cast<double>(value);
}
double head_dim_of(const ProfileTable& table) { return size_of(table, "head_dim", "a head size"); }

OperatorTable::DemandOf attention_demand(const ProfileTable& table, bool prefill) {
  const double head_dim = head_dim_of(table);
  const DType kv = dtype_of(table, "kv");
  return [head_dim, kv, prefill](const double* key) {
    const AttentionWidths heads{key[0], key[1], head_dim, kv};
    const double batch = key[2], length = key[3];
    return Demand{prefill ? prefill_attention_work(heads, batch, length, 0)
                          : decode_attention_work(heads, batch, batch * length),
                  batch};
  };
}

OperatorTable::DemandOf moe_demand(const ProfileTable& table) {
  const DType weights = dtype_of(table, "weights");
  return [weights](const double* key) {
    ExpertWidths widths;
    widths.hidden = key[0];
    widths.ffn = std::floor(key[1] / key[4]);
    widths.per_token = key[2];
    widths.experts = widths.held = key[3];
    widths.precision.weights = widths.precision.activations = weights;
    Work work = experts_work(widths, key[6]);
    work.flops /= key[5];  // each of the ep ranks holds a share of the experts
    work.bytes /= key[5];
    return Demand{work, 0};
  };
}

// A ring moves 2 (p - 1) / p of the message past every GPU.
Demand all_reduce_demand(const double* key) {
  return {{0, 2 * (key[0] - 1) / key[0] * key[1]}, 0};
}

// Each GPU sends or gets (p - 1) / p of the message.
Demand exchange_demand(const double* key) { return {{0, (key[0] - 1) / key[0] * key[1]}, 0}; }

// Widths unknown: a constant (the weights) against a part in proportion to the rows.
Demand by_rows_demand(const double* key) { return {{key[0], 1}, 0}; }
Demand experts_by_rows_demand(const double* key) { return {{key[0], key[1]}, 0}; }

// Pairs of query and key against KV tokens read; widths are the same for all rows.
Demand mixed_attention_demand(const double* key) {
  const double chunk = key[0], context = key[1], sequences = key[2], kv = key[3];
  return {{chunk * context + chunk * (chunk + 1) / 2 + sequences * kv,
           context + 2 * chunk + sequences * (kv + 1)},
          sequences};
}

OperatorTable::DemandOf prefill_past_demand(const ProfileTable& table) {
  const double head_dim = head_dim_of(table);
  const DType kv = dtype_of(table, "kv");
  return [head_dim, kv](const double* key) {
    const AttentionWidths heads{key[0], key[1], head_dim, kv};
    return Demand{prefill_attention_work(heads, key[2], key[4], key[3]), key[2]};
  };
}

// One latent a token, which all heads read; it is key and value in one.
OperatorTable::DemandOf mla_demand(const ProfileTable& table) {
  const double latent = size_of(table, "latent", "the elements of a latent");
  const double rope = size_of(table, "rope", "the elements of a rotated key");
  const double bytes = bytes_per_element(dtype_of(table, "kv"));
  return [latent, rope, bytes](const double* key) {
    const double heads = key[0], batch = key[1], kv = key[1] * key[2];
    return Demand{{2 * heads * kv * (2 * latent + rope),
                   kv * (latent + rope) * bytes +
                       batch * heads * (2 * latent + rope) * kHiddenBytes},
                  batch};
  };
}

// Streams over rows: elements of a row that go over the bus, by the axes before the last, whose
// value is the number of rows.
using RowElements = double (*)(const double* key, double head_dim);
OperatorTable::DemandOf streaming_demand(const ProfileTable& table, std::size_t rows_axis,
                                         RowElements elements) {
  const double head_dim = table.variant.contains("head_dim") ? head_dim_of(table) : 1;
  const double bytes =
      bytes_per_element(dtype_of(table, table.variant.contains("kv") ? "kv" : "dtype"));
  return [=](const double* key) {
    const double moved = key[rows_axis] * elements(key, head_dim);
    return Demand{{moved, moved * bytes}, 0};
  };
}

OperatorTable::DemandOf rmsnorm_demand(const ProfileTable& t) {
  const auto it = t.variant.find("residual");
  const bool residual = it != t.variant.end() && it->second == "yes";
  return streaming_demand(t, 1, residual ? [](const double* key, double) { return 4 * key[0]; }
                                         : [](const double* key, double) { return 2 * key[0]; });
}
OperatorTable::DemandOf rope_demand(const ProfileTable& t) {
  return streaming_demand(
      t, 2, [](const double* key, double head_dim) { return 2 * (key[0] + key[1]) * head_dim; });
}
OperatorTable::DemandOf silu_demand(const ProfileTable& t) {
  return streaming_demand(t, 1, [](const double* key, double) { return 3 * key[0]; });
}
OperatorTable::DemandOf kv_write_demand(const ProfileTable& t) {
  return streaming_demand(
      t, 1, [](const double* key, double head_dim) { return 4 * key[0] * head_dim; });
}
OperatorTable::DemandOf embedding_demand(const ProfileTable& t) {
  return streaming_demand(t, 1, [](const double* key, double) { return 2 * key[0]; });
}
OperatorTable::DemandOf sampling_demand(const ProfileTable& t) {
  return streaming_demand(t, 1, [](const double* key, double) { return key[0]; });
}
OperatorTable::DemandOf verify_demand(const ProfileTable& t) {
  return streaming_demand(t, 1,
                          [](const double* key, double) { return key[0] * (2 * key[2] + 1); });
}

// A recurrent state, read and written once a token.
OperatorTable::DemandOf state_demand(const ProfileTable& table) {
  const double bytes = bytes_per_element(dtype_of(table, "state_dtype"));
  return [bytes](const double* key) {
    const double state = key[0] * key[1] * key[2] * key[3];
    return Demand{{6 * state, 2 * state * bytes}, 0};
  };
}

struct MeasuredOp {
  const char* op;
  std::size_t site_axes;
  SitePolicy policy;
  OperatorTable::DemandOf (*demand)(const ProfileTable&);
};

const std::array<MeasuredOp, 23>& measured_ops() {
  static const std::array<MeasuredOp, 23> rows{{
      {"gemm", 2, SitePolicy::kInverseDistance, gemm_demand},
      {"attn_prefill", 2, SitePolicy::kNearest,
       [](const ProfileTable& t) { return attention_demand(t, true); }},
      {"attn_decode", 2, SitePolicy::kNearest,
       [](const ProfileTable& t) { return attention_demand(t, false); }},
      {"moe", 6, SitePolicy::kNearest, moe_demand},
      {"all_reduce", 1, SitePolicy::kNearest,
       [](const ProfileTable&) -> OperatorTable::DemandOf { return all_reduce_demand; }},
      {"all_gather", 1, SitePolicy::kNearest,
       [](const ProfileTable&) -> OperatorTable::DemandOf { return exchange_demand; }},
      {"reduce_scatter", 1, SitePolicy::kNearest,
       [](const ProfileTable&) -> OperatorTable::DemandOf { return exchange_demand; }},
      {"all_to_all", 1, SitePolicy::kNearest,
       [](const ProfileTable&) -> OperatorTable::DemandOf { return exchange_demand; }},
      {"layer", 0, SitePolicy::kNearest,
       [](const ProfileTable&) -> OperatorTable::DemandOf { return by_rows_demand; }},
      {"layer_experts", 0, SitePolicy::kNearest,
       [](const ProfileTable&) -> OperatorTable::DemandOf { return experts_by_rows_demand; }},
      {"per_sequence", 0, SitePolicy::kNearest,
       [](const ProfileTable&) -> OperatorTable::DemandOf { return by_rows_demand; }},
      {"attn_mixed", 0, SitePolicy::kNearest,
       [](const ProfileTable&) -> OperatorTable::DemandOf { return mixed_attention_demand; }},
      {"rmsnorm", 1, SitePolicy::kInverseDistance, rmsnorm_demand},
      {"rope", 2, SitePolicy::kNearest, rope_demand},
      {"silu_mul", 1, SitePolicy::kInverseDistance, silu_demand},
      {"kv_write", 1, SitePolicy::kNearest, kv_write_demand},
      {"embedding", 1, SitePolicy::kInverseDistance, embedding_demand},
      {"sampling", 1, SitePolicy::kNearest, sampling_demand},
      {"rejection_verify", 1, SitePolicy::kNearest, verify_demand},
      {"attn_prefill_past", 2, SitePolicy::kNearest, prefill_past_demand},
      {"mla_decode", 1, SitePolicy::kNearest, mla_demand},
      {"ssm_update", 3, SitePolicy::kNearest, state_demand},
      {"gdn_update", 3, SitePolicy::kNearest, state_demand},
  }};
  return rows;
}

const MeasuredOp* find_row(const std::string& op) {
  const auto& rows = measured_ops();
  const auto it =
      std::find_if(rows.begin(), rows.end(), [&](const MeasuredOp& row) { return op == row.op; });
  return it == rows.end() ? nullptr : &*it;
}

}  // namespace

bool has_price(const std::string& op) { return find_row(op) != nullptr; }

OperatorTable measured_operator(const ProfileTable& table) {
  const MeasuredOp* row = find_row(table.op);
  if (row == nullptr) {
    throw InputError({table.file, "op", table.op, "an operator that a cost model asks for"});
  }
  if (table.rows() == 0) throw InputError({table.file, "", "no row", "at least one"});
  return OperatorTable(table, row->site_axes, row->policy, row->demand(table));
}

}  // namespace headway
