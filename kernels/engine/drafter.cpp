#include "kernels/engine/drafter.h"

#include <algorithm>

#include "kernels/engine/decoder.h"

namespace headway::kernels {
namespace {

constexpr std::size_t kLongest = 4, kShortest = 2;

std::vector<std::int32_t> look_up(std::span<const std::int32_t> text, std::size_t count) {
  for (std::size_t n = std::min(kLongest, text.size() - 1); n >= kShortest; --n) {
    const auto suffix = text.last(n);
    for (std::size_t end = text.size() - 1; end >= n; --end) {
      if (!std::equal(suffix.begin(), suffix.end(),
                      text.begin() + static_cast<std::ptrdiff_t>(end - n))) {
        continue;
      }
      const auto found = text.subspan(end, std::min(count, text.size() - end));
      return {found.begin(), found.end()};
    }
  }
  return {};
}

class NgramDrafter final : public Drafter {
 public:
  std::vector<std::vector<std::int32_t>> propose(std::span<const DraftRequest> requests,
                                                 std::int32_t count) override {
    std::vector<std::vector<std::int32_t>> drafts;
    for (const DraftRequest& r : requests) {
      drafts.push_back(look_up(r.text, static_cast<std::size_t>(count)));
    }
    return drafts;
  }
};

class LayerDrafter final : public Drafter {
 public:
  LayerDrafter(EngineBackend& backend, std::int32_t layers, std::int32_t page_size)
      : backend_(backend), layers_(layers), page_size_(page_size) {}

  std::vector<std::vector<std::int32_t>> propose(std::span<const DraftRequest> requests,
                                                 std::int32_t count) override {
    std::vector<std::vector<std::int32_t>> drafts(requests.size());
    for (std::int32_t i = 0; i < count; ++i) {
      std::vector<std::size_t> going;
      step_.clear();
      for (std::size_t r = 0; r < requests.size(); ++r) {
        if (add_row(requests[r], drafts[r], i)) going.push_back(r);
      }
      if (going.empty()) break;
      const auto tokens = decode_step(backend_, step_, layers_);
      for (std::size_t row = 0; row < going.size(); ++row)
        drafts[going[row]].push_back(tokens[row]);
    }
    return drafts;
  }

 private:
  // The newest token of the text with its drafts, at its place in the pages.
  bool add_row(const DraftRequest& request, const std::vector<std::int32_t>& drafts,
               std::int32_t round) {
    if (std::ssize(drafts) != round) return false;  // had no room in an earlier round
    const auto position = static_cast<std::int32_t>(std::ssize(request.text)) - 1 + round;
    if (position >= std::min(request.room, backend_.shape().max_positions)) return false;
    const auto page = static_cast<std::size_t>(position / page_size_);
    const std::int32_t row = step_.rows();
    step_.tokens.push_back(round == 0 ? request.text.back() : drafts.back());
    step_.positions.push_back(position);
    step_.slots.push_back(std::int64_t{request.pages[page]} * page_size_ + position % page_size_);
    step_.sequences.push_back({row, 1, position, {request.pages.begin(), request.pages.end()}});
    step_.sampled_rows.push_back(row);
    return true;
  }

  EngineBackend& backend_;
  std::int32_t layers_, page_size_;
  StepInput step_;
};

}  // namespace

std::unique_ptr<Drafter> make_ngram_drafter() { return std::make_unique<NgramDrafter>(); }

std::unique_ptr<Drafter> make_layer_drafter(EngineBackend& backend, std::int32_t layers,
                                            std::int32_t page_size) {
  return std::make_unique<LayerDrafter>(backend, layers, page_size);
}

}  // namespace headway::kernels
