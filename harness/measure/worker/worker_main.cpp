#include "measure/worker/worker_main.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/runfile/description_json.hpp"
#include "measure/runfile/worker_protocol.hpp"
#include "measure/worker/case_benchmarks.hpp"
#include "measure/worker/reference_case.hpp"
#include "measure/worker/worker_services.hpp"

namespace peakmark {

namespace {

Description describe(const Registry& registry, const WorkerProgram& program) {
  Description description = registry.describe();
  description.api = program.api;
  description.worker = program.name;
  description.build = program.build;
  description.commit = program.commit;
  return description;
}

/// Answers questions to estimators. What estimators print goes to standard error, so that standard output has
/// only answers.
void answer_estimates(const Registry& registry) {
  ObservationWriter answers(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  serve_estimates(registry, std::cin, [&](const std::string& answer) { answers.line(answer); });
}

/// Returns a case with all defaults for each variant that the device can run.
std::vector<NamedCase> small_set(const Registry& registry, const std::string& backend) {
  std::vector<NamedCase> cases;
  for (const RegisteredVariant& variant : registry.variants()) {
    const VariantDescription& description = variant.description;
    SweepCase sweep_case{description.name, backend, description.defaults()};
    cases.push_back({case_name(sweep_case, description), std::move(sweep_case)});
  }
  return cases;
}

std::vector<NamedCase> cases_to_measure(const Registry& registry, WorkerDevices& devices,
                                        const WorkerOptions& options) {
  if (options.cases.empty()) return small_set(registry, std::string(to_string(devices.automatic())));
  const Description description = registry.describe();
  std::vector<NamedCase> cases;
  for (const std::string& name : read_case_names(options.cases))
    cases.push_back({name, parse_case(name, description)});
  return cases;
}

void measure_reference(WorkerDevices& devices, const WorkerOptions& options, ObservationWriter& writer) {
  StoppingOptions stopping;
  stopping.budget_ns = options.seconds_per_case * 1e9;
  const DeviceInUse& use = devices.on(devices.automatic());
  const ReferenceTime time = time_reference_case(*use.device, stopping, use.clocks.get());
  if (options.supervised()) {
    writer.reference(time);
  } else {
    std::puts(to_json_line(time).c_str());
  }
}

int measure(const Registry& registry, const WorkerOptions& options) {
  WorkerDevices devices(options);
  ObservationWriter writer(options.observations_fd);
  if (options.reference) {
    measure_reference(devices, options, writer);
    if (options.cases.empty()) return static_cast<int>(ExitCode::clean);
  }
  const std::vector<NamedCase> cases = cases_to_measure(registry, devices, options);
  CaseBenchmarks benchmarks(registry, devices, options, writer);
  benchmarks.add(cases);
  return benchmarks.run();
}

/// Prints what this program is, to a user who runs it alone.
int introduce(const std::string& program, const Registry& registry) {
  const std::vector<std::string> names = registry.describe().variant_names();
  fmt::print(stderr,
             "{0} is a worker of peakmark, with {1}: {2}\n"
             "To measure it:  peakmark run {3} --worker {0}\n"
             "Options for peakmark and for debugging:  {0} --help\n",
             shell_word(program), quantity(names.size(), "variant"), first_names(names, 5), names.front());
  return static_cast<int>(ExitCode::usage);
}

int run(int argc, char** argv, const Registry& unlabelled, const WorkerProgram& program) {
  if (argc == 1) return introduce(argv[0], unlabelled);
  const ParsedWorkerOptions parsed = parse_worker_options(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  const std::string& label = parsed.options.label;
  const Registry registry = label.empty() ? unlabelled : unlabelled.labelled(label);
  if (parsed.options.supervised()) die_with_supervisor();
  if (parsed.options.describe) {
    std::fputs(to_json_text(describe(registry, program)).c_str(), stdout);
    return static_cast<int>(ExitCode::clean);
  }
  if (parsed.options.estimate) {
    answer_estimates(registry);
    return static_cast<int>(ExitCode::clean);
  }
  if (parsed.options.check) {
    serve_checks(registry, std::cin, std::cout);
    return static_cast<int>(ExitCode::clean);
  }
  return measure(registry, parsed.options);
}

}  // namespace

WorkerProgram this_program(const char* path) {
  return {fmt::format("{} {}", std::filesystem::path(path).filename().string(), PEAKMARK_VERSION),
          build_type(),
          build_commit(),
          {}};
}

int peakmark_worker_main(int argc, char** argv, const Registry& registry) {
  return peakmark_worker_main(argc, argv, registry, this_program(argv[0]));
}

int peakmark_worker_main(int argc, char** argv, const Registry& registry, const WorkerProgram& program) {
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  try {
    return run(argc, argv, registry, program);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), final_message(error).c_str());
    return static_cast<int>(exit_code_of(error));
  }
}

}  // namespace peakmark
