#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define HEADWAY_HOST_DEVICE __host__ __device__ inline
#else
#define HEADWAY_HOST_DEVICE inline
#endif

namespace headway::kernels {

// One layer's cached keys and values, in pages. Token t of sequence s lies in
//
//   row(s, t) = page_table[s * max_pages + t / page_size] * page_size + t % page_size
//
// and k, v are [row][kv_head][head_dim], vLLM's layout (each base is one half of its tensor). Any
// page size from 1 token up; a contiguous cache is one page a sequence. Plain pointers, owned by
// the caller; k and v 16-byte aligned, head_dim * sizeof(T) a multiple of 16. MLA's latent cache is
// the same with kv_heads = 1, head_dim = latent + rope and v unused.
template <class T>
struct PagedKv {
  T* k = nullptr;
  T* v = nullptr;
  const std::int32_t* page_table = nullptr;  // [sequences][max_pages]; entries past a length unread
  const std::int32_t* lengths = nullptr;     // [sequences] tokens, those of this step included
  std::int32_t max_pages = 0;
  std::int32_t page_size = 16;
  std::int32_t kv_heads = 1;

  HEADWAY_HOST_DEVICE std::int32_t row(std::int32_t sequence, std::int32_t token) const {
    const std::int32_t page = page_table[std::int64_t{sequence} * max_pages + token / page_size];
    return page * page_size + token % page_size;
  }
};

// The tokens that one query may look at: [low, high), the causal limit and the window.
struct Visible {
  std::int32_t low;
  std::int32_t high;
};

// window: the number of latest tokens seen, the query's own included; 0: all.
HEADWAY_HOST_DEVICE Visible visible_to(std::int32_t position, std::int32_t window) {
  const std::int32_t low = position + 1 - window;
  return {window > 0 && low > 0 ? low : 0, position + 1};
}

}  // namespace headway::kernels
