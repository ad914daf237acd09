#include "sim/cost/import/table_builder.h"

#include "sim/cost/import/import_support.h"
#include "tests/support/catch.h"

namespace headway {
namespace {

using Keys = std::vector<std::int64_t>;
using Times = std::vector<double>;

TEST_CASE("Rows come out sorted and rounded", "[unit]") {
  TableBuilder b("all_reduce", {{"impl", "nccl"}}, "ar", "method");
  b.add({4, 1024}, 12.34567);
  b.add({2, 2048}, 123456);
  b.add({2, 1024}, 0.00123449);
  const ProfileTable t = b.build();
  CHECK(t.file == "ar.csv.gz");
  CHECK(t.keys == Keys{2, 1024, 2, 2048, 4, 1024});
  CHECK(t.time_us == Times{0.001234, 123500, 12.35});
  CHECK(t.low_us.empty());
  CHECK(t.high_us.empty());
  CHECK(t.method == "method");
}

TEST_CASE("Duplicates are averaged and their extremes kept", "[unit]") {
  TableBuilder b("layer", {}, "l", "m");
  b.add({8}, 10);
  b.add({1}, 7);
  b.add({8}, 14);
  b.add({8}, 9);
  const ProfileTable t = b.build();
  CHECK(t.keys == Keys{1, 8});
  CHECK(t.time_us == Times{7, 11});
  CHECK(t.low_us == Times{7, 9});
  CHECK(t.high_us == Times{7, 14});
}

TEST_CASE("The kernel with most rows wins a key; others serve what it lacks", "[unit]") {
  TableBuilder b("layer", {}, "l", "m");
  b.add({1}, 5, "fa4");
  b.add({1}, 10, "fa3");
  b.add({2}, 20, "fa3");
  b.add({3}, 30, "fa3");
  b.add({4}, 40, "fa4");
  const ProfileTable t = b.build();
  CHECK(t.keys == Keys{1, 2, 3, 4});
  CHECK(t.time_us == Times{10, 20, 30, 40});
  CHECK(t.low_us.empty());  // two kernels are no noise band
  CHECK(t.method == "m; kernel fa3, then fa4");
}

TEST_CASE("Model names as published become catalogue names", "[unit]") {
  CHECK(catalogue_model_name("meta-llama/Llama-2-7b-hf") == "llama-2-7b");
  CHECK(catalogue_model_name("Qwen3-30B-A3B-Instruct-2507") == "qwen3-30b-a3b");
  CHECK(catalogue_model_name("Meta-Llama-3-70B") == "llama-3-70b");
  CHECK(catalogue_model_name("llama2-70b") == "llama-2-70b");
  CHECK(catalogue_model_name("Llama-3.1-8B") == "llama-3.1-8b");
}

}  // namespace
}  // namespace headway
