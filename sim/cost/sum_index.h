#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headway {

// Finds a place among entries of ascending sums. They are looked up by cells of equal width, of which
// there are about as many as sums, so that a cell has few of them, as a rule.
class SumIndex {
 public:
  // REQUIRES: ascending, none below 0; not empty.
  explicit SumIndex(const std::vector<std::int64_t>& sums) {
    const auto width = static_cast<std::uint64_t>(sums.back()) / sums.size();
    shift_ = std::bit_width(width);
    std::uint32_t at = 0;
    for (std::int64_t from = 0; from <= sums.back(); from += std::int64_t{1} << shift_) {
      while (at + 1 < sums.size() && sums[at + 1] <= from) ++at;
      cells_.push_back(at);
    }
    cells_.push_back(static_cast<std::uint32_t>(sums.size() - 1));
  }
  // The last entry whose sum, `sum_of(entry)`, is not above `sum`. REQUIRES: the first entry's <= sum <= the
  // last one's. Without a branch that depends on where in its cell it lies.
  template <typename Entry, typename SumOf>
  const Entry* last_up_to(const Entry* entries, std::int64_t sum, SumOf sum_of) const {
    const auto cell = static_cast<std::size_t>(sum >> shift_);
    const Entry* first = entries + cells_[cell];
    for (std::size_t left = cells_[cell + 1] - cells_[cell] + 1; left > 1;) {
      const std::size_t half = left / 2;
      first = sum_of(first[half]) <= sum ? first + half : first;
      left -= half;
    }
    return first;
  }

 private:
  int shift_;
  std::vector<std::uint32_t> cells_;  // the last sum up to where each begins
};

}  // namespace headway
