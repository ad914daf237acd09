#pragma once

#include "sim/cost/operator_work.h"

namespace headway {

// The kinds behind decode_operators and prefill_operators, one file each.
OperatorParts attention_decode(const RankOperators& ops, const RankLayer& layer, double batch,
                               double kv_tokens);
OperatorParts attention_prefill(const RankOperators& ops, const RankLayer& layer,
                                const std::vector<PrefillChunk>& chunks);
OperatorParts latent_decode(const RankOperators& ops, const RankLayer& layer, double batch,
                            double kv_tokens);
OperatorParts latent_prefill(const RankOperators& ops, const RankLayer& layer,
                             const std::vector<PrefillChunk>& chunks);
OperatorParts state_decode(const RankOperators& ops, const RankLayer& layer, double batch);
OperatorParts state_prefill(const RankOperators& ops, const RankLayer& layer,
                            const std::vector<PrefillChunk>& chunks);

// What a query looks at, over the sequences of a step. An entry of a compressed cache stands for
// `SparseSpec::compression` tokens; beside those entries the last `window` tokens stay as they are.
struct Attended {
  double entries = 0;   // in the cache and in sight: what an indexer scores
  double attended = 0;  // entries chosen, and tokens beside them: what attention reads
};
Attended attended_in_decode(const MixerSpec& mixer, double batch, double kv_tokens);

struct PrefillTotals {
  double sequences = 0, new_tokens = 0;
  double pairs = 0;         // of queries and what they attend to
  double scored_pairs = 0;  // of queries and entries that an indexer scores
  double scored = 0;        // entries that it reads, each once a chunk
  double entries = 0;       // entries and tokens that attention reads, each once a chunk
  double context = 0;       // of the entries, those that were there before
};
PrefillTotals prefill_totals(const MixerSpec& mixer, const std::vector<PrefillChunk>& chunks);

// Elements that attention keeps of a token and KV head: keys and values, or one vector for both.
inline double kept_width(const MixerSpec& m) {
  return m.values_are_keys ? m.head_dim : m.head_dim + m.v_head_dim;
}

// The scores of the indexer that chooses the top k; nothing where there is none.
void add_indexer(const RankOperators& ops, const MixerSpec& mixer, OpClass op, double queries,
                 double pairs, double entries, OperatorParts& parts);

}  // namespace headway
