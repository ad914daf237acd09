#include "sim/study/shard.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "sim/core/errors.h"
#include "sim/core/hash.h"

namespace headway {
namespace {

using Get = std::function<const char*(const char*)>;

bool parse_number(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= 0;
}

std::int64_t number(const Get& get, const char* name, std::optional<std::int64_t> missing = {}) {
  const char* text = get(name);
  std::int64_t value = 0;
  if (text == nullptr && missing) return *missing;
  if (text == nullptr || !parse_number(text, value)) {
    throw InputError({"environment", name,
                      text == nullptr ? "nothing" : "\"" + std::string(text) + "\"",
                      "a whole number, at least 0 (or --shard I/N)"});
  }
  return value;
}

Shard checked(std::int64_t index, std::int64_t count, const std::string& source) {
  if (index < 0 || count < 1 || index >= count) {
    throw InputError({"environment", source,
                      "part " + std::to_string(index) + " of " + std::to_string(count),
                      "evenly spaced indices, every one of them there (or --shard I/N)"});
  }
  return {index, count, source};
}

std::optional<Shard> slurm_array(const Get& get) {
  if (get("SLURM_ARRAY_TASK_ID") == nullptr) return std::nullopt;
  const std::int64_t step = number(get, "SLURM_ARRAY_TASK_STEP", 1);
  const std::int64_t gap =
      number(get, "SLURM_ARRAY_TASK_ID") - number(get, "SLURM_ARRAY_TASK_MIN", 0);
  const bool even = step > 0 && gap % step == 0;
  return checked(even ? gap / step : -1, number(get, "SLURM_ARRAY_TASK_COUNT"),
                 "SLURM_ARRAY_TASK_ID");
}

std::optional<Shard> rank(const Get& get) {
  if (get("OMPI_COMM_WORLD_RANK") != nullptr) {
    return checked(number(get, "OMPI_COMM_WORLD_RANK"), number(get, "OMPI_COMM_WORLD_SIZE"),
                   "OMPI_COMM_WORLD_RANK");
  }
  if (get("SLURM_PROCID") != nullptr && get("SLURM_STEP_NUM_TASKS") != nullptr) {
    return checked(number(get, "SLURM_PROCID"), number(get, "SLURM_STEP_NUM_TASKS"),
                   "SLURM_PROCID");
  }
  return std::nullopt;
}

}  // namespace

Shard parse_shard(const std::string& text) {
  Shard shard;
  const std::size_t slash = text.find('/');
  const std::string_view all = text;
  if (slash == std::string::npos || !parse_number(all.substr(0, slash), shard.index) ||
      !parse_number(all.substr(slash + 1), shard.count) || shard.index >= shard.count) {
    throw InputError({"command line", "--shard", "\"" + text + "\"", "I/N, with I from 0 to N-1"});
  }
  shard.source = "--shard";
  return shard;
}

std::optional<Shard> shard_from_environment(const Get& get) {
  const std::optional<Shard> array = slurm_array(get), inner = rank(get);
  if (array && inner && inner->count > 1) {
    return Shard{array->index * inner->count + inner->index, array->count * inner->count,
                 array->source + " and " + inner->source};
  }
  if (array) return array;
  if (inner) return inner;
  if (get("JOB_COMPLETION_INDEX") != nullptr) {
    if (get("HEADWAY_SHARD_COUNT") == nullptr) {
      throw InputError({"environment", "JOB_COMPLETION_INDEX", "no HEADWAY_SHARD_COUNT beside it",
                        "the job's spec.completions there (or --shard I/N)"});
    }
    return checked(number(get, "JOB_COMPLETION_INDEX"), number(get, "HEADWAY_SHARD_COUNT"),
                   "JOB_COMPLETION_INDEX");
  }
  return std::nullopt;
}

std::vector<std::int64_t> shard_points(std::int64_t count, const Shard& shard) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[mix64(i) % i]);
  std::vector<std::int64_t> mine;
  for (std::int64_t at = shard.index; at < count; at += shard.count) {
    mine.push_back(order[static_cast<std::size_t>(at)]);
  }
  return mine;
}

}  // namespace headway
