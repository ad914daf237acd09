#include <algorithm>
#include <set>

#include "sim/routing/router.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/fields_transfer.h"
#include "sim/scenario/pools.h"

namespace headway {
namespace {

using C = ClusterOptions;

constexpr std::int64_t kMostReplicas = 100'000;
constexpr double kMostSeconds = 1e9;

std::vector<std::string> router_names() {
  std::vector<std::string> names;
  for (const RouterEntry& entry : router_table()) names.emplace_back(entry.name);
  return names;
}

const FieldTable<AutoscalerOptions>& autoscaler_table() {
  using A = AutoscalerOptions;
  static const FieldTable<A> table = {
      integer("min_replicas", &A::min_replicas, 1, kMostReplicas, "fewest replicas"),
      required(integer("max_replicas", &A::max_replicas, 1, kMostReplicas, "most replicas")),
      choice("metric", &A::metric, autoscaler_metrics(), "what it goes by"),
      required(number("target", &A::target, kAboveZero, 1e12, "the metric's value to keep to")),
      number("interval_s", &A::interval_s, 1e-3, kMostSeconds, "time between two looks"),
      number("scale_up_cooldown_s", &A::scale_up_cooldown_s, 0, kMostSeconds,
             "scales up to the lowest advice of so long"),
      number("scale_down_cooldown_s", &A::scale_down_cooldown_s, 0, kMostSeconds,
             "scales down to the highest advice of so long"),
      number("tolerance", &A::tolerance, 0, 1e6, "metric / target may differ from 1 by so much"),
  };
  return table;
}

// null = none.
template <typename T, typename U>
FieldRow<T> optional_block(std::string name, std::optional<U> T::*member,
                           const FieldTable<U>& (*fields)(), std::string help) {
  return {std::move(name),
          "object or null",
          "",
          std::move(help),
          [=](const Value& v, T& out) {
            (out.*member).reset();
            if (!v.json().is_null()) read_block(v, fields(), (out.*member).emplace());
          },
          [=](const T& in) {
            return in.*member ? write_block(*(in.*member), fields()) : Json(nullptr);
          }};
}

template <typename T>
FieldRow<T> autoscaler_field(std::optional<AutoscalerOptions> T::*member) {
  FieldRow<T> row = optional_block(
      "autoscaler", member, autoscaler_table,
      "replicas by load: { max_replicas, target, metric, min_replicas, interval_s, "
      "scale_up_cooldown_s, scale_down_cooldown_s, tolerance }");
  row.read = [read = row.read, member](const Value& v, T& out) {
    read(v, out);
    const auto& o = out.*member;
    if (o && o->min_replicas > o->max_replicas) {
      v.fail("min_replicas " + std::to_string(o->min_replicas) + " above max_replicas " +
                 std::to_string(o->max_replicas),
             "at most as many");
    }
  };
  return row;
}

const FieldTable<FailureOptions>& failure_table() {
  using F = FailureOptions;
  static const FieldTable<F> table = {
      required(integer("replica", &F::replica, 0, kMostReplicas - 1, "its number in the fleet")),
      required(number("at_s", &F::at_s, 0, kMostSeconds, "when it fails")),
      number("down_s", &F::down_s, 0, kInfinity, "until it starts again; \"inf\" = never"),
  };
  return table;
}

FieldRow<LifecycleOptions> failures_field() {
  using L = LifecycleOptions;
  return {"failures",
          "list of { replica, at_s, down_s }",
          "",
          "replicas that fail, and when",
          [](const Value& v, L& out) {
            out.failures.clear();
            if (!v.json().is_array()) v.fail(describe(v.json()), "a list of failures");
            for (std::size_t i = 0; i < v.json().size(); ++i) {
              FailureOptions& failure = out.failures.emplace_back();
              read_block(v.entry(i), failure_table(), failure);
              if (!(failure.down_s <= kMostSeconds) && failure.down_s != kInfinity) {
                v.entry(i).member("down_s").fail(std::to_string(failure.down_s),
                                                 "at most 1e9, or \"inf\"");
              }
            }
          },
          [](const L& in) {
            Json list = Json::array();
            for (const FailureOptions& f : in.failures) list.push_back(write_block(f, failure_table()));
            return list;
          }};
}

const FieldTable<RandomFailureOptions>& random_failure_table() {
  using R = RandomFailureOptions;
  static const FieldTable<R> table = {
      required(number("mtbf_s", &R::mtbf_s, 1e-3, 1e12, "mean time from ready to failure")),
      required(number("mttr_s", &R::mttr_s, 1e-3, 1e12, "mean time until it starts again")),
  };
  return table;
}

// Keys of the cluster itself.
FieldRow<C> lift(const FieldRow<LifecycleOptions>& row) {
  return {row.name,
          row.type,
          row.valid,
          row.help,
          [read = row.read](const Value& v, C& out) { read(v, out.lifecycle); },
          [write = row.write](const C& in) { return write(in.lifecycle); }};
}

void add_lifecycle(FieldTable<C>& rows) {
  using L = LifecycleOptions;
  rows.push_back(lift(number("startup_s", &L::startup_s, 0, kMostSeconds,
                             "from starting a replica until it takes requests")));
  rows.push_back(lift(failures_field()));
  rows.push_back(lift(optional_block("failures_random", &L::failures_random, random_failure_table,
                                     "failures at random: { mtbf_s, mttr_s }")));
  rows.push_back(lift(choice("on_failure", &L::on_failure, {"retry", "fail"},
                             "requests of a replica that failed: sent again, or lost")));
  rows.push_back(lift(autoscaler_field(&L::autoscaler)));
}

void add_transfer(FieldTable<C>& rows) {
  const auto rule = choice("disaggregation", &TransferOptions::rule, disaggregation_rules(),
                           "who computes a prompt and who goes on with the answer, between pools "
                           "with the roles prefill and decode; \"\" = one replica does both");
  rows.push_back({rule.name, rule.type, rule.valid, rule.help,
                  [read = rule.read](const Value& v, C& out) { read(v, out.transfer); },
                  [write = rule.write](const C& in) { return write(in.transfer); }});
  rows.push_back({"transfer", "object", "", "how KV gets from one to the other",
                  [](const Value& v, C& out) { read_block(v, transfer_table(), out.transfer); },
                  [](const C& in) { return write_block(in.transfer, transfer_table()); }, "", false,
                  [](const std::string& path) { return document_block(path, transfer_table()); }});
}

// Keys that stay out of a resolved scenario while they ask for nothing.
const std::vector<std::string>& quiet_keys() {
  static const std::vector<std::string> keys{"startup_s", "failures", "failures_random", "on_failure",
                                             "autoscaler", "disaggregation", "transfer",
                                             "admission", "router_options"};
  return keys;
}

void erase_quiet(Json& object, const Json& initial) {
  for (const std::string& key : quiet_keys()) {
    if (object.contains(key) && object.at(key) == initial.at(key)) object.erase(key);
  }
}

// A key of the scenario that a pool may have its own of. Its value is read with the pool's document.
FieldRow<PoolOptions> override_of(const std::string& key) {
  return {key,
          "as the scenario's",
          "",
          "in the place of the scenario's " + key + "; a block's keys go over those of the scenario",
          [key](const Value&, PoolOptions& out) { out.overrides.push_back(key); },
          [key](const PoolOptions& in) {
            const auto& keys = in.overrides;
            if (std::find(keys.begin(), keys.end(), key) == keys.end()) return Json(nullptr);
            for (const FieldRow<Scenario>& row : scenario_table()) {
              if (row.name == key) return row.write(*in.own);
            }
            return Json(nullptr);
          }};
}

const std::vector<std::string>& override_keys() {
  static const std::vector<std::string> keys{"gpu",      "profile", "precision",  "engine",
                                             "parallel", "host",    "speculation"};
  return keys;
}

const FieldTable<PoolOptions>& pool_table() {
  using P = PoolOptions;
  static const FieldTable<P> table = [] {
    FieldTable<P> rows = {
        required(text("name", &P::name, "what the pool is called in results")),
        integer("replicas", &P::replicas, 0, kMostReplicas, "engines of this kind"),
        choice("role", &P::role, {"both", "prefill", "decode"},
               "what its replicas do of a request"),
        optional_number("startup_s", &P::startup_s, 0, kMostSeconds,
                        "in the place of the cluster's startup_s"),
        autoscaler_field(&P::autoscaler),
    };
    for (const std::string& key : override_keys()) rows.push_back(override_of(key));
    return rows;
  }();
  return table;
}

void read_pool(const Value& value, const std::set<std::string>& taken, PoolOptions& out) {
  read_block(value, pool_table(), out);
  if (out.name.empty()) value.member("name").fail("an empty text", "a name");
  if (taken.contains(out.name)) {
    value.member("name").fail(in_quotes(out.name) + ", a second time", "another name for each pool");
  }
}

FieldRow<C> pools_field() {
  return {"pools",
          "list of objects",
          "at least one",
          "replicas of different kinds, in the place of \"replicas\"",
          [](const Value& v, C& out) {
            if (!v.json().is_array() || v.json().empty()) {
              v.fail(v.json().is_array() ? "an empty list" : describe(v.json()),
                     "a list of pools, at least one");
            }
            std::set<std::string> names;
            for (std::size_t i = 0; i < v.json().size(); ++i) {
              read_pool(v.entry(i), names, out.pools.emplace_back());
              names.insert(out.pools.back().name);
            }
          },
          [](const C& in) {
            Json list = Json::array();
            for (const PoolOptions& pool : in.pools) {
              Json object = write_block(pool, pool_table());
              for (const std::string& key : override_keys()) {
                if (object.at(key).is_null()) object.erase(key);
              }
              erase_quiet(object, write_block(PoolOptions{}, pool_table()));
              list.push_back(std::move(object));
            }
            return list;
          },
          "pools",
          false,
          [](const std::string& path) { return document_block(path + "[i]", pool_table()); }};
}

const FieldTable<C>& cluster_table() {
  static const FieldTable<C> table = [] {
    FieldTable<C> rows = {
        in_group("alike", integer("replicas", &C::replicas, 1, kMostReplicas,
                                  "engines behind the router")),
        choice("router", &C::router, router_names(), "what chooses a replica"),
        router_options_field(),
        block("admission", &C::admission, admission_table, "who is let in, who waits, who is refused"),
        pools_field(),
    };
    add_lifecycle(rows);
    add_transfer(rows);
    return rows;
  }();
  return table;
}

Json& overlay(Json& below, const Json& above) {
  if (!below.is_object() || !above.is_object()) return below = above;
  for (const auto& item : above.items()) below[item.key()] = item.value();
  return below;
}

}  // namespace

namespace {

void check_pools(const Value& value, ClusterOptions& out) {
  if (value.has("replicas")) {
    value.member("replicas").fail("a number of replicas beside pools", "either of them");
  }
  if (out.lifecycle.autoscaler) {
    value.member("autoscaler").fail("an autoscaler beside pools", "cluster.pools[i].autoscaler");
  }
  std::int64_t all = 0;
  bool scaled = false;
  for (const PoolOptions& pool : out.pools) {
    all += pool.replicas;
    scaled = scaled || pool.autoscaler;
  }
  if ((all == 0 && !scaled) || all > kMostReplicas) {
    value.member("pools").fail(std::to_string(all) + " replicas in all",
                               "1 to " + std::to_string(kMostReplicas));
  }
  out.replicas = static_cast<std::int32_t>(all);
}

// Replicas that there are numbers for.
std::int64_t numbered(const ClusterOptions& c) {
  if (c.pools.empty()) return most_replicas(c.replicas, c.lifecycle.autoscaler);
  std::int64_t all = 0;
  for (const PoolOptions& pool : c.pools) all += most_replicas(pool.replicas, pool.autoscaler);
  return all;
}

}  // namespace

void read_cluster(const Value& value, ClusterOptions& out) {
  out.pools.clear();
  read_block(value, cluster_table(), out);
  if (!out.pools.empty()) check_pools(value, out);
  const std::vector<FailureOptions>& failures = out.lifecycle.failures;
  const std::int64_t most = numbered(out);
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (failures[i].replica < most) continue;
    value.member("failures").entry(i).member("replica").fail(
        std::to_string(failures[i].replica),
        "a replica of the fleet, 0 to " + std::to_string(most - 1));
  }
}

Json write_cluster(const ClusterOptions& in) {
  const char* const group = in.pools.empty() ? "alike" : "pools";
  Json object = write_block(in, cluster_table(), group);
  erase_quiet(object, write_block(ClusterOptions{}, cluster_table(), group));
  return object;
}

std::vector<FieldDoc> cluster_docs(const std::string& path) {
  return document_block(path, cluster_table());
}

Document pool_document(const Document& document, std::size_t pool, const PoolOptions& options) {
  Document own = document;
  own.root.erase("cluster");
  const std::string path = "cluster.pools[" + std::to_string(pool) + "]";
  const Json& given = document.root.at("cluster").at("pools").at(pool);
  for (const std::string& key : options.overrides) {
    if (key == "gpu") {  // the figures of another GPU are not this one's
      own.root[key] = given.at(key);
    } else {
      overlay(own.root[key], given.at(key));
    }
  }
  // What the pool gives was written there.
  for (const auto& [place, where] : document.places) {
    if (place.starts_with(path + ".")) own.places[place.substr(path.size() + 1)] = where;
  }
  return own;
}

}  // namespace headway
