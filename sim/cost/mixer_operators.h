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

// What a query looks at, over the sequences of a step. An entry of the cache stands for
// `SparseSpec::compression` tokens.
struct Attended {
  double entries = 0;   // in the cache and inside the window: what an indexer scores
  double attended = 0;  // of them, read by attention itself
};
Attended attended_in_decode(const MixerSpec& mixer, double batch, double kv_tokens);

struct PrefillTotals {
  double sequences = 0, new_tokens = 0;
  double pairs = 0;         // of queries and entries attended to
  double scored_pairs = 0;  // of queries and entries that an indexer scores
  double entries = 0;       // of the cache that are read, each once a chunk
  double context = 0;       // tokens that were there before
};
PrefillTotals prefill_totals(const MixerSpec& mixer, const std::vector<PrefillChunk>& chunks);

// The scores of the indexer that chooses the top k; nothing where there is none.
void add_indexer(const RankOperators& ops, const MixerSpec& mixer, OpClass op, double queries,
                 double pairs, double entries, OperatorParts& parts);

}  // namespace headway
