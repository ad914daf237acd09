#include "sim/report/html_page.h"

#include <nlohmann/json.hpp>

#include "sim/core/errors.h"

namespace headway {
namespace {

constexpr std::string_view kPlace = "{\"headway\":\"data\"}";  // in template.html
constexpr std::size_t kFewestColumns = 24;

}  // namespace

void require_report_page(const ReportPage& page) {
  if (!page.html.empty()) return;
  throw InputError({"command line", "--report",
                    "a program that was built without its report page (" + std::string(page.fault) +
                        ")",
                    "a build with Node.js 18 or later and npm: install them, then run cmake again"});
}

std::string embedded_json(const nlohmann::ordered_json& data) {
  using Handler = nlohmann::ordered_json::error_handler_t;
  const std::string text = data.dump(-1, ' ', false, Handler::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string report_html(const ReportPage& page,
                        const std::function<nlohmann::ordered_json(std::size_t columns)>& data_of) {
  require_report_page(page);
  const std::size_t at = page.html.find(kPlace);
  SIM_CHECK(at != std::string_view::npos, "a report page without a place for its data");
  std::string data;
  for (std::size_t columns = kMostColumns; columns >= kFewestColumns; columns /= 2) {
    data = embedded_json(data_of(columns));
    if (page.html.size() + data.size() <= kMaxReportBytes) break;
  }
  std::string out(page.html.substr(0, at));
  out += data;
  out += page.html.substr(at + kPlace.size());
  return out;
}

}  // namespace headway
