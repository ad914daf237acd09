#pragma once

#include <string>

#include "sim/cli/capacity_arguments.h"
#include "sim/cli/command.h"
#include "sim/core/output_file.h"
#include "sim/study/pareto.h"

namespace headway {

// `headway capacity --plan`: the Pareto table of a plan's setups.
class CapacityPlan {
 public:
  // How the command was called otherwise.
  struct Common {
    int threads = 1;
    bool quiet = false, json = false, step_by_step = false;
    std::string result_path, report_path;  // "" = none
    std::string command_line;
  };

  void declare(Arguments& arguments);
  bool asked() const { return !plan_path_.empty(); }
  // The first flag given that needs a plan; "" = none.
  std::string plan_flag() const;
  int run(const CapacityArguments& capacity, const Common& common);

 private:
  ParetoOptions options(const CapacityArguments& capacity, const Common& common) const;
  std::vector<PointResult> results(const Plan& plan, const ParetoOptions& options,
                                   const Common& common) const;
  void write(const ParetoTable& table, const Common& common, OutputFile* report) const;

  std::string plan_path_, folder_, csv_path_, svg_path_;
  bool fixed_load_ = false, all_ = false, force_ = false, strict_ = false;
};

}  // namespace headway
