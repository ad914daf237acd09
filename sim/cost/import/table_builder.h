#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/profile.h"

namespace headway {

// Gathers measured rows in any order, then makes a sorted table of unique keys out of them.
//
// Several kernels for one key: the row of the table's primary kernel wins (the kernel with most
// rows here, the first name where they tie: it is what the engine runs by default; a kernel with
// fewer rows serves only the shapes that the primary one lacks). Several rows of that kernel for
// one key: their mean, with the lowest and highest as the noise band.
class TableBuilder {
 public:
  // op with its variant; `file` is the table's file name without its ending.
  TableBuilder(std::string op, std::map<std::string, std::string> variant, std::string file,
               std::string method);

  void add(const std::vector<std::int64_t>& key, double time_us, std::string_view kernel = {});
  bool empty() const { return rows_.empty(); }

  // Times rounded to `digits` significant digits; kernels named in the table's method.
  ProfileTable build(int digits = 4) const;

 private:
  struct Row {
    std::vector<std::int64_t> key;
    double time_us;
    std::size_t kernel;
  };
  std::vector<std::size_t> kernel_ranks() const;  // 0 = primary
  std::string kernel_list(const std::vector<std::size_t>& ranks) const;

  ProfileTable shape_;
  std::vector<Row> rows_;
  std::vector<std::string> kernels_;
  std::vector<std::size_t> kernel_rows_;
};

double round_significant(double value, int digits);

}  // namespace headway
