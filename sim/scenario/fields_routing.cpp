#include "sim/routing/router.h"
#include "sim/scenario/fields.h"

namespace headway {
namespace {

using A = AdmissionOptions;
using C = ClusterOptions;

constexpr std::int64_t kMostRequests = 1'000'000'000;

template <typename I>
FieldRow<A> optional_integer(std::string name, std::optional<I> A::*member, std::int64_t low,
                             std::int64_t high, std::string help) {
  return {std::move(name),
          "integer or null",
          range_text(low, high),
          std::move(help),
          [=](const Value& v, A& out) {
            (out.*member).reset();
            if (!v.json().is_null()) out.*member = static_cast<I>(v.integer(low, high));
          },
          [=](const A& in) { return in.*member ? Json(*(in.*member)) : Json(nullptr); }};
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const RouterEntry& row : router_table()) {
    for (const RouterOption& o : row.options) names.emplace_back(o.name);
  }
  return names;
}

const RouterOption* find_option(const std::string& name) {
  for (const RouterEntry& row : router_table()) {
    for (const RouterOption& o : row.options) {
      if (o.name == name) return &o;
    }
  }
  return nullptr;
}

void read_router_options(const Value& value, C& out) {
  value.require_object();
  out.router_options.clear();
  for (const auto& item : value.json().items()) {
    const RouterOption* option = find_option(item.key());
    if (option == nullptr) unknown_key(value, item.key(), option_names());
    const Value given = value.member(item.key());
    out.router_options[item.key()] =
        option->whole ? static_cast<double>(given.integer(static_cast<std::int64_t>(option->low),
                                                          static_cast<std::int64_t>(option->high)))
                      : given.number(option->low, option->high);
  }
}

std::vector<FieldDoc> router_option_docs(const std::string& path) {
  std::vector<FieldDoc> docs;
  for (const RouterEntry& row : router_table()) {
    for (const RouterOption& o : row.options) {
      const std::string valid =
          o.whole ? range_text(static_cast<std::int64_t>(o.low), static_cast<std::int64_t>(o.high))
                  : range_text(o.low, o.high);
      docs.push_back({join_path(path, std::string(o.name)), o.whole ? "integer" : "number", valid,
                      dump(number_json(o.initial)),
                      std::string(row.name) + ": " + std::string(o.help)});
    }
  }
  return docs;
}

}  // namespace

const FieldTable<AdmissionOptions>& admission_table() {
  static const FieldTable<A> table = {
      integer("max_outstanding", &A::max_outstanding, 0, kMostRequests,
              "requests let in and not answered, all replicas; 0 = no limit"),
      integer("max_outstanding_per_replica", &A::max_outstanding_per_replica, 0, kMostRequests,
              "the same of each replica; 0 = no limit"),
      optional_integer("max_queue", &A::max_queue, 0, kMostRequests,
                       "requests that may wait for a place, others are rejected; null = no limit"),
      number("max_wait_s", &A::max_wait_s, kAboveZero, kInfinity,
             "a request that has waited so long for a place gives up; \"inf\" = never"),
      optional_integer("shed_priority_above", &A::shed_priority_above,
                       std::numeric_limits<std::int32_t>::min(),
                       std::numeric_limits<std::int32_t>::max(),
                       "while there is no place, requests of larger priority numbers are rejected; "
                       "null = none"),
  };
  return table;
}

FieldRow<ClusterOptions> router_options_field() {
  return {"router_options",
          "object",
          "keys of the router chosen",
          "how the router decides",
          read_router_options,
          [](const C& in) {
            Json object = Json::object();
            for (const auto& [name, value] : in.router_options) object[name] = number_json(value);
            return object;
          },
          "",
          false,
          router_option_docs};
}

}  // namespace headway
