#include "measure/worker/worker_options.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "record/ledger/repetitions.hpp"

namespace peakmark {

namespace {

constexpr const char* kFooter =
    "Every case is a Google Benchmark benchmark: --benchmark_filter=REGEX, --benchmark_list_tests,\n"
    "--benchmark_repetitions=N, --benchmark_min_time=S, --benchmark_out=FILE, --benchmark_format=json and "
    "the\n"
    "others work as they do there. Without --benchmark_min_time a case is timed until its blocks agree.\n"
    "Memory figures need a recorder: start the program through `peakmark run`, or with\n"
    "OPENCL_LAYERS and PEAKMARK_RECORDER_LIBRARY naming libpeakmark-opencl.so and PEAKMARK_PROFILE a file.";

void check_benchmark_arguments(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument.rfind("--benchmark_", 0) == 0 || argument.rfind("--v=", 0) == 0) continue;
    throw UsageError(fmt::format("unknown option '{}'; --help lists the options", argument));
  }
}

}  // namespace

ParsedWorkerOptions parse_worker_options(int argc, char** argv) {
  ParsedWorkerOptions parsed;
  WorkerOptions& options = parsed.options;
  CLI::App app("Measures memory peaks and times of the variants it was built with");
  app.footer(kFooter);
  app.allow_extras();
  app.set_version_flag("--version", PEAKMARK_VERSION);
  std::string backend;
  std::string budget;
  std::string max_allocation;
  app.add_flag("--describe", options.describe, "Print the variants, their axes and estimators as JSON");
  app.add_flag(
      "--estimate", options.estimate,
      "Answer questions to estimators: a JSON line on standard output for each one on standard input");
  app.add_flag(
      "--check", options.check,
      "Check whether each case name on standard input is valid; answers are JSON lines. Needs no device");
  app.add_flag("--reference", options.reference,
               "Measure the reference case, a copy of fixed size; without --cases, nothing else");
  app.add_option("--label", options.label,
                 "Append this to names of variants, `OPERATION/WAY.LABEL`: for runs with several workers");
  app.add_option("--cases", options.cases, "Cases to measure, one name per line; - is standard input");
  app.add_option("--observations-fd", options.observations_fd,
                 "Write observations to this descriptor, as JSON lines")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--report-steps", options.report_steps,
               "Write each step of a case to it before the step begins, so that a crash can be attributed");
  app.add_option("--backend", backend, "opencl, cuda or dry, for cases without a backend");
  app.add_option("--device", options.device, "Index of the device, or part of its name");
  CLI::Option* memory_only = app.add_flag("--memory-only", options.memory_only, "No timings");
  app.add_flag("--no-memory", options.no_memory, "Do not record memory, only verify results and time them")
      ->excludes(memory_only);
  app.add_flag("--sequences", options.sequences, "Record every allocation of the memory pass in order");
  app.add_option("--repeat-call", options.repeat_call,
                 "Make this many further calls of each case, to find memory that each call leaves behind")
      ->check(CLI::Range(static_cast<int>(kMinRepetitions), 1'000'000));
  app.add_flag("--guard", options.guard, "Put guard bytes around every array, and find writes outside of it")
      ->needs(memory_only);
  app.add_flag("--no-verify", options.no_verify, "Do not verify results, which memory does not need")
      ->needs(memory_only);
  app.add_flag("--require-recorder", options.require_recorder, "Exit with 5 if memory cannot be recorded");
  app.add_option("--repetitions", options.repetitions, "Timings of each case")->check(CLI::Range(1, 1000));
  app.add_option("--blocks", options.blocks, "Time exactly this many blocks, instead of until they agree")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--times-only", options.times_only, "Only time cases, which an earlier pass has verified")
      ->excludes(memory_only);
  app.add_option("--seconds", options.seconds_per_case,
                 "Approximate seconds to spend on the timings of a case")
      ->check(CLI::Range(0.001, 3600.0));
  app.add_option("--cache", options.cache,
                 "Last-level cache when a timed call begins: cold (flushed), hot, both; auto: cold on a GPU, "
                 "hot on a CPU")
      ->check(CLI::IsMember({"auto", "cold", "hot", "both"}));
  app.add_option("--dry-refuse", options.dry_refused_allocation,
                 "Number of the allocation that the dry device refuses, from 1")
      ->envname("PEAKMARK_REFUSE");
  app.add_option("--dry-budget", budget, "Memory of the dry device, such as `16GiB`. Default: unlimited")
      ->envname("PEAKMARK_BUDGET");
  app.add_option("--dry-max-allocation", max_allocation,
                 "Largest allocation on the dry device. Default: unlimited")
      ->envname("PEAKMARK_MAX_ALLOCATION");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    parsed.exit_code = app.exit(success);
    return parsed;
  } catch (const CLI::ParseError& error) {
    app.exit(error);
    parsed.exit_code = static_cast<int>(ExitCode::usage);
    return parsed;
  }
  options.no_memory = options.no_memory || options.times_only;
  if (!backend.empty()) options.backend = parse_backend(backend);
  if (!budget.empty()) options.dry_budget_bytes = parse_size(budget);
  if (!max_allocation.empty()) options.dry_max_allocation = parse_size(max_allocation);
  if (options.supervised() && fcntl(options.observations_fd, F_GETFD) == -1) {
    throw UsageError(fmt::format("--observations-fd {}: no such open descriptor", options.observations_fd));
  }
  options.benchmark_arguments = app.remaining();
  check_benchmark_arguments(options.benchmark_arguments);
  return parsed;
}

}  // namespace peakmark
