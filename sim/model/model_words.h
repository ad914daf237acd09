#pragma once

#include <string>

#include "sim/model/model_spec.h"

namespace headway {

// A model's parts in a few words, for tables.

// "GQA 32/8 x 128"; of mixed models by kind with the number of layers: "12 GQA 16/2 x 256, 36 Gated
// DeltaNet 32 x 128 x 128". Heads of queries / of keys and values x their width; MLA 128, 512 + 64:
// heads, latent + RoPE.
std::string mixer_words(const ModelSpec& model);
// "14336", "8 of 128 x 768", "6 of 64 x 1408 + 2816 shared"; "no MLP".
std::string mlp_words(const ModelSpec& model);

}  // namespace headway
