#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/core/suggest.h"
#include "sim/cost/profile.h"
#include "sim/cost/profile_text.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

// ---- profile.json ----

// A place in profile.json, for its strict reading.
struct Node {
  const Json& json;
  const std::string& file;
  std::string place;

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw InputError({file, place, found, expected});
  }
  Node at(const std::string& key) const {
    const auto it = json.find(key);
    if (it == json.end()) fail("no \"" + key + "\"", "that key");
    return {*it, file, place.empty() ? key : place + "." + key};
  }
  void expect_keys(const std::vector<std::string>& known) const {
    if (!json.is_object()) fail(json.type_name(), "an object");
    for (const auto& item : json.items()) {
      if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
        fail("the unknown key \"" + item.key() + "\"", one_of(item.key(), known));
      }
    }
  }
  std::string text() const {
    if (!json.is_string()) fail(json.dump(), "a text");
    return json.get<std::string>();
  }
  double finite() const {
    if (!json.is_number() || !std::isfinite(json.get<double>())) fail(json.dump(), "a number");
    return json.get<double>();
  }
  double non_negative() const {
    if (!json.is_number() || !std::isfinite(json.get<double>()) || json.get<double>() < 0) {
      fail(json.dump(), "a number that is not negative");
    }
    return json.get<double>();
  }
  std::size_t count() const {
    if (!json.is_number_unsigned()) fail(json.dump(), "a count");
    return json.get<std::size_t>();
  }
};

void check_schema(const Node& root) {
  const std::string schema = root.at("schema").text();
  const std::string known = std::string(kProfileSchema) + std::to_string(kProfileSchemaMajor);
  if (schema == known) return;
  int major = 0;
  if (schema.starts_with(kProfileSchema)) {
    const char* begin = schema.data() + kProfileSchema.size();
    std::from_chars(begin, schema.data() + schema.size(), major);
  }
  const std::string newer = major > kProfileSchemaMajor ? "a newer profile, " : "";
  root.at("schema").fail(newer + "\"" + schema + "\"", "\"" + known + "\"");
}

HostTerms read_host(const Node& node) {
  node.expect_keys(
      {"per_step_us", "per_request_us", "per_sequence_us", "per_admission_us", "source"});
  const bool admission = node.json.contains("per_admission_us");
  return {node.at("per_step_us").non_negative(), node.at("per_request_us").non_negative(),
          node.at("per_sequence_us").non_negative(), node.at("source").text(),
          admission ? node.at("per_admission_us").non_negative() : 0.0};
}

HoldOut read_holdout(const Node& node) {
  node.expect_keys({"points", "err_median", "err_p90", "bias"});
  HoldOut out;
  out.points = static_cast<std::int64_t>(node.at("points").count());
  out.err_median = node.at("err_median").non_negative();
  out.err_p90 = node.at("err_p90").non_negative();
  out.bias = node.at("bias").finite();
  return out;
}

std::vector<Closure> read_closure(const Node& node) {
  if (!node.json.is_array()) node.fail(node.json.type_name(), "a list");
  std::vector<Closure> list;
  for (std::size_t i = 0; i < node.json.size(); ++i) {
    const Node one{node.json[i], node.file, node.place + "[" + std::to_string(i) + "]"};
    one.expect_keys({"what", "measured_us", "sum_us"});
    list.push_back({one.at("what").text(), one.at("measured_us").non_negative(),
                    one.at("sum_us").non_negative()});
  }
  return list;
}

// The keys that only a profile of our own has; each may be missing.
void read_session(const Node& root, Profile& profile) {
  const auto has = [&](const char* key) { return root.json.contains(key); };
  if (has("incomplete")) profile.incomplete = root.at("incomplete").text();
  if (has("run_sigma")) profile.run_sigma = root.at("run_sigma").non_negative();
  if (has("closure")) profile.closure = read_closure(root.at("closure"));
  if (has("overheads")) {
    const Node overheads = root.at("overheads");
    if (!overheads.json.is_object()) overheads.fail(overheads.json.type_name(), "an object");
    for (const auto& item : overheads.json.items()) {
      profile.overheads[item.key()] = overheads.at(item.key()).non_negative();
    }
  }
  if (has("session")) {
    const Node session = root.at("session");
    if (!session.json.is_object()) session.fail(session.json.type_name(), "an object");
    profile.session_json = session.json.dump();
  }
}

struct TableEntry {
  ProfileTable table;
  std::size_t rows = 0;
  std::string hash;
};

TableEntry read_entry(const Node& node) {
  node.expect_keys({"op", "variant", "axes", "file", "rows", "hash", "method", "holdout"});
  TableEntry entry;
  ProfileTable& t = entry.table;
  t.op = node.at("op").text();
  const std::vector<std::string> axes = profile_axes(t.op);
  if (axes.empty()) node.at("op").fail("\"" + t.op + "\"", one_of(t.op, profile_ops()));
  const Node variant = node.at("variant");
  if (!variant.json.is_object()) variant.fail(variant.json.type_name(), "an object");
  for (const auto& item : variant.json.items()) {
    t.variant[item.key()] = variant.at(item.key()).text();
  }
  const Node listed = node.at("axes");
  if (listed.json != Json(axes)) listed.fail(listed.json.dump(), Json(axes).dump());
  t.axes = axes;
  t.file = node.at("file").text();
  if (t.file.empty() || t.file.find('/') != std::string::npos) {
    node.at("file").fail("\"" + t.file + "\"", "the name of a file beside profile.json");
  }
  t.method = node.at("method").text();
  if (node.json.contains("holdout")) t.holdout = read_holdout(node.at("holdout"));
  entry.rows = node.at("rows").count();
  entry.hash = node.at("hash").text();
  return entry;
}

// ---- table files ----

// Reads one table file, checking every cell: a silent zero here would be a silent zero in a result.
class TableReader {
 public:
  TableReader(const std::string& path, ProfileTable& table) : lines_(path), t_(table) {}

  std::string read(std::size_t expected_rows) {
    TextHash hash;
    std::string_view line;
    if (!lines_.next(line)) fail("an empty file", "a header");
    read_header(line);
    hash.add(line);
    hash.add("\n");
    // Not trusted with memory: a row takes at least two bytes a column.
    const std::size_t rows = std::min<std::size_t>(expected_rows, 1 << 20);
    t_.keys.reserve(rows * t_.axes.size());
    t_.time_us.reserve(rows);
    while (lines_.next(line)) {
      hash.add(line);
      hash.add("\n");
      read_row(line);
    }
    return hash.text();
  }

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw InputError(
        {lines_.path(), "line " + std::to_string(lines_.line_number()), found, expected});
  }

  void read_header(std::string_view line) {
    ProfileTable shape;
    shape.axes = t_.axes;
    for (const int optional : {0, 1, 2, 3}) {
      band_ = (optional & 1) != 0;
      flags_ = (optional & 2) != 0;
      shape.low_us.assign(band_ ? 1 : 0, 0.0);
      shape.flags.assign(flags_ ? 1 : 0, 0);
      if (line == table_header(shape)) return;
    }
    fail("the header \"" + std::string(line.substr(0, 200)) + "\"",
         "\"" + table_header({.axes = t_.axes}) + "[,low_us,high_us][,flags]\"");
  }

  // The next cell of the row, its comma taken off.
  std::string_view cell() {
    const std::size_t comma = rest_.find(',');
    const std::string_view out = rest_.substr(0, comma);
    rest_ = comma != std::string_view::npos ? rest_.substr(comma + 1) : std::string_view();
    return out;
  }

  template <class T>
  bool parse(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }

  double time(const char* column) {
    const std::string_view text = cell();
    double value = 0;
    if (!parse(text, value) || !std::isfinite(value) || value <= 0) {
      fail("the " + std::string(column) + " \"" + std::string(text) + "\"",
           "a time in microseconds, finite and above 0");
    }
    return value;
  }

  void read_row(std::string_view line) {
    const std::size_t columns = t_.axes.size() + 1 + (band_ ? 2 : 0) + (flags_ ? 1 : 0);
    const auto found = static_cast<std::size_t>(std::count(line.begin(), line.end(), ',')) + 1;
    if (found != columns) {
      fail(std::to_string(found) + " columns", std::to_string(columns) + " columns");
    }
    rest_ = line;
    for (std::size_t axis = 0; axis < t_.axes.size(); ++axis) {
      const std::string_view text = cell();
      std::int64_t value = 0;
      if (!parse(text, value) || value < 0) {
        fail("the " + t_.axes[axis] + " \"" + std::string(text) + "\"", "a whole number from 0 up");
      }
      t_.keys.push_back(value);
    }
    t_.time_us.push_back(time("time_us"));
    if (band_) read_band();
    if (flags_) read_flags();
    check_order();
  }

  void read_band() {
    const double mean = t_.time_us.back();
    const bool empty = rest_.starts_with(",");
    const double low = empty ? (cell(), mean) : time("low_us");
    const bool also_empty = rest_.empty() || rest_.starts_with(",");
    if (empty != also_empty) fail("half a noise band", "both low_us and high_us, or neither");
    const double high = also_empty ? (cell(), mean) : time("high_us");
    if (low > mean || high < mean) {
      fail("a noise band off its mean", "low_us <= time_us <= high_us");
    }
    t_.low_us.push_back(low);
    t_.high_us.push_back(high);
  }

  void read_flags() {
    const std::string_view text = cell();
    int value = 0;
    if (!text.empty() && (!parse(text, value) || value < 0 || value > 255)) {
      fail("the flags \"" + std::string(text) + "\"", "0..255 or nothing");
    }
    t_.flags.push_back(static_cast<std::uint8_t>(value));
  }

  void check_order() {
    const std::size_t width = t_.axes.size();
    if (t_.rows() < 2) return;
    const auto now = t_.keys.end() - static_cast<std::ptrdiff_t>(width);
    const auto before = now - static_cast<std::ptrdiff_t>(width);
    if (std::lexicographical_compare(before, now, now, t_.keys.end())) return;
    fail(std::equal(before, now, now) ? "a key that the row before has" : "rows out of order",
         "keys in rising order, each once");
  }

  LineReader lines_;
  ProfileTable& t_;
  bool band_ = false, flags_ = false;
  std::string_view rest_;
};

ProfileTable read_table(const std::string& folder, TableEntry entry) {
  const std::string path = folder + "/" + entry.table.file;
  const std::string hash = TableReader(path, entry.table).read(entry.rows);
  if (entry.table.rows() != entry.rows) {
    throw InputError({path, "", std::to_string(entry.table.rows()) + " rows",
                      std::to_string(entry.rows) + " rows, as profile.json says"});
  }
  if (hash != entry.hash) {
    throw InputError({path, "", "a text with the hash " + hash,
                      entry.hash + ", as profile.json says"});
  }
  return std::move(entry.table);
}

}  // namespace

Profile read_profile(const std::string& folder, const std::string& name) {
  const std::string file = folder + "/profile.json";
  Json json;
  try {
    json = Json::parse(read_whole_file(file), nullptr, true, true);
  } catch (const Json::parse_error& error) {
    throw InputError({file, "byte " + std::to_string(error.byte), "no valid JSON",
                      "a profile.json"});
  }
  const Node root{json, file, ""};
  if (!json.is_object()) root.fail(json.type_name(), "an object");
  check_schema(root);
  root.expect_keys({"schema", "name", "gpu", "content_hash", "host", "provenance", "incomplete",
                    "run_sigma", "overheads", "closure", "session", "tables"});
  Profile profile;
  profile.name = root.at("name").text();
  if (!name.empty() && profile.name != name) {
    root.at("name").fail("\"" + profile.name + "\"", "\"" + name + "\", where the folder lies");
  }
  profile.folder = folder;
  profile.gpu = root.at("gpu").text();
  profile.host = read_host(root.at("host"));
  const Node provenance = root.at("provenance");
  if (!provenance.json.is_object()) provenance.fail(provenance.json.type_name(), "an object");
  profile.provenance_json = provenance.json.dump();
  read_session(root, profile);
  const Node tables = root.at("tables");
  if (!tables.json.is_array()) tables.fail(tables.json.type_name(), "a list");
  TextHash content;
  for (std::size_t i = 0; i < tables.json.size(); ++i) {
    TableEntry entry = read_entry({tables.json[i], file, "tables[" + std::to_string(i) + "]"});
    content.add(entry.hash);
    profile.tables.push_back(read_table(folder, std::move(entry)));
  }
  if (root.at("content_hash").text() != content.text()) {
    root.at("content_hash").fail("\"" + root.at("content_hash").text() + "\"",
                                 "\"" + content.text() + "\", the tables' own");
  }
  return profile;
}

}  // namespace headway
