#include "sim/kv/kv_layout.h"

#include <bit>
#include <cmath>
#include <utility>

#include "sim/core/errors.h"
#include "sim/model/layer_split.h"

namespace headway {
namespace {

// vLLM's attention kernels want block sizes that are a multiple of it.
constexpr std::int64_t kKernelBlock = 16;
constexpr double kPadUpTo = 1.5;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t whole(double bytes) { return static_cast<std::int64_t>(std::ceil(bytes)); }

// What a tensor-parallel rank keeps of a layer.
LayerCache rank_cache(const LayerSpec& layer, const KvLayoutOptions& o) {
  const std::int32_t tp = o.tensor_parallel_size;
  return layer_cache(split_layer(layer, tp, tp), o.kv);
}

// Layers that keep the same.
struct Kind {
  LayerCache cache = {};
  std::vector<std::int32_t> layers = {};
  double bytes_here = 0;  // a token, or of states: over the layers of this stage

  bool recurrent() const { return cache.state_bytes > 0; }
  std::int64_t size() const { return std::ssize(layers); }
};

class Layout {
 public:
  Layout(const ModelSpec& model, const KvLayoutOptions& options, std::int32_t first,
         std::int32_t layers)
      : options_(options), first_(first), end_(first + layers) {
    for (const LayerSpec& layer : model.layers) {
      const SparseSpec& sparse = layer.mixer.sparse;
      if (layer.mixer.is_attention() && sparse.compression > 1) compressed_ = true;
    }
    for (std::int32_t i = 0; i < model.num_hidden_layers(); ++i) {
      add_layer(model.layers[static_cast<std::size_t>(i)], i);
    }
  }

  KvLayout make() {
    const auto recurrent = [](const Kind& kind) { return kind.recurrent(); };
    out_.recurrent = std::any_of(kinds_.begin(), kinds_.end(), recurrent);
    out_.block_size = options_.block_size;
    if (std::all_of(kinds_.begin(), kinds_.end(), recurrent)) {
      states_alone();
    } else if (groups() && (out_.recurrent || !same_tokens())) {
      if (compressed_) merge_kinds();
      size_blocks();
      compressed_ ? a_group_a_kind() : groups_of_equal_size();
    } else {
      one_group();
    }
    // A model that keeps nothing at all still counts its sequences.
    out_.block_bytes = std::max<std::int64_t>(out_.block_bytes, 1);
    return out_;
  }

 private:
  bool groups() const { return options_.rule == KvRule::kGroups; }
  bool here(std::int32_t layer) const { return layer >= first_ && layer < end_; }

  // A compressed layer's last tokens, kept as they are, are a window beside its entries.
  void add_layer(const LayerSpec& layer, std::int32_t index) {
    LayerCache cache = rank_cache(layer, options_);
    if (groups() && layer.mixer.is_attention() && cache.state_bytes > 0) {
      const std::int32_t window = layer.mixer.window;
      add({.bytes_per_token = cache.state_bytes / window, .window = window}, index);
      cache.state_bytes = 0;
    }
    if (options_.rule == KvRule::kAllTokens) {
      add({.bytes_per_token = cache.bytes_per_token}, index);
      add({.state_bytes = cache.state_bytes}, index);
    } else {
      add(cache, index);
    }
  }

  void add(const LayerCache& cache, std::int32_t layer) {
    if (cache.bytes_per_token == 0 && cache.state_bytes == 0) return;
    const auto alike = [&](const Kind& kind) {
      return kind.cache.bytes_per_token == cache.bytes_per_token &&
             kind.cache.window == cache.window && kind.cache.state_bytes == cache.state_bytes;
    };
    auto kind = std::find_if(kinds_.begin(), kinds_.end(), alike);
    if (kind == kinds_.end()) kind = kinds_.insert(kind, {.cache = cache});
    kind->layers.push_back(layer);
    if (here(layer)) kind->bytes_here += cache.bytes_per_token + cache.state_bytes;
  }

  bool same_tokens() const {
    return std::all_of(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
      return kind.cache.window == kinds_[0].cache.window;
    });
  }

  KvGroup group_of(const Kind& kind, std::int64_t block_size) const {
    KvGroup group{.layers = static_cast<std::int32_t>(kind.size()),
                  .window = kind.cache.window,
                  .block_size = static_cast<std::int32_t>(block_size)};
    if (kind.recurrent()) {
      group.kind = KvKind::kState;
      group.states = 1 + options_.drafted_tokens;
    } else if (kind.cache.window > 0) {
      group.kind = KvKind::kWindow;
    }
    return group;
  }

  void states_alone() {
    Kind all;
    for (const Kind& kind : kinds_) {
      all.cache.state_bytes += kind.cache.state_bytes;
      all.layers.insert(all.layers.end(), kind.layers.begin(), kind.layers.end());
      all.bytes_here += kind.bytes_here;
    }
    out_.block_bytes = whole(all.bytes_here);
    if (!groups() || kinds_.empty()) {
      SIM_CHECK(options_.max_model_len > 0);
      out_.block_size = options_.max_model_len;
      all.cache.state_bytes = 0;
    }
    out_.groups.push_back(group_of(all, out_.block_size));
  }

  void one_group() {
    Kind all{.cache = {.window = kinds_[0].cache.window}};
    double states = 0;
    for (const Kind& kind : kinds_) {
      if (kind.recurrent()) {
        states += kind.bytes_here;
        continue;
      }
      all.layers.insert(all.layers.end(), kind.layers.begin(), kind.layers.end());
      all.bytes_here += kind.bytes_here;
    }
    out_.groups.push_back(group_of(all, options_.block_size));
    out_.block_bytes = whole(all.bytes_here * options_.block_size);
    out_.state_bytes = whole(states);
  }

  // Kinds that differ in nothing but width become one, as wide as all of its layers together.
  void merge_kinds() {
    std::vector<Kind> merged;
    for (const Kind& kind : kinds_) {
      const auto alike = [&](const Kind& other) {
        return other.cache.window == kind.cache.window && other.recurrent() == kind.recurrent();
      };
      auto into = std::find_if(merged.begin(), merged.end(), alike);
      if (into == merged.end()) {
        into = merged.insert(into, {.cache = {.window = kind.cache.window}});
      }
      const auto layers = static_cast<double>(kind.size());
      into->cache.bytes_per_token += layers * kind.cache.bytes_per_token;
      into->cache.state_bytes += layers * kind.cache.state_bytes;
      into->bytes_here += kind.bytes_here;
      into->layers.insert(into->layers.end(), kind.layers.begin(), kind.layers.end());
    }
    kinds_ = std::move(merged);
  }

  // The block size of the widest kind, and how many times as many tokens the others have a block.
  void size_blocks() {
    double widest = 0, largest = 0;
    for (const Kind& kind : kinds_) {
      widest = std::max(widest, kind.cache.bytes_per_token);
      largest = std::max(largest, kind.cache.state_bytes);
    }
    const auto least = kKernelBlock * whole(largest / (kKernelBlock * widest));
    out_.block_size =
        static_cast<std::int32_t>(std::max<std::int64_t>(options_.block_size, least));
    page_ = whole(out_.block_size * widest);
    for (const Kind& kind : kinds_) {
      const std::int64_t own = whole(out_.block_size * kind.cache.bytes_per_token);
      ratios_.push_back(kind.recurrent() ? 1 : page_ / own);
    }
    // A prefix that all groups have is of whole blocks of each.
    const std::int64_t most = *std::max_element(ratios_.begin(), ratios_.end());
    const bool nested = std::all_of(ratios_.begin(), ratios_.end(),
                                    [&](std::int64_t ratio) { return most % ratio == 0; });
    for (std::int64_t& ratio : ratios_) {
      if (!nested) {
        ratio = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(ratio)));
      }
    }
  }

  void a_group_a_kind() {
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      out_.groups.push_back(group_of(kinds_[k], out_.block_size * ratios_[k]));
      const double tokens = kinds_[k].recurrent() ? 1 : out_.groups.back().block_size;
      out_.block_bytes = std::max(out_.block_bytes, whole(tokens * kinds_[k].bytes_here));
    }
  }

  void groups_of_equal_size() {
    std::int64_t in_group = 0;
    const std::int64_t size = group_size();
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const std::vector<std::int32_t>& layers = kinds_[k].layers;
      const std::int64_t groups = divide_up(std::ssize(layers), size);
      out_.padding_layers += static_cast<std::int32_t>(groups * size - std::ssize(layers));
      for (std::int64_t i = 0; i < groups; ++i) {
        KvGroup group = group_of(kinds_[k], out_.block_size * ratios_[k]);
        group.layers = 0;
        std::int64_t layers_here = 0;
        for (std::int64_t at = i; at < std::ssize(layers); at += groups) {
          ++group.layers;
          layers_here += here(layers[static_cast<std::size_t>(at)]) ? 1 : 0;
        }
        in_group = std::max(in_group, layers_here);
        out_.groups.push_back(group);
      }
    }
    out_.block_bytes = page_ * in_group;
  }

  std::int64_t group_size() const {
    std::int64_t fewest = INT64_MAX, most = 0;
    for (const Kind& kind : kinds_) {
      fewest = std::min(fewest, kind.size());
      most = std::max(most, kind.size());
    }
    return static_cast<double>(most) < kPadUpTo * static_cast<double>(fewest) ? most : fewest;
  }

  const KvLayoutOptions& options_;
  std::int32_t first_, end_;
  bool compressed_ = false;
  std::vector<Kind> kinds_;
  std::int64_t page_ = 0;              // bytes of a block of one layer
  std::vector<std::int64_t> ratios_;   // by kind
  KvLayout out_;
};

std::string kept(const KvGroup& group) {
  if (group.kind == KvKind::kState) return "a state";
  if (group.kind == KvKind::kFull) return "all tokens";
  return "the last " + std::to_string(group.window);
}

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

std::int64_t KvLayout::ring(std::int64_t tokens, std::int64_t more) const {
  if (groups.empty()) return divide_up(tokens, block_size);
  std::int64_t blocks = 0;
  for (const KvGroup& group : groups) blocks += group.ring(tokens, more);
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

std::string describe(const KvLayout& layout) {
  if (layout.plain() && !layout.recurrent) return "";
  if (layout.block_a_sequence()) return "a block is a sequence's states";
  std::vector<std::pair<std::string, std::int32_t>> layers;
  for (const KvGroup& group : layout.groups) {
    const auto same = std::find_if(layers.begin(), layers.end(),
                                   [&](const auto& kind) { return kind.first == kept(group); });
    if (same == layers.end()) {
      layers.emplace_back(kept(group), group.layers);
    } else {
      same->second += group.layers;
    }
  }
  std::string text;
  for (const auto& [what, count] : layers) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) +
            (text.empty() ? " layers keep " : " ") + what;
  }
  if (layout.state_bytes > 0) text += ", others a state beside the blocks";
  const std::size_t groups = layout.groups.size();
  text += ": " + std::to_string(groups) + (groups == 1 ? " group" : " groups");
  const bool tokens = std::any_of(layout.groups.begin(), layout.groups.end(), [](const KvGroup& g) {
    return g.kind != KvKind::kState;
  });
  if (tokens) text += ", blocks of " + std::to_string(layout.block_size) + " tokens";
  return text;
}

}  // namespace headway
