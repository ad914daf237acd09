#include <zlib.h>

#include <boost/version.hpp>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/core/build_info.h"
#include "sim/report/html_page.h"
#include "sim/study/sweep_mpi.h"

namespace headway {
namespace {

std::string compiler() {
#if defined(__clang__)
  return std::string("Clang ") + __clang_version__;
#elif defined(__GNUC__)
  return std::string("GCC ") + __VERSION__;
#else
  return "unknown";
#endif
}

std::string report_page_text() {
  const ReportPage page = report_page();
  return page.html.empty() ? "no (" + std::string(page.fault) + ")" : "yes";
}

class VersionCommand final : public Command {
 public:
  void declare(Arguments&) override {}
  int run() override {
    const std::string boost = std::to_string(BOOST_VERSION / 100000) + "." +
                              std::to_string(BOOST_VERSION / 100 % 1000) + "." +
                              std::to_string(BOOST_VERSION % 100);
    print_out("headway " + program_version() + "\ncompiler " + compiler() + "\nBoost " + boost +
              "\nzlib " ZLIB_VERSION "\nCUDA " + (built_with_cuda() ? "yes" : "no") + "\nMPI " +
              (built_with_mpi() ? "yes" : "no") + "\nreport page " + report_page_text() + "\n");
    return 0;
  }
};

}  // namespace

std::unique_ptr<Command> make_version_command() { return std::make_unique<VersionCommand>(); }

}  // namespace headway
