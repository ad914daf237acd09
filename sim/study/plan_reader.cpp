#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/core/suggest.h"
#include "sim/scenario/document.h"
#include "sim/scenario/field.h"
#include "sim/study/plan.h"

namespace headway {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> split_keys(const std::string& text) {
  std::vector<std::string> keys(1);
  for (const char c : text) {
    if (c == ',')
      keys.emplace_back();
    else if (c != ' ')
      keys.back() += c;
  }
  return keys;
}

bool inside(const std::string& key, const std::string& block) {
  return key.starts_with(block + ".");
}

// Whether an object's value names what the dotted key below `block` names.
bool sets_key(const Json& value, const std::string& rest) {
  const Json* at = &value;
  for (std::size_t begin = 0;;) {
    const std::size_t dot = rest.find('.', begin);
    const std::string key = rest.substr(begin, dot - begin);
    if (!at->is_object() || !at->contains(key)) return false;
    if (dot == std::string::npos) return true;
    at = &at->at(key);
    begin = dot + 1;
  }
}

class Reader {
 public:
  Reader(const Document& document, Plan& plan) : document_(document), plan_(plan) {}

  void read() {
    const Json& root = document_.root;
    if (!root.is_object()) document_.fail("", describe(root), "an object");
    static const std::vector<std::string> kKeys = {"name", "scenario", "set",
                                                   "axes", "seeds",    "limit"};
    for (const auto& item : root.items()) {
      if (std::find(kKeys.begin(), kKeys.end(), item.key()) == kKeys.end()) {
        document_.fail(item.key(), "an unknown key", one_of(item.key(), kKeys));
      }
    }
    plan_.name = fs::path(plan_.file).stem().string();
    if (root.contains("name")) plan_.name = value("name").text();
    read_scenario();
    if (root.contains("limit")) plan_.limit = value("limit").integer(1, INT64_MAX);
    if (root.contains("set")) read_set();
    if (root.contains("axes")) read_axes();
    if (root.contains("seeds")) read_seeds();
    if (plan_.axes.empty()) document_.fail("axes", "nothing to vary", "axes, or seeds");
  }

 private:
  Value value(const std::string& key) const {
    return Value(document_, document_.root.at(key), key);
  }

  void read_scenario() {
    if (!document_.root.contains("scenario")) {
      document_.fail("", "no \"scenario\"", "\"scenario\": a path or a catalogue name");
    }
    const std::string given = value("scenario").text();
    const fs::path folder = fs::path(plan_.file).parent_path();
    const std::vector<std::string> names = catalogue_names("scenarios");
    std::error_code ec;
    if (!given.empty() && fs::is_regular_file(folder / given, ec)) {
      plan_.scenario_file = (folder / given).string();
    } else if (std::find(names.begin(), names.end(), given) != names.end()) {
      plan_.scenario_file = data_folder("scenarios") + "/" + given + ".json";
    } else {
      document_.fail("scenario", in_quotes(given) + ", no such file or scenario",
                     "a path from the plan's folder, or " + one_of(given, names));
    }
    plan_.scenario_text = read_whole_file(plan_.scenario_file);
  }

  void read_set() {
    const Json& set = document_.root.at("set");
    if (!set.is_object()) document_.fail("set", describe(set), "an object of scenario keys");
    for (const auto& item : set.items()) {
      claim(item.key(), "set." + item.key(), {item.value()});
      plan_.set.push_back({item.key(), dump(item.value()), kPlanFlag});
    }
  }

  void read_axes() {
    const Json& axes = document_.root.at("axes");
    if (!axes.is_object()) {
      document_.fail("axes", describe(axes), "an object: key -> list of values");
    }
    for (const auto& item : axes.items()) read_axis(item.key(), item.value());
  }

  void read_axis(const std::string& name, const Json& values) {
    const std::string path = "axes." + name;
    if (!values.is_array() || values.empty()) {
      document_.fail(path, values.is_array() ? "an empty list" : describe(values),
                     "a list of values, at least one");
    }
    PlanAxis axis;
    axis.keys = split_keys(name);
    std::vector<std::vector<Json>> of_key(axis.keys.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string place = path + "[" + std::to_string(i) + "]";
      for (std::size_t j = 0; j < i; ++j) {
        if (values[j] == values[i]) {
          document_.fail(place, dump(values[i]) + " twice", "each value once");
        }
      }
      std::vector<std::string>& step = axis.values.emplace_back();
      if (axis.keys.size() == 1) {
        step.push_back(dump(values[i]));
        of_key[0].push_back(values[i]);
        continue;
      }
      if (!values[i].is_array() || values[i].size() != axis.keys.size()) {
        document_.fail(place, dump(values[i]),
                       "a list of " + std::to_string(axis.keys.size()) + ", one for each key of " +
                           in_quotes(name));
      }
      for (std::size_t k = 0; k < axis.keys.size(); ++k) {
        step.push_back(dump(values[i][k]));
        of_key[k].push_back(values[i][k]);
      }
    }
    for (std::size_t k = 0; k < axis.keys.size(); ++k) claim(axis.keys[k], path, of_key[k]);
    add(std::move(axis), path);
  }

  // Later ones are assigned over earlier ones: what would be lost that way is a contradiction.
  void claim(const std::string& key, const std::string& path, const std::vector<Json>& values) {
    if (key.empty()) document_.fail(path, "an empty key", "dotted keys such as engine.scheduler");
    for (const auto& [earlier, before] : claimed_) {
      const std::string other = document_.place(before.first);
      if (key == earlier) {
        document_.fail(path, key + " a second time", "each key once; it is also at " + other);
      }
      if (inside(earlier, key)) {
        document_.fail(path, key + ", which overwrites " + earlier,
                       "one of them, or " + key + " before it; the other is at " + other);
      }
      if (!inside(key, earlier)) continue;
      for (const Json& value : before.second) {
        if (sets_key(value, key.substr(earlier.size() + 1))) {
          document_.fail(path, key + ", which a value of " + earlier + " sets too",
                         "one of them; the other is at " + other);
        }
      }
    }
    claimed_[key] = {path, values};
    plan_.places[key] = document_.place(path);
  }

  void add(PlanAxis axis, const std::string& path) {
    plan_.axes.push_back(std::move(axis));
    // Each factor is at most kMaxPlanPoints, so the product cannot overflow before it is seen.
    const auto steps = static_cast<std::int64_t>(plan_.axes.back().values.size());
    if (steps > kMaxPlanPoints || point_count(plan_) > kMaxPlanPoints) {
      const std::string count =
          steps > kMaxPlanPoints ? std::to_string(steps) : std::to_string(point_count(plan_));
      document_.fail(path, count + " points with this axis",
                     "at most " + std::to_string(kMaxPlanPoints));
    }
  }

  void read_seeds() {
    const Json& seeds = document_.root.at("seeds");
    PlanAxis axis;
    axis.keys = {"seed"};
    if (seeds.is_array()) {
      if (seeds.empty()) document_.fail("seeds", "an empty list", "a list of seeds, or how many");
      for (std::size_t i = 0; i < seeds.size(); ++i) {
        const std::string place = "seeds[" + std::to_string(i) + "]";
        if (!seeds[i].is_number_unsigned()) {
          document_.fail(place, describe(seeds[i]), "a whole number, at least 0");
        }
        for (std::size_t j = 0; j < i; ++j) {
          if (seeds[j] != seeds[i]) continue;
          document_.fail(place, dump(seeds[i]) + " twice", "each seed once");
        }
        axis.values.push_back({dump(seeds[i])});
      }
      claim("seed", "seeds", {});
    } else {
      const std::int64_t count = value("seeds").integer(1, kMaxPlanPoints);
      claim("seed", "seeds", {});
      const std::uint64_t first = scenario_of(plan_, plan_point(plan_, 0)).seed;
      for (std::int64_t k = 0; k < count; ++k) {
        axis.values.push_back({std::to_string(first + static_cast<std::uint64_t>(k))});
      }
    }
    add(std::move(axis), "seeds");
  }

  const Document& document_;
  Plan& plan_;
  // key -> where it was written, and its values.
  std::map<std::string, std::pair<std::string, std::vector<Json>>> claimed_;
};

}  // namespace

Plan read_plan(const std::string& path) {
  Plan plan;
  plan.file = path == "-" ? "standard input" : path;
  const Document document = read_document(read_whole_file(path), plan.file);
  Reader(document, plan).read();
  return plan;
}

}  // namespace headway
