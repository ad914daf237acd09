#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/core/errors.h"
#include "sim/core/output_file.h"
#include "sim/cost/profile.h"
#include "sim/cost/profile_text.h"

namespace headway {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
void append_number(std::string& out, T value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

void check_table(const ProfileTable& t) {
  const std::size_t rows = t.rows();
  SIM_CHECK(!t.axes.empty() && t.axes == profile_axes(t.op), t.op);
  SIM_CHECK(t.keys.size() == rows * t.axes.size(), t.file);
  SIM_CHECK(t.low_us.size() == t.high_us.size(), t.file);
  SIM_CHECK(t.low_us.empty() || t.low_us.size() == rows, t.file);
  SIM_CHECK(t.flags.empty() || t.flags.size() == rows, t.file);
  SIM_CHECK(!t.file.empty() && t.file.find('/') == std::string::npos, t.file);
}

// A band edge equal to the time is left empty: most rows of a table were measured once.
std::string table_text(const ProfileTable& t) {
  std::string out = table_header(t) + "\n";
  for (std::size_t row = 0; row < t.rows(); ++row) {
    for (std::size_t axis = 0; axis < t.axes.size(); ++axis) {
      append_number(out, t.key(row, axis));
      out += ',';
    }
    append_number(out, t.time_us[row]);
    if (!t.low_us.empty()) {
      const bool band = t.low_us[row] != t.time_us[row] || t.high_us[row] != t.time_us[row];
      out += ',';
      if (band) append_number(out, t.low_us[row]);
      out += ',';
      if (band) append_number(out, t.high_us[row]);
    }
    if (!t.flags.empty()) {
      out += ',';
      if (t.flags[row] != 0) append_number(out, static_cast<int>(t.flags[row]));
    }
    out += '\n';
  }
  return out;
}

std::string write_table(const ProfileTable& table, const std::string& folder) {
  const std::string text = table_text(table);
  OutputFile file(folder + "/" + table.file);
  file.write(text);
  file.commit();
  TextHash hash;
  hash.add(text);
  return hash.text();
}

Json table_json(const ProfileTable& table, const std::string& hash) {
  Json json = {{"op", table.op},     {"variant", table.variant}, {"axes", table.axes},
               {"file", table.file}, {"rows", table.rows()},     {"hash", hash},
               {"method", table.method}};
  if (table.holdout) {
    json["holdout"] = {{"points", table.holdout->points},
                       {"err_median", table.holdout->err_median},
                       {"err_p90", table.holdout->err_p90},
                       {"bias", table.holdout->bias}};
  }
  return json;
}

// What only a profile of our own has: a key that says nothing is left out.
void add_session(Json& json, const Profile& profile) {
  if (!profile.incomplete.empty()) json["incomplete"] = profile.incomplete;
  if (profile.run_sigma > 0) json["run_sigma"] = profile.run_sigma;
  if (!profile.overheads.empty()) json["overheads"] = profile.overheads;
  for (const Closure& c : profile.closure) {
    json["closure"].push_back(
        {{"what", c.what}, {"measured_us", c.measured_us}, {"sum_us", c.sum_us}});
  }
  if (!profile.session_json.empty()) json["session"] = Json::parse(profile.session_json);
}

Json host_json(const HostTerms& host) {
  Json json = {{"per_step_us", host.per_step_us},
               {"per_request_us", host.per_request_us},
               {"per_sequence_us", host.per_sequence_us}};
  if (host.per_admission_us > 0) json["per_admission_us"] = host.per_admission_us;
  json["source"] = host.source;
  return json;
}

}  // namespace

std::string table_header(const ProfileTable& table) {
  std::string line;
  for (const std::string& axis : table.axes) line += axis + ",";
  line += "time_us";
  if (!table.low_us.empty()) line += ",low_us,high_us";
  if (!table.flags.empty()) line += ",flags";
  return line;
}

std::string TextHash::text() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "fnv1a64:";
  for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[(h_ >> shift) & 15];
  return out;
}

void write_profile(const Profile& profile, const std::string& folder) {
  std::set<std::string> files;
  for (const ProfileTable& table : profile.tables) {
    check_table(table);
    SIM_CHECK(files.insert(table.file).second, table.file);
  }
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  if (ec) {
    throw InputError({folder, "", "a folder that cannot be made (" + ec.message() + ")",
                      "a writable place"});
  }
  Json tables = Json::array();
  TextHash content;
  for (const ProfileTable& table : profile.tables) {
    const std::string hash = write_table(table, folder);
    content.add(hash);
    tables.push_back(table_json(table, hash));
  }
  Json json = {
      {"schema", std::string(kProfileSchema) + std::to_string(kProfileSchemaMajor)},
      {"name", profile.name},
      {"gpu", profile.gpu},
      {"content_hash", content.text()},
      {"host", host_json(profile.host)},
      {"provenance",
       Json::parse(profile.provenance_json.empty() ? "{}" : profile.provenance_json)}};
  add_session(json, profile);
  json["tables"] = std::move(tables);
  OutputFile file(folder + "/profile.json");
  file.write(json.dump(2) + "\n");
  file.commit();
}

}  // namespace headway
