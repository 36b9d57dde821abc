// The worker for programs: measures the [[program]]s of suites by running them under the recorder. It uses
// the same protocol as every worker (docs/formats.md), with the suites as arguments.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "measure/external/program_run.hpp"
#include "measure/external/program_trial.hpp"
#include "measure/runfile/description_json.hpp"
#include "measure/runfile/worker_protocol.hpp"
#include "measure/sweep/suite_document.hpp"
#include "measure/sweep/vocabulary.hpp"
#include "record/ledger/repetitions.hpp"
#include "record/subprocess/processes.hpp"

namespace peakmark {
namespace {

struct Options {
  std::vector<std::string> suites;
  bool describe = false;
  bool require_recorder = false;
  std::string cases;
  int observations_fd = -1;
  ProgramTrialOptions trial{"opencl", "0"};
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("SUITE", options.suites, "Suites whose programs are measured")->required();
  app.add_flag("--describe", options.describe, "Print the programs, their axes and estimators as JSON");
  app.add_option("--cases", options.cases, "Cases to measure, one name per line; - is standard input");
  app.add_option("--observations-fd", options.observations_fd,
                 "Write observations to this descriptor. Default: standard output");
  app.add_option("--backend", options.trial.backend, "Backend of the run's device")->capture_default_str();
  app.add_option("--device", options.trial.device, "Index of the run's device")->capture_default_str();
  CLI::Option* const memory_only = app.add_flag("--memory-only", options.trial.memory_only, "No timings");
  app.add_flag("--times-only", options.trial.times_only, "Only time cases, whose memory was measured before")
      ->excludes(memory_only);
  app.add_flag("--sequences", options.trial.sequences,
               "Record every allocation of the memory pass in order, with its call site");
  app.add_option("--repeat-call", options.trial.repeat_calls,
                 "Run each program once more, with this many calls, to find leaks of each call")
      ->check(CLI::Range(static_cast<int>(kMinRepetitions), 1'000'000));
  app.add_flag_function(
      "--report-steps", [](std::int64_t) {}, "No effect: a program has no steps");
  app.add_flag("--require-recorder", options.require_recorder, "Exit with 5 if no recorder is found");
  app.add_option("--repetitions", options.trial.repetitions, "Number of timed runs")
      ->check(CLI::Range(1, 1000));
  app.set_version_flag("--version", PEAKMARK_VERSION);
}

Vocabulary programs_of(const std::vector<std::string>& suites) {
  std::vector<SuiteDocument> documents;
  documents.reserve(suites.size());
  for (const std::string& suite : suites) documents.push_back(read_suite_document(suite));
  Description nothing;
  nothing.worker = "peakmark-programs " PEAKMARK_VERSION;
  return gather_vocabulary(documents, nothing);
}

void measure(const Vocabulary& vocabulary, const Options& options, const std::filesystem::path& folder) {
  const RecorderLibraries libraries = find_recorder_libraries();
  if (options.require_recorder && !libraries.opencl && !libraries.cuda) {
    std::string folders;
    for (const auto& folder : libraries.folders) folders += " " + folder.string();
    throw RecorderError("no recorder is installed; looked in" + folders +
                        " (PEAKMARK_LIBRARY_DIR names another folder)");
  }
  std::map<std::string, SweepCase> cases;
  const std::vector<std::string> names = read_case_names(options.cases);
  for (const std::string& name : names) cases.emplace(name, parse_case(name, vocabulary.description));
  ObservationWriter writer(options.observations_fd >= 0 ? options.observations_fd : STDOUT_FILENO);
  for (const std::string& name : names) {
    const SweepCase& sweep_case = cases.at(name);
    writer.start(name);
    ProgramTrial trial(*vocabulary.program(sweep_case.variant), libraries, folder, options.trial);
    writer.observation(trial.measure(sweep_case, name));
  }
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the programs of suites, each under the recorder; `peakmark run` starts it");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    return static_cast<int>(ExitCode::usage);
  }
  if (options.observations_fd >= 0) die_with_supervisor();
  const Vocabulary vocabulary = programs_of(options.suites);
  if (options.describe) {
    std::fputs(to_json_text(vocabulary.description).c_str(), stdout);
  } else if (options.cases.empty()) {
    throw UsageError("name what to measure: --cases FILE, or --describe");
  } else {
    adopt_orphans();
    const ScratchFolder folder;
    // The supervisor started this process in a new group.
    if (options.observations_fd >= 0) guard_group(folder.path());
    measure(vocabulary, options, folder.path());
  }
  return static_cast<int>(ExitCode::clean);
}

}  // namespace
}  // namespace peakmark

int main(int argc, char** argv) {
  try {
    return peakmark::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peakmark-programs: %s\n", peakmark::final_message(error).c_str());
    return static_cast<int>(peakmark::exit_code_of(error));
  }
}
