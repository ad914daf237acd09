#include "sim/kv/kv_layout.h"

#include <cmath>

#include "sim/core/errors.h"

namespace headway {
namespace {

// vLLM's attention kernels want block sizes that are a multiple of it.
constexpr std::int64_t kKernelBlock = 16;
constexpr double kPadUpTo = 1.5;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t whole(double bytes) { return static_cast<std::int64_t>(std::ceil(bytes)); }

// What a tensor-parallel rank keeps of a layer. Fewer heads than ranks: each is kept by several.
LayerCache rank_cache(LayerSpec layer, const KvLayoutOptions& o) {
  MixerSpec& m = layer.mixer;
  const auto share = [&](std::int32_t n) {
    return static_cast<std::int32_t>(divide_up(n, o.tensor_parallel_size));
  };
  if (m.kind == MixerKind::kAttention) m.kv_heads = share(m.kv_heads);
  m.state.heads = share(m.state.heads);
  m.state.groups = share(m.state.groups);
  return layer_cache(layer, o.kv);
}

// Layers that keep the same.
struct Kind {
  LayerCache cache = {};
  std::vector<std::int32_t> layers = {};
  std::int64_t groups = 1;

  bool recurrent() const { return cache.state_bytes > 0; }
  bool like(const LayerCache& c) const {
    return c.bytes_per_token == cache.bytes_per_token && c.window == cache.window &&
           c.state_bytes == cache.state_bytes;
  }
};

class Layout {
 public:
  Layout(const ModelSpec& model, const KvLayoutOptions& options, std::int32_t first,
         std::int32_t layers)
      : options_(options), first_(first), end_(first + layers) {
    for (std::int32_t i = 0; i < model.num_hidden_layers(); ++i) {
      add(rank_cache(model.layers[static_cast<std::size_t>(i)], options), i);
    }
  }

  KvLayout make() {
    const bool attention = std::any_of(kinds_.begin(), kinds_.end(),
                                       [](const Kind& kind) { return !kind.recurrent(); });
    out_.recurrent = std::any_of(kinds_.begin(), kinds_.end(),
                                 [](const Kind& kind) { return kind.recurrent(); });
    out_.block_size = options_.block_size;
    if (!attention) {
      states_alone();
    } else if (options_.rule == KvRule::kAllTokens) {
      one_group(0);
    } else if (!out_.recurrent && same_tokens()) {
      one_group(kinds_[0].cache.window);
    } else {
      share_pages();
    }
    // A model that keeps nothing at all still counts its sequences.
    out_.block_bytes = std::max<std::int64_t>(out_.block_bytes, 1);
    return out_;
  }

 private:
  bool here(std::int32_t layer) const { return layer >= first_ && layer < end_; }

  void add(const LayerCache& cache, std::int32_t layer) {
    if (cache.bytes_per_token == 0 && cache.state_bytes == 0) return;
    auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                             [&](const Kind& other) { return other.like(cache); });
    if (kind == kinds_.end()) kind = kinds_.insert(kind, Kind{.cache = cache});
    kind->layers.push_back(layer);
    if (!here(layer)) return;
    token_bytes_ += cache.bytes_per_token;
    state_bytes_ += cache.state_bytes;
  }

  bool same_tokens() const {
    return std::all_of(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
      return kind.cache.window == kinds_[0].cache.window;
    });
  }

  KvGroup group_of(const Kind& kind, std::int32_t block_size) const {
    KvGroup group{.layers = static_cast<std::int32_t>(kind.layers.size()),
                  .window = kind.cache.window,
                  .block_size = block_size};
    if (kind.recurrent()) {
      group.kind = KvKind::kState;
      group.states = 1 + options_.drafted_tokens;
    } else if (kind.cache.window > 0) {
      group.kind = KvKind::kWindow;
    }
    return group;
  }

  void states_alone() {
    out_.block_bytes = whole(state_bytes_);
    Kind all;
    for (const Kind& kind : kinds_) {
      all.cache = kind.cache;
      all.layers.insert(all.layers.end(), kind.layers.begin(), kind.layers.end());
    }
    KvGroup group = group_of(all, options_.block_size);
    if (options_.rule == KvRule::kAllTokens || kinds_.empty()) {
      SIM_CHECK(options_.max_model_len > 0);
      out_.block_size = options_.max_model_len;
      group = {.layers = group.layers, .block_size = out_.block_size};
    }
    out_.groups.push_back(group);
  }

  void one_group(std::int32_t window) {
    Kind all{.cache = {.bytes_per_token = token_bytes_, .window = window}};
    for (const Kind& kind : kinds_) {
      if (kind.recurrent()) continue;
      all.layers.insert(all.layers.end(), kind.layers.begin(), kind.layers.end());
    }
    out_.groups.push_back(group_of(all, options_.block_size));
    out_.block_bytes = whole(token_bytes_ * options_.block_size);
    out_.state_bytes = whole(state_bytes_);
  }

  void share_pages() {
    double widest = 0, largest = 0;
    for (const Kind& kind : kinds_) {
      widest = std::max(widest, kind.cache.bytes_per_token);
      largest = std::max(largest, kind.cache.state_bytes);
    }
    const auto unit = kKernelBlock * widest;
    const auto least = largest > 0 ? kKernelBlock * whole(largest / unit) : 0;
    out_.block_size =
        static_cast<std::int32_t>(std::max<std::int64_t>(options_.block_size, least));
    const std::int64_t page = whole(out_.block_size * widest);
    std::int64_t in_group = 0;
    const std::int64_t size = group_size();
    for (Kind& kind : kinds_) {
      kind.groups = divide_up(std::ssize(kind.layers), size);
      out_.padding_layers += static_cast<std::int32_t>(kind.groups * size - std::ssize(kind.layers));
      const std::int64_t own = whole(out_.block_size * kind.cache.bytes_per_token);
      const std::int64_t ratio = kind.recurrent() ? 1 : page / own;
      for (std::int64_t i = 0; i < kind.groups; ++i) {
        KvGroup group = group_of(kind, static_cast<std::int32_t>(out_.block_size * ratio));
        group.layers = 0;
        std::int64_t layers_here = 0;
        for (auto at = static_cast<std::size_t>(i); at < kind.layers.size();
             at += static_cast<std::size_t>(kind.groups)) {
          ++group.layers;
          layers_here += here(kind.layers[at]) ? 1 : 0;
        }
        in_group = std::max(in_group, layers_here);
        out_.groups.push_back(group);
      }
    }
    out_.block_bytes = page * in_group;
  }

  std::int64_t group_size() const {
    std::int64_t fewest = INT64_MAX, most = 0;
    for (const Kind& kind : kinds_) {
      fewest = std::min<std::int64_t>(fewest, std::ssize(kind.layers));
      most = std::max<std::int64_t>(most, std::ssize(kind.layers));
    }
    return static_cast<double>(most) < kPadUpTo * static_cast<double>(fewest) ? most : fewest;
  }

  const KvLayoutOptions& options_;
  std::int32_t first_, end_;
  std::vector<Kind> kinds_;
  double token_bytes_ = 0;  // of the layers here, a token
  double state_bytes_ = 0;  // of the layers here, a sequence
  KvLayout out_;
};

}  // namespace

std::int64_t KvLayout::held(std::int64_t computed, std::int64_t end) const {
  if (groups.empty()) return divide_up(end, block_size);
  std::int64_t blocks = 0;
  for (const KvGroup& group : groups) blocks += group.held(computed, end);
  return blocks;
}

std::int64_t KvLayout::most(std::int64_t tokens, std::int64_t step) const {
  if (groups.empty()) return divide_up(tokens, block_size);
  std::int64_t blocks = 0;
  for (const KvGroup& group : groups) blocks += group.most(tokens, step);
  return blocks;
}

std::int32_t KvLayout::period() const {
  std::int32_t longest = block_size;
  for (const KvGroup& group : groups) longest = std::max(longest, group.block_size);
  return longest;
}

KvLayout kv_layout(const ModelSpec& model, const KvLayoutOptions& options, std::int32_t first_layer,
                   std::int32_t layers) {
  SIM_CHECK(options.block_size > 0 && options.tensor_parallel_size > 0);
  return Layout(model, options, first_layer, layers).make();
}

KvLayout kv_layout(const ModelSpec& model, const KvLayoutOptions& options) {
  return kv_layout(model, options, 0, model.num_hidden_layers());
}

}  // namespace headway
