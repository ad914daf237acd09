#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "sim/cli/commands.h"
#include "sim/cli/console.h"
#include "sim/cli/execute.h"
#include "sim/cli/sweep_progress.h"
#include "sim/core/build_info.h"
#include "sim/core/errors.h"
#include "sim/report/result_json.h"
#include "sim/study/sweep.h"
#include "sim/study/sweep_mpi.h"

namespace headway {
namespace {

// Reads each profile once: for a short run that would be half of the work.
class Profiles {
 public:
  std::shared_ptr<const Profile> get(const std::string& name) {
    if (name == "roofline") return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<const Profile>& profile = by_name_[name];
    if (!profile) profile = std::make_shared<const Profile>(load_profile(name));
    return profile;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Profile>> by_name_;
};

// Simulates a point, for its file.
PointRunner make_runner() {
  return [profiles = std::make_shared<Profiles>()](const Scenario& scenario) {
    Execution run = execute(scenario, {}, false, {}, profiles->get(scenario.profile).get());
    run.info.date.reset();
    run.info.wall_s.reset();
    return result_json(run.summary, run.info).dump();
  };
}

bool under_mpirun() {
  for (const char* size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const char* text = std::getenv(size);
    if (text != nullptr && std::atoi(text) > 1) return true;
  }
  return false;
}

class SweepCommand final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("plan", plan_path_, "A plan: JSON that names a scenario and its axes",
                         false);  // not with `sweep merge`
    arguments.text("-o,--output", "DIR", folder_,
                   "Where the results go (default: sweep-NAME, by the plan's file)");
    arguments.number("-j,--jobs", "N", jobs_, {1, kMostThreads},
                     "Points at a time (default: what the machine has)");
    arguments.text("--shard", "I/N", shard_,
                   "Only part I (from 0) of N; Slurm, Kubernetes and Open MPI say it themselves");
    arguments.flag("--mpi", mpi_, "Share the points with the other ranks (by itself under mpirun)");
    arguments.flag("--resume", resume_, "Keep finished points; what is done anyway");
    arguments.flag("--force", force_, "Run finished points of this plan again");
    arguments.flag("--dry-run", dry_run_, "Print the points and stop");
    arguments.flag("-q,--quiet", quiet_, "No progress and no notes on stderr");
  }

  int run() override {
    check_words();
    const Plan plan = read_plan(plan_path_);
    if (dry_run_) return list_points(plan);
    if (folder_.empty()) folder_ = "sweep-" + std::filesystem::path(plan_path_).stem().string();
    const bool with_mpi = mpi_ || (built_with_mpi() && shard_.empty() && under_mpirun());
    if (with_mpi) return run_with_mpi(plan);
    const Shard shard = choose_shard();
    const SweepFolder folder = open_folder(plan);
    const Sweep sweep(folder, program_version(), make_runner());
    SweepCounts counts;
    const std::vector<std::int64_t> points = sweep.left(shard, force_, counts);
    SweepProgress progress(wants_progress(quiet_), counts);
    run_on_threads(sweep, points, threads(), [&](PointStatus status) { progress.add(status); });
    return finish(progress);
  }

 private:
  void check_words() const {
    const char* const place = "headway sweep";
    if (plan_path_.empty()) {
      throw InputError({"command line", place, "no plan", "a plan's path, or merge DIR"});
    }
    if (resume_ && force_) {
      throw InputError({"command line", place, "both --resume and --force", "one of them"});
    }
    if (mpi_ && !shard_.empty()) {
      throw InputError({"command line", place, "both --mpi and --shard", "one of them"});
    }
    if (mpi_ && !built_with_mpi()) {
      throw InputError({"command line", "--mpi", "a program built without MPI",
                        "one configured with -DHEADWAY_MPI=ON, or --shard I/N for each process"});
    }
  }

  int threads() const {
    const auto machine = static_cast<std::int64_t>(std::thread::hardware_concurrency());
    return static_cast<int>(jobs_.value_or(std::max<std::int64_t>(machine, 1)));
  }

  Shard choose_shard() const {
    if (!shard_.empty()) return parse_shard(shard_);
    const auto found =
        shard_from_environment([](const char* name) -> const char* { return std::getenv(name); });
    if (!found) return {};
    if (!quiet_) {
      print_err("note: part " + std::to_string(found->index) + " of " +
                std::to_string(found->count) + ", by " + found->source +
                " (--shard I/N wins over it)\n");
    }
    return *found;
  }

  // A plan is looked at whole before anything is written.
  SweepFolder open_folder(const Plan& plan) const {
    if (!SweepFolder::started(folder_)) check_plan(plan, threads());
    return SweepFolder::open(folder_, plan);
  }

  int run_with_mpi(const Plan& plan) {
    // Rank 0 opens the folder before any point is dealt, and no other rank needs it earlier.
    std::unique_ptr<SweepFolder> folder;
    std::unique_ptr<Sweep> sweep;
    std::unique_ptr<SweepProgress> progress;
    const auto enter = [&] {
      if (sweep) return;
      folder = std::make_unique<SweepFolder>(open_folder(plan));
      sweep = std::make_unique<Sweep>(*folder, program_version(), make_runner());
    };
    MpiJob job;
    job.prepare = [&] {
      enter();
      SweepCounts counts;
      std::vector<std::int64_t> points = sweep->left({}, force_, counts);
      progress = std::make_unique<SweepProgress>(wants_progress(quiet_), counts);
      return points;
    };
    job.run = [&](std::int64_t index) {
      enter();  // on rank 0 it has been
      return sweep->run(index);
    };
    job.done = [&](PointStatus status) { progress->add(status); };
    job.threads_alone = threads();
    return run_on_mpi(job) ? finish(*progress) : 0;
  }

  int finish(SweepProgress& progress) const {
    progress.wipe();
    const SweepCounts& counts = progress.counts();
    if (!quiet_) print_err(counts_text(counts) + "; results in " + folder_ + "\n");
    if (counts.failed > 0) {
      throw StudyError(3, std::to_string(counts.failed) + " of " + std::to_string(counts.total) +
                              " points failed (headway sweep merge " + folder_ +
                              " --partial tells why; the same sweep tries them again)");
    }
    return 0;
  }

  int list_points(const Plan& plan) const {
    check_plan(plan, threads());
    std::string text;
    for (const PlanPoint& point : plan_points(plan)) {
      text += std::to_string(point.index) + " " + point_label(point) + "\n";
    }
    print_out(text);
    return 0;
  }

  std::string plan_path_, folder_, shard_;
  std::optional<std::int64_t> jobs_;
  bool mpi_ = false, resume_ = false, force_ = false, dry_run_ = false, quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_sweep_command() { return std::make_unique<SweepCommand>(); }

}  // namespace headway
