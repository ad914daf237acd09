#include "sim/core/suggest.h"

#include <algorithm>

namespace headway {
namespace {

// Damerau-Levenshtein, optimal string alignment.
std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_edits = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    // A prefix typed in full is a near miss however long the rest is ("h100" for "h100-sxm").
    const bool prefix = word.size() >= 3 && candidate.starts_with(word);
    const std::size_t n = prefix ? 1 : edits(word, candidate);
    if (n < best_edits) {
      best_edits = n;
      best = candidate;
    }
  }
  return best;
}

std::string one_of(const std::string& word, const std::vector<std::string>& candidates) {
  std::string text = "one of ";
  for (std::size_t i = 0; i < candidates.size(); ++i) text += (i == 0 ? "" : ", ") + candidates[i];
  const std::string best = nearest(word, candidates);
  if (!best.empty()) text += " (did you mean " + best + "?)";
  return text;
}

}  // namespace headway
