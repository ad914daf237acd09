// SGLang's cache-aware rule (sgl-model-gateway, src/policies/cache_aware.rs, b93974f1 of late 2025),
// with loads = requests sent and not answered:
//
//     imbalanced = (max - min > balance_abs_threshold) and (max > min * balance_rel_threshold)
//                  (its documentation says "or"; the code says "and", and so do we)
//     imbalanced                                  -> the least loaded
//     else matched / prompt > cache_threshold     -> the owner of the longest match in the tree
//     else                                        -> the least loaded (its comment says: the smallest
//                                                    tree)
//     and the prompt is inserted as the chosen one's; every eviction_interval the least recently used
//     ends of texts go until each replica has at most max_tree_tokens.
//
// The gateway counts characters, we tokens (prefix_tree.h). The defaults are those of its command line;
// its max_tree_size of 2^26 characters stands here as 2^24 tokens, at four characters a token.
#include <array>
#include <vector>

#include "sim/routing/prefix_tree.h"
#include "sim/routing/routers.h"
#include "sim/workload/prompt_runs.h"

namespace headway {
namespace {

constexpr std::array kOptions{
    RouterOption{"cache_threshold", "share of a prompt that must match for the match to decide", 0, 1,
                 0.3},
    RouterOption{"balance_abs_threshold",
                 "imbalance: the most loaded has more than that many requests more", 0, 1e9, 64, true},
    RouterOption{"balance_rel_threshold",
                 "imbalance: and more than that many times as many as the least loaded", 1, 1e9, 1.5},
    RouterOption{"eviction_interval_s", "how often the tree is cut back; 0 = never", 0, 1e9, 120},
    RouterOption{"max_tree_tokens", "what each replica keeps in the tree then", 0, 1e15, 1 << 24, true},
};

class CacheAware : public Router {
 public:
  explicit CacheAware(const RouterConfig& config)
      : cache_threshold_(config.value(kOptions[0])),
        abs_threshold_(static_cast<std::int64_t>(config.value(kOptions[1]))),
        rel_threshold_(config.value(kOptions[2])),
        interval_(SimTime::from_seconds(config.value(kOptions[3]))),
        max_tree_tokens_(static_cast<std::int64_t>(config.value(kOptions[4]))),
        next_eviction_(interval_ == SimTime() ? SimTime::never() : interval_) {}

  std::size_t choose(const Request& request, std::span<const ReplicaLoad> loads,
                     SimTime now) override {
    evict_until(now);
    prompt_runs(request, runs_);
    const std::size_t chosen = imbalanced(loads) ? least_outstanding(loads) : by_cache(request, loads);
    tree_.insert(runs_, loads[chosen].replica);
    return chosen;
  }

  void on_gone(std::uint32_t replica) override { tree_.remove(replica); }

 private:
  bool imbalanced(std::span<const ReplicaLoad> loads) const {
    const auto [least, most] =
        std::minmax_element(loads.begin(), loads.end(), [](auto& a, auto& b) {
          return a.outstanding < b.outstanding;
        });
    return most->outstanding - least->outstanding > abs_threshold_ &&
           static_cast<double>(most->outstanding) >
               static_cast<double>(least->outstanding) * rel_threshold_;
  }

  std::size_t by_cache(const Request& request, std::span<const ReplicaLoad> loads) {
    takes_.assign(loads.back().replica + 1, false);
    for (const ReplicaLoad& load : loads) takes_[load.replica] = true;
    const PrefixTree::Match match = tree_.match(runs_, takes_);
    const double rate = static_cast<double>(match.tokens) / request.prompt_tokens;
    if (match.tokens == 0 || rate <= cache_threshold_) return least_outstanding(loads);
    return index_of(loads, match.owner);
  }

  // Nothing is inserted between the instant it was due and the next choice.
  void evict_until(SimTime now) {
    if (now < next_eviction_) return;
    tree_.evict(max_tree_tokens_);
    next_eviction_ = interval_ * (now.ns() / interval_.ns() + 1);
  }

  double cache_threshold_;
  std::int64_t abs_threshold_;
  double rel_threshold_;
  SimTime interval_;
  std::int64_t max_tree_tokens_;
  SimTime next_eviction_;
  PrefixTree tree_;
  std::vector<PromptRun> runs_;
  std::vector<bool> takes_;  // by replica
};

}  // namespace

std::unique_ptr<Router> make_cache_aware(const RouterConfig& config) {
  return std::make_unique<CacheAware>(config);
}

std::span<const RouterOption> cache_aware_options() { return kOptions; }

}  // namespace headway
