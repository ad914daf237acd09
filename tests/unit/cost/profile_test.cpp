#include "sim/cost/profile.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "tests/support/catch.h"
#include "tests/support/temp_folder.h"

namespace headway {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Two tables: one with a noise band and flags, one bare.
Profile sample() {
  Profile p;
  p.name = "h100-sxm/test-1";
  p.gpu = "h100-sxm";
  p.provenance_json = R"({"source":"a test","commit":"none"})";
  p.host.per_step_us = 12.5;
  p.host.per_request_us = 20000;
  p.host.per_sequence_us = 0.25;
  p.host.per_admission_us = 750;
  p.host.source = "run 7";
  ProfileTable gemm;
  gemm.op = "gemm";
  gemm.variant = {{"weights", "bf16"}, {"activations", "bf16"}};
  gemm.axes = {"n", "k", "m"};
  gemm.keys = {256, 512, 1, 256, 512, 8, 512, 256, 1};
  gemm.time_us = {4.75, 5.125, 123400};
  gemm.low_us = {4.75, 5, 123400};
  gemm.high_us = {4.75, 5.5, 123400};
  gemm.flags = {0, 0, 1};
  gemm.file = "gemm-bf16.csv.gz";
  gemm.method = "by hand";
  ProfileTable layer;
  layer.op = "layer";
  layer.variant = {{"layer", "o_proj"}, {"model", "llama-3.1-8b"}, {"tp", "1"}};
  layer.axes = {"tokens"};
  layer.keys = {1, 2};
  layer.time_us = {0.1, 1e-3};
  layer.file = "layer-o_proj.csv.gz";
  p.tables = {gemm, layer};
  return p;
}

// What a damaged copy of the sample says when it is read.
InputError::Parts read_error(const TempFolder& folder) {
  try {
    read_profile(folder / "p", "h100-sxm/test-1");
  } catch (const InputError& error) {
    return error.parts();
  }
  FAIL("a bad profile was read");
  return {};
}

// Writes the sample, replaces `old_text` by `new_text` in profile.json, reads.
InputError::Parts error_after_edit(const std::string& old_text, const std::string& new_text) {
  TempFolder folder;
  write_profile(sample(), folder / "p");
  std::string json = bytes_of(folder / "p/profile.json");
  const std::size_t at = json.find(old_text);
  REQUIRE(at != std::string::npos);
  folder.write("p/profile.json", json.replace(at, old_text.size(), new_text));
  return read_error(folder);
}

// Writes the sample with this text (unpacked; plain is read too) as its gemm table, reads.
InputError::Parts error_with_table(const std::string& text) {
  TempFolder folder;
  write_profile(sample(), folder / "p");
  folder.write("p/gemm-bf16.csv.gz", text);
  return read_error(folder);
}

constexpr const char* kHeader = "n,k,m,time_us,low_us,high_us,flags\n";

TEST_CASE("A profile comes back as it was written", "[unit]") {
  TempFolder folder;
  const Profile p = sample();
  write_profile(p, folder / "p");
  const Profile q = read_profile(folder / "p", "h100-sxm/test-1");
  CHECK(q.name == p.name);
  CHECK(q.gpu == p.gpu);
  CHECK(q.provenance_json == p.provenance_json);
  CHECK(q.host.per_step_us == 12.5);
  CHECK(q.host.per_request_us == 20000);
  CHECK(q.host.per_sequence_us == 0.25);
  CHECK(q.host.per_admission_us == 750);
  CHECK(q.host.source == "run 7");
  REQUIRE(q.tables.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    INFO(p.tables[i].file);
    CHECK(q.tables[i].op == p.tables[i].op);
    CHECK(q.tables[i].variant == p.tables[i].variant);
    CHECK(q.tables[i].axes == p.tables[i].axes);
    CHECK(q.tables[i].keys == p.tables[i].keys);
    CHECK(q.tables[i].time_us == p.tables[i].time_us);
    CHECK(q.tables[i].low_us == p.tables[i].low_us);
    CHECK(q.tables[i].high_us == p.tables[i].high_us);
    CHECK(q.tables[i].flags == p.tables[i].flags);
    CHECK(q.tables[i].method == p.tables[i].method);
  }
  CHECK(q.tables[0].key(2, 1) == 256);
}

// What a profile of our own has besides.
Profile with_session() {
  Profile p = sample();
  p.run_sigma = 0.0125;
  p.overheads = {{"graph_node_us", 1.5}, {"h2d_bytes_per_s", 5.5e10}};
  p.closure = {{"layer decode batch 8", 120.5, 100}};
  p.session_json = R"({"points":7})";
  p.tables[0].holdout = HoldOut{12, 0.021, 0.08, -0.004};
  return p;
}

TEST_CASE("What a profiling session says of itself comes back too", "[unit]") {
  TempFolder folder;
  write_profile(with_session(), folder / "p");
  const Profile q = read_profile(folder / "p", "");
  CHECK(q.run_sigma == 0.0125);
  CHECK(q.overheads == with_session().overheads);
  REQUIRE(q.closure.size() == 1);
  CHECK(q.closure[0].what == "layer decode batch 8");
  CHECK(q.closure[0].measured_us == 120.5);
  CHECK(q.closure[0].sum_us == 100);
  CHECK(q.session_json == R"({"points":7})");
  CHECK(q.incomplete.empty());
  REQUIRE(q.tables[0].holdout);
  CHECK(q.tables[0].holdout->points == 12);
  CHECK(q.tables[0].holdout->err_median == 0.021);
  CHECK(q.tables[0].holdout->err_p90 == 0.08);
  CHECK(q.tables[0].holdout->bias == -0.004);
  CHECK_FALSE(q.tables[1].holdout);
}

TEST_CASE("What a profile does not have is not written", "[unit]") {
  TempFolder folder;
  write_profile(sample(), folder / "p");
  const std::string json = bytes_of(folder / "p/profile.json");
  for (const char* key :
       {"incomplete", "run_sigma", "overheads", "closure", "session", "holdout"}) {
    INFO(key);
    CHECK(json.find("\"" + std::string(key) + "\"") == std::string::npos);
  }
}

TEST_CASE("An incomplete profile is read, and refused where steps are priced", "[unit]") {
  TempFolder folder;
  Profile p = sample();
  p.incomplete = "interrupted after 120 of 400 points";
  write_profile(p, folder / "p");
  const Profile q = read_profile(folder / "p", "");
  CHECK(q.incomplete == p.incomplete);
  CHECK(q.tables.size() == 2);
  CHECK_NOTHROW(check_profile_for(sample(), "h100-sxm"));
  try {
    check_profile_for(q, "h100-sxm");
    FAIL("an incomplete profile was taken");
  } catch (const InputError& error) {
    CHECK(error.parts().file == q.folder);
    CHECK_THAT(error.parts().found, ContainsSubstring("interrupted after 120 of 400 points"));
  }
  try {
    check_profile_for(q, "a100-sxm");
    FAIL("a profile of another GPU was taken");
  } catch (const InputError& error) {
    CHECK_THAT(error.parts().found, ContainsSubstring("for another GPU"));
  }
}

TEST_CASE("Damaged session keys are named", "[unit]") {
  TempFolder folder;
  const std::pair<const char*, const char*> edits[] = {
      {"\"run_sigma\": 0.0125", "\"run_sigma\": -1"},
      {"\"graph_node_us\": 1.5", "\"graph_node_us\": \"x\""},
      {"\"sum_us\"", "\"sum\""},
      {"\"points\": 12", "\"points\": -2"},
      {"\"err_p90\"", "\"err_p95\""},
      {"\"bias\": -0.004", "\"bias\": null"}};
  for (const auto& [from, to] : edits) {
    INFO(to);
    write_profile(with_session(), folder / "p");
    std::string json = bytes_of(folder / "p/profile.json");
    const std::size_t at = json.find(from);
    REQUIRE(at != std::string::npos);
    folder.write("p/profile.json", json.replace(at, std::string(from).size(), to));
    CHECK_FALSE(read_error(folder).place.empty());
  }
}

TEST_CASE("INV-7: writing a profile again gives the same bytes", "[unit]") {
  TempFolder folder;
  write_profile(sample(), folder / "a");
  write_profile(read_profile(folder / "a", ""), folder / "b");
  for (const char* file : {"profile.json", "gemm-bf16.csv.gz", "layer-o_proj.csv.gz"}) {
    INFO(file);
    CHECK(bytes_of(folder / ("a/" + std::string(file))) ==
          bytes_of(folder / ("b/" + std::string(file))));
  }
}

TEST_CASE("A table is found by the pairs that matter", "[unit]") {
  const Profile p = sample();
  CHECK(p.find("gemm", {{"weights", "bf16"}}) == &p.tables[0]);
  CHECK(p.find("gemm", {{"weights", "fp8"}}) == nullptr);
  CHECK(p.find("gemm", {{"scaling", "block"}}) == nullptr);
  CHECK(p.find("layer", {}) == &p.tables[1]);
  CHECK(p.find("moe", {}) == nullptr);
}

TEST_CASE("Every operator has axes and no two have one name", "[unit]") {
  std::vector<std::string> ops = profile_ops();
  for (const std::string& op : ops) CHECK_FALSE(profile_axes(op).empty());
  std::sort(ops.begin(), ops.end());
  CHECK(std::adjacent_find(ops.begin(), ops.end()) == ops.end());
  CHECK(profile_axes("gemm") == std::vector<std::string>{"n", "k", "m"});
  CHECK(profile_axes("gem").empty());
}

TEST_CASE("A newer or foreign schema is refused", "[unit]") {
  auto parts = error_after_edit("headway-profile/1", "headway-profile/2");
  CHECK_THAT(parts.found, ContainsSubstring("a newer profile"));
  CHECK(parts.place == "schema");
  CHECK_THAT(parts.expected, ContainsSubstring("headway-profile/1"));
  parts = error_after_edit("headway-profile/1", "kprofile/1");
  CHECK(parts.found == "\"kprofile/1\"");
}

TEST_CASE("A bad profile.json names its place", "[unit]") {
  CHECK(error_after_edit("\"per_step_us\"", "\"per_stepp_us\"").place == "host");
  CHECK_THAT(error_after_edit("\"per_step_us\"", "\"per_stepp_us\"").expected,
             ContainsSubstring("did you mean per_step_us"));
  CHECK(error_after_edit("12.5", "-1").place == "host.per_step_us");
  CHECK(error_after_edit("12.5", "\"12\"").place == "host.per_step_us");
  CHECK(error_after_edit("\"gpu\": \"h100-sxm\",", "").found == "no \"gpu\"");
  CHECK(error_after_edit("h100-sxm/test-1", "h100-sxm/test-2").place == "name");
  CHECK(error_after_edit("\"op\": \"gemm\"", "\"op\": \"gemn\"").place == "tables[0].op");
  CHECK(error_after_edit("\"m\"\n", "\"q\"\n").place == "tables[0].axes");
  CHECK(error_after_edit("\"gemm-bf16.csv.gz\"", "\"../gemm.csv.gz\"").place == "tables[0].file");
  CHECK(error_after_edit("\"rows\": 3", "\"rows\": -3").place == "tables[0].rows");
  CHECK(error_after_edit("\"content_hash\": \"fnv1a64:", "\"content_hash\": \"fnv1a64:0").place ==
        "content_hash");
  CHECK_THAT(error_after_edit("\"tables\"", "\"tables\" ;").place, ContainsSubstring("byte"));
}

TEST_CASE("A table that is not the one profile.json lists is refused", "[unit]") {
  SECTION("missing") {
    TempFolder folder;
    write_profile(sample(), folder / "p");
    fs::remove(folder / "p/gemm-bf16.csv.gz");
    CHECK_THAT(read_error(folder).file, ContainsSubstring("gemm-bf16.csv.gz"));
  }
  SECTION("no profile.json") {
    TempFolder folder;
    CHECK_THAT(read_error(folder).file, ContainsSubstring("profile.json"));
  }
  SECTION("cut short") {
    TempFolder folder;
    write_profile(sample(), folder / "p");
    const std::string file = folder / "p/gemm-bf16.csv.gz";
    fs::resize_file(file, fs::file_size(file) - 9);
    const auto parts = read_error(folder);
    CHECK(parts.file == file);
    CHECK_THAT(parts.found, ContainsSubstring("ends too early"));
  }
  SECTION("one byte changed") {
    TempFolder folder;
    write_profile(sample(), folder / "p");
    std::string bytes = bytes_of(folder / "p/gemm-bf16.csv.gz");
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
    folder.write("p/gemm-bf16.csv.gz", bytes);
    CHECK(read_error(folder).file == folder / "p/gemm-bf16.csv.gz");
  }
  SECTION("fewer rows") {
    const auto parts = error_with_table(std::string(kHeader) + "256,512,1,4.75,,,\n");
    CHECK(parts.found == "1 rows");
    CHECK_THAT(parts.expected, ContainsSubstring("3 rows"));
  }
  SECTION("other times") {
    const auto parts = error_with_table(std::string(kHeader) +
                                        "256,512,1,4.75,,,\n256,512,8,5.25,5,5.5,\n"
                                        "512,256,1,123400,,,1\n");
    CHECK_THAT(parts.found, ContainsSubstring("hash"));
  }
}

TEST_CASE("A bad row names file and line", "[unit]") {
  const auto second_line = [](const std::string& row) {
    const auto parts = error_with_table(std::string(kHeader) + "256,512,1,4.75,,,\n" + row + "\n");
    CHECK_THAT(parts.file, ContainsSubstring("gemm-bf16.csv.gz"));
    CHECK(parts.place == "line 3");
    return parts.found;
  };
  CHECK(second_line("256,512,1,4.75,,,") == "a key that the row before has");
  CHECK(second_line("256,256,1,4.75,,,") == "rows out of order");
  CHECK(second_line("256,512,8,0,,,") == "the time_us \"0\"");
  CHECK(second_line("256,512,8,-1,,,") == "the time_us \"-1\"");
  CHECK(second_line("256,512,8,nan,,,") == "the time_us \"nan\"");
  CHECK(second_line("256,512,8,inf,,,") == "the time_us \"inf\"");
  CHECK(second_line("256,512,8,,,,") == "the time_us \"\"");
  CHECK(second_line("256,512,8,5x,,,") == "the time_us \"5x\"");
  CHECK(second_line("256,512,8.5,5,,,") == "the m \"8.5\"");
  CHECK(second_line("-256,512,8,5,,,") == "the n \"-256\"");
  CHECK(second_line("99999999999999999999,512,8,5,,,") == "the n \"99999999999999999999\"");
  CHECK(second_line("256,512,8,5,6,7,") == "a noise band off its mean");
  CHECK(second_line("256,512,8,5,4,,") == "half a noise band");
  CHECK(second_line("256,512,8,5,,,256") == "the flags \"256\"");
  CHECK(second_line("256,512,8,5,,") == "6 columns");
  CHECK(second_line("256,512,8,5,,,,") == "8 columns");
  CHECK(second_line("") == "1 columns");
}

TEST_CASE("A table without its header is refused", "[unit]") {
  CHECK(error_with_table("").found == "an empty file");
  const auto parts = error_with_table("n,k,time_us\n1,1,1\n");
  CHECK(parts.place == "line 1");
  CHECK(parts.expected == "\"n,k,m,time_us[,low_us,high_us][,flags]\"");
}

TEST_CASE("A profile is loaded by name or by folder", "[unit]") {
  TempFolder folder;
  write_profile(sample(), folder / "p");
  CHECK(load_profile(folder / "p").gpu == "h100-sxm");
  try {
    load_profile("h100-sxm/vllm-0.24.1");
    FAIL("an unknown profile was loaded");
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("did you mean h100-sxm/vllm-0.24.0"));
  }
  CHECK_THROWS_AS(load_profile(""), InputError);
}

TEST_CASE("A profile for another GPU is refused with the valid ones", "[unit]") {
  const Profile p = sample();
  CHECK_NOTHROW(check_profile_for(p, "h100-sxm"));
  try {
    check_profile_for(p, "h200-sxm");
    FAIL("a profile of another GPU was accepted");
  } catch (const InputError& error) {
    CHECK_THAT(error.parts().found, ContainsSubstring("a profile for another GPU"));
    CHECK_THAT(error.parts().expected, ContainsSubstring("h200-sxm/vllm-0.24.0"));
    CHECK_THAT(error.parts().expected, ContainsSubstring("roofline"));
  }
}

}  // namespace
}  // namespace headway
