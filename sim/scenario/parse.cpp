#include "sim/scenario/parse.h"

#include <algorithm>
#include <filesystem>

#include "sim/core/data_files.h"
#include "sim/core/errors.h"
#include "sim/core/input_file.h"
#include "sim/core/suggest.h"
#include "sim/routing/router.h"
#include "sim/scenario/check.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/names.h"
#include "sim/scheduling/scheduler.h"

namespace headway {
namespace fs = std::filesystem;
namespace {

// Relative paths start at the scenario's folder.
std::string folder_of(const std::string& file) {
  std::error_code ec;
  const fs::path path = fs::absolute(file.empty() || !fs::exists(file, ec) ? "x" : file, ec);
  return path.parent_path().string();
}

// A scheduler brings the settings of its engine, where they differ from vLLM V1's; what the
// scenario says goes over them.
void take_engine_defaults(const Document& document, EngineOptions& engine) {
  if (!document.root.is_object() || !document.root.contains("engine")) return;
  const Json& block = document.root.at("engine");
  if (!block.is_object() || !block.contains("scheduler")) return;
  if (!block.at("scheduler").is_string()) return;
  const std::string name = block.at("scheduler").get<std::string>();
  for (const SchedulerEntry& row : scheduler_table()) {
    if (row.name == name && row.defaults != nullptr) row.defaults(engine);
  }
}

// Diffusion language models have schedulers of their own: the first of them where none is named.
void choose_scheduler(const Document& document, Scenario& scenario) {
  if (!scenario.model.generation.diffusion()) return;
  const Json& root = document.root;
  if (root.contains("engine") && root.at("engine").contains("scheduler")) return;
  for (const SchedulerEntry& row : scheduler_table()) {
    if (!row.diffuses) continue;
    scenario.engine.scheduler = row.name;
    return;
  }
}

bool reads_option(const RouterEntry& router, const std::string& name) {
  return std::any_of(router.options.begin(), router.options.end(),
                     [&](const RouterOption& option) { return option.name == name; });
}

bool some_router_reads(const std::string& name) {
  const auto routers = router_table();
  return std::any_of(routers.begin(), routers.end(),
                     [&](const RouterEntry& router) { return reads_option(router, name); });
}

// Where a change (--set, --vary, a plan's axis) puts another router in the place of the scenario's,
// the options of the one that was there have nothing to say. Options given in the same way as the
// router are meant for it, and what no router reads is a mistake: both stay, to be refused.
void drop_options_of_other_routers(Document& document, std::span<const Assignment> assignments) {
  const auto chosen =
      std::find_if(assignments.rbegin(), assignments.rend(),
                   [](const Assignment& a) { return a.key == "cluster.router"; });
  if (chosen == assignments.rend()) return;
  Json& cluster = document.root.at("cluster");
  if (!cluster.is_object() || !cluster.contains("router")) return;
  if (!cluster.contains("router_options")) return;
  Json& options = cluster.at("router_options");
  const auto routers = router_table();
  const auto own = std::find_if(routers.begin(), routers.end(), [&](const RouterEntry& router) {
    return cluster.at("router") == std::string(router.name);
  });
  if (own == routers.end() || !options.is_object()) return;
  Json kept = Json::object();
  for (const auto& [name, value] : options.items()) {
    const std::string place = document.place("cluster.router_options." + name);
    const bool meant = place.starts_with(chosen->flag + " ");
    if (meant || reads_option(*own, name) || !some_router_reads(name)) kept[name] = value;
  }
  options = std::move(kept);
}

Scenario resolve(const Document& document) {
  const std::string& file = document.file;
  Scenario scenario;
  scenario.file = file;
  take_engine_defaults(document, scenario.engine);
  read_block(Value(document, document.root, ""), scenario_table(), scenario);
  if (scenario.name.empty()) scenario.name = fs::path(file).stem().string();
  resolve_names(document, folder_of(file), scenario);
  choose_scheduler(document, scenario);
  resolve_defaults(scenario);
  check_scenario(scenario, [&](const std::string& key) { return document.place(key); });
  return scenario;
}

// A message about a key that the pool shares with the scenario says which pool it does not suit.
Scenario resolve_pool(const Document& document, std::size_t number, const PoolOptions& pool) {
  const std::string path = "cluster.pools[" + std::to_string(number) + "]";
  try {
    return resolve(pool_document(document, number, pool));
  } catch (const InputError& error) {
    InputError::Parts parts = error.parts();
    if (parts.place.find(path) != std::string::npos) throw;
    parts.expected += ", in " + path;
    throw InputError(parts);
  }
}

}  // namespace

Scenario parse_scenario(const std::string& text, const std::string& file,
                        std::span<const Assignment> assignments) {
  Document document = read_document(text, file);
  for (const Assignment& assignment : assignments) assign(document, assignment);
  drop_options_of_other_routers(document, assignments);
  Scenario scenario = resolve(document);
  std::vector<PoolOptions>& pools = scenario.cluster.pools;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    pools[i].own = std::make_shared<const Scenario>(resolve_pool(document, i, pools[i]));
  }
  check_roles(scenario, [&](const std::string& key) { return document.place(key); });
  return scenario;
}

std::string find_scenario(const std::string& path_or_name) {
  std::error_code ec;
  if (path_or_name == "-" || fs::exists(path_or_name, ec)) return path_or_name;
  const std::vector<std::string> names = catalogue_names("scenarios");
  if (std::find(names.begin(), names.end(), path_or_name) != names.end()) {
    return data_folder("scenarios") + "/" + path_or_name + ".json";
  }
  throw InputError({path_or_name, "", "no such file, and no scenario of that name",
                    "a scenario's path, or " + one_of(path_or_name, names)});
}

Scenario load_scenario(const std::string& path_or_name, std::span<const Assignment> assignments) {
  const std::string path = find_scenario(path_or_name);
  return parse_scenario(read_whole_file(path), path == "-" ? "standard input" : path, assignments);
}

void limit_requests(Scenario& scenario, std::int64_t count) {
  SIM_CHECK(count >= 1);
  WorkloadOptions& w = scenario.workload;
  std::int64_t& limit = w.generated() ? w.num_prompts : w.limit;
  limit = limit == 0 ? count : std::min(limit, count);
}

std::string to_json_text(const Scenario& scenario) {
  return dump(write_block(scenario, scenario_table()), 2) + "\n";
}

}  // namespace headway
