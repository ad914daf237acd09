#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/metrics/observer.h"
#include "sim/study/demo.h"
#include "sim/study/lecture/lecture_run.h"

namespace headway {

// What a planner asks of a fleet, one question a file; planner_table() in demo.h has a row for
// each.
DemoAnswer run_disaggregation_demo(const std::string& scenario);
DemoAnswer run_routing_demo(const std::string& scenario);
DemoAnswer run_autoscaling_demo(const std::string& scenario);
DemoAnswer run_failure_demo(const std::string& scenario);

// Runs all on the threads of the machine; results in their order, whatever the number of threads.
// `extra`, where given, makes an observer of the i-th run that hears it too.
using MakeObserver = std::function<Observer*(std::size_t)>;
std::vector<LectureRun> run_fleets(const std::vector<Scenario>& scenarios,
                                   const MakeObserver& extra = {});

// GPU-hours that a run's replicas were paid for. REQUIRES: replicas are alike.
double gpu_hours(const Scenario& scenario, const RunOutcome& outcome);

}  // namespace headway
