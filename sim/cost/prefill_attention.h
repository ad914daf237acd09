#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost/interpolation.h"
#include "sim/cost/step_shape.h"

namespace headway {

// Prefill attention of one layer, from times of whole prompts without history.
//
// A chunk of c tokens over h cached ones costs T(h + c) - T(h), T being the time of one prompt: long
// prefill is additive over its chunks. It never costs less than one query over the h + c tokens
// (the decode kernel's time over its floor): a short chunk still reads the whole history.
//
// Several chunks are ONE call with variable lengths, so the launch floor counts once. Small prompts
// also fill the GPU better together: the sum over the floor is scaled by what the measured rows of
// equal prompts say, batch and length being those with the same sum and sum of squares. On those
// rows the price is exact.
//
// With a window, what a chunk takes over the floor counts by its share of the pairs of a query and
// a key, and the history that is read ends where the window does.
class PrefillAttention {
 public:
  // `lengths`: tabulated up to here, every length to 16384 and every 16th beyond.
  // `window`: of a layer whose tables are those of full attention; 0 = none.
  PrefillAttention(SitePricer prefill, SitePricer decode, std::int32_t lengths,
                   std::int32_t window = 0);

  Priced call(const std::vector<PrefillChunk>& chunks) const;
  // The same without the table.
  Priced call_untabulated(const std::vector<PrefillChunk>& chunks) const;

 private:
  struct Entry {
    double prompt_us;     // T
    double one_query_us;  // decode of one sequence, over its floor
    Coverage from;
  };
  Entry direct(double length) const;
  Entry tabulated(double length) const;
  template <typename Lookup>
  Priced price(const std::vector<PrefillChunk>& chunks, const Lookup& lookup) const;
  template <typename Lookup>
  Priced together(const std::vector<PrefillChunk>& chunks, const Lookup& lookup) const;

  SitePricer prefill_, decode_;
  double window_;
  double floor_us_;
  double decode_floor_us_;
  std::vector<Entry> dense_, sparse_;
};

}  // namespace headway
