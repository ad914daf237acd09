#pragma once

#include <string>

namespace headway {

// The config.json (in the words of Hugging Face) of the model in a GGUF file, for parse_model: the
// same keys, the same checks, the same overrides. The architecture is one of the table in gguf.cpp.
// What GGUF keeps in its tensors is read there: a missing output.weight means tied embeddings,
// attn_q.bias that there are biases, exp_probs_b a bias of the router; the size of the vocabulary
// is token_embd's. InputError: no such file, not GGUF, an unknown architecture (names the nearest),
// or a figure that is missing.
std::string gguf_to_config(const std::string& path);

}  // namespace headway
