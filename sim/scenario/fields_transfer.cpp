#include "sim/scenario/fields_transfer.h"

#include "sim/core/suggest.h"
#include "sim/hardware/kv_links.h"

namespace headway {
namespace {

using Transfer = TransferOptions;

const FieldTable<Transfer>& own_link_table() {
  static const FieldTable<Transfer> table = {
      required(number("bandwidth", &Transfer::bandwidth, kAboveZero, 1e15, "bytes per second")),
      number("latency_us", &Transfer::latency_us, 0, 1e9, "before the first byte"),
  };
  return table;
}

// A name of the catalogue, or the two figures.
FieldRow<Transfer> link_field() {
  return {"link",
          "text or object",
          "",
          "link that KV is sent over: " + choices_text(kv_link_names()) +
              "; or { bandwidth (bytes per second), latency_us }",
          [](const Value& v, Transfer& out) {
            if (v.json().is_object()) {
              out.link.clear();
              read_block(v, own_link_table(), out);
              return;
            }
            const std::string name = v.text();
            if (find_kv_link(name) == nullptr) {
              v.fail("\"" + name + "\"", one_of(name, kv_link_names()));
            }
            out.link = name;
          },
          [](const Transfer& in) {
            return in.link.empty() ? write_block(in, own_link_table()) : Json(in.link);
          }};
}

}  // namespace

const FieldTable<Transfer>& transfer_table() {
  static const FieldTable<Transfer> table = {
      link_field(),
      boolean("per_gpu", &Transfer::per_gpu, "a link for each GPU; false = one for each replica"),
      choice("overlap", &Transfer::overlap, {"none", "layers"},
             "layers: a layer's KV is sent while the next ones are computed"),
      integer(
          "lend_above_tokens", &Transfer::lend_above_tokens, 0, 1'000'000'000'000,
          "splitwise: prompt tokens at a replica above which a prompt goes to one that decodes"),
  };
  return table;
}

}  // namespace headway
