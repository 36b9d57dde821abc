// A worker without a device, which does what the name of its case says. It simulates programs that crash,
// hang and write malformed output. A case is `fake/case/dry/does:WHAT/n:NUMBER`. The environment variable
// FAKE_WORKER says what it does before its first case.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "measure/runfile/description_json.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/runfile/worker_protocol.hpp"
#include "record/subprocess/stuck_process_testing.hpp"

namespace peakmark {
namespace {

int observations = -1;
bool one_block = false;
bool times_only = false;
bool sequences = false;
bool verifies = true;

const std::vector<std::string> kDeeds{"ok",
                                      "null_write",
                                      "abort",
                                      "exit_0",
                                      "exit_3",
                                      "terminated",
                                      "hang",
                                      "hang_with_2_gib",
                                      "ignore_term",
                                      "grandchild",
                                      "garbage",
                                      "half_line",
                                      "flood",
                                      "leave",
                                      "other_case",
                                      "restart",
                                      "say",
                                      "wrong",
                                      "unsupported",
                                      "report_pid",
                                      "overflow",
                                      "out_of_memory",
                                      "reference",
                                      "reference_within",
                                      "timed",
                                      "timed_once",
                                      "abort_in_step",
                                      "late_step",
                                      "stop",
                                      "vfork",
                                      "flood_steps",
                                      "prints",
                                      "prints_timed",
                                      "prints_and_aborts",
                                      "estimators",
                                      "estimator_aborts",
                                      "estimator_hangs",
                                      "estimator_closes",
                                      "sleep_uninterruptibly"};

Description description() {
  Description description;
  description.worker = "fake worker 1";
  description.build = "Release";
  VariantDescription variant;
  variant.name = "fake/case";
  variant.help = "behaves as the axis `does` requests";
  variant.backends = {"dry", "opencl"};
  variant.axes = {{"does", std::string("ok"), kDeeds, 0, "what"}, {"n", Size{1}, {}, 0, "a number"}};
  variant.slice_axis = "n";
  variant.estimators = {{"fake/case", "direct"}};
  description.variants = {variant};
  variant.name = "fake/slow";
  variant.help = "does the same, and takes a fifth more time";
  description.variants.push_back(variant);
  return description;
}

void write_text(int descriptor, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t part = ::write(descriptor, text.data() + written, text.size() - written);
    if (part < 0) std::exit(99);
    written += static_cast<std::size_t>(part);
  }
}

[[noreturn]] void wait_for_ever() {
  for (;;) ::pause();
}

std::string value_of(const std::string& name, const std::string& axis, const std::string& otherwise) {
  const auto start = name.find("/" + axis + ":");
  if (start == std::string::npos) return otherwise;
  const auto value = start + axis.size() + 2;
  return name.substr(value, name.find('/', value) - value);
}

Size n_of(const std::string& name) {
  return std::stoll(value_of(name, "n", "1"));
}

double number_of(const char* variable, double otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atof(text);
}

bool is_multiple(Size n, const char* variable) {
  const auto factor = static_cast<Size>(number_of(variable, 0));
  return factor > 0 && n % factor == 0;
}

/// Returns 1 ms for each n, a fifth more for fake/slow, and 0.5 % of noise that is constant within a process.
GpuTime time_of(const Observation& observation, Size n) {
  double ns = 1e6 * static_cast<double>(n) * number_of("FAKE_WORKER_SLOWDOWN", 1);
  if (observation.variant == "fake/slow") ns *= 1.2;
  ns *= 1 + 0.0005 * static_cast<double>(::getpid() % 11);
  return summarise_blocks(std::vector<std::vector<double>>(one_block ? 1 : 10, {ns, ns, ns * 1.5}));
}

Observation observation_of(const std::string& name) {
  Observation observation;
  observation.case_name = name;
  observation.variant = name.substr(0, name.find('/', name.find('/') + 1));
  observation.backend = "dry";
  const Size n = n_of(name);
  observation.axes = Parameters({{"does", value_of(name, "does", "ok")}, {"n", n}});
  const std::string does = value_of(name, "does", "ok");
  if (does == "timed" || (does == "timed_once" && !times_only)) {
    observation.gpu_time = time_of(observation, n);
    observation.time_source = time_source::device;
  }
  if (does == "timed_once" && times_only) observation.outcome = Outcome::out_of_memory;
  if (times_only) return observation;
  observation.requested_peak_bytes = 1000 * n;
  observation.leaked_bytes = 0;
  observation.at_peak = {{"input", "buffer", 1000 * n}};
  if (sequences) observation.allocation_sequence = {{"input", "inputs", "", 1000 * n, 0, std::nullopt}};
  if (is_multiple(n, "FAKE_WORKER_UNSUPPORTED_MULTIPLES")) observation.outcome = Outcome::unsupported;
  if (const Size extra = static_cast<Size>(number_of("FAKE_WORKER_EXTRA_BYTES", 0)); extra > 0) {
    *observation.requested_peak_bytes += extra;
    observation.at_peak.push_back({"cache", "buffer", extra});
  }
  return observation;
}

void finish(const Observation& observation) {
  write_text(observations, to_json_line(observation) + "\n");
}

/// Answers for the first of two estimators; for the second, does what the deed says.
void ask_estimators(const std::string& deed) {
  ObservationWriter writer(observations);
  EstimateObservation answer{"own", "direct", 1, 1, 1000, "f32", std::nullopt};
  writer.step("the estimator 'own' of fake/case");
  writer.answer(answer);
  writer.step("the estimator 'other' of fake/case");
  if (deed == "estimator_aborts") {
    std::fputs("no such card\n", stderr);
    std::abort();
  }
  if (deed == "estimator_hangs") wait_for_ever();
  if (deed == "estimator_closes") {
    ::close(observations);
    std::exit(2);
  }
  answer.estimator = "other";
  writer.answer(answer);
}

void do_deed(const std::string& deed, const std::string& name) {
  Observation observation = observation_of(name);
  if (deed == "null_write") *static_cast<volatile int*>(nullptr) = 1;
  if (deed == "abort") {
    std::fputs("giving up\n", stderr);
    std::abort();
  }
  if (deed == "terminated") ::raise(SIGTERM);
  if (deed == "exit_0") std::exit(0);
  if (deed == "exit_3") std::exit(3);
  if (deed == "hang" || deed == "abort_in_step") {
    write_text(observations, "{\"step\": \"`set_up`\"}\n{\"step\": \"the estimator 'own' of fake/case\"}\n");
    if (deed == "hang") wait_for_ever();
    std::abort();
  }
  if (deed == "hang_with_2_gib") wait_for_ever();
  if (deed == "ignore_term") {
    std::signal(SIGTERM, SIG_IGN);
    wait_for_ever();
  }
  if (deed == "grandchild") {
    if (::fork() == 0) wait_for_ever();  // the child keeps the descriptors open
    std::exit(0);
  }
  if (deed == "garbage") {
    write_text(observations, "no JSON at all\n");
    wait_for_ever();
  }
  if (deed == "half_line") {
    const std::string line = to_json_line(observation);
    write_text(observations, line.substr(0, line.size() / 2));
    std::exit(0);
  }
  if (deed == "flood") {
    const std::string line(4000, 'x');
    for (;;) write_text(STDERR_FILENO, line + "\n");
  }
  if (deed == "flood_steps") {
    for (;;) write_text(observations, "{\"step\": \"`verify`\"}\n");
  }
  if (deed == "stop") ::raise(SIGSTOP);
  if (deed == "vfork" && ::vfork() == 0) {
    for (;;) ::pause();
  }
  if (deed == "sleep_uninterruptibly") {
    const std::string ready = "{\"step\": \"sleeps\"}\n";
    const std::string refused = sleep_uninterruptibly(std::getenv("FAKE_WORKER_FIFO"), observations, ready);
    std::fprintf(stderr, "%s\n", refused.c_str());
    wait_for_ever();
  }
  if (deed == "other_case") observation.case_name = "another";
  if (deed == "restart") write_text(observations, "{\"start\": \"" + name + "\", \"bytes\": null}\n");
  if (deed == "say") std::fputs("something to read\n", stdout);
  if (deed == "wrong" && verifies) observation.outcome = Outcome::wrong_answer;
  if (deed == "unsupported") observation.outcome = Outcome::unsupported;
  if (deed == "out_of_memory") observation.outcome = Outcome::out_of_memory;
  const char* const fifo_path = std::getenv("FAKE_WORKER_FIFO");
  if (deed == "report_pid" && fifo_path != nullptr) {
    // The test waits for this at the other end of a FIFO, and then kills a process.
    const int fifo = ::open(fifo_path, O_WRONLY);
    write_text(fifo, std::to_string(::getpid()) + "\n");
    ::close(fifo);
    wait_for_ever();
  }
  std::fflush(stdout);
  if (deed.starts_with("prints")) {
    std::fputs("set up\n", stdout);
    if (deed == "prints_timed") {
      write_timed_mark({name, true});
      std::fputs("half a line", stdout);
      write_timed_mark({name, false});
    } else {
      write_timed_mark({name, true});
      write_timed_mark({name, false});
    }
    for (int line = 1; line <= 5000; ++line) std::fprintf(stdout, "line %d\n", line);
    std::fflush(stdout);
    if (deed == "prints_and_aborts") std::abort();
    observation.gpu_time = time_of(observation, n_of(name));
    observation.time_source = time_source::device;
  }
  if (deed.starts_with("estimator")) {
    observation.estimate = {"own",        "direct",     n_of(name),  std::nullopt,
                            std::nullopt, std::nullopt, "not_asked", false};
    observation.other_estimates = {*observation.estimate};
    observation.other_estimates.front().estimator = "other";
  }
  const std::string reference = "{\"reference_ns\": 1500, \"arithmetic_ns\": null, \"copy_bytes\": null}\n";
  if (deed == "reference_within") write_text(observations, reference);
  finish(observation);
  if (deed == "reference") write_text(observations, reference);
  if (deed.starts_with("estimator")) ask_estimators(deed);
  if (deed == "late_step") write_text(observations, "{\"step\": \"`verify`\"}\n");
  if (deed == "leave") std::exit(0);
}

/// With FAKE_WORKER_CHECKS, finds errors in cases.
int check_cases() {
  int code = 0;
  std::string name;
  while (std::getline(std::cin, name)) {
    if (std::getenv("FAKE_WORKER_CHECKS") == nullptr) {
      std::cout << "{\"case\": \"" << name << "\", \"error\": null}\n" << std::flush;
      continue;
    }
    const std::string deed = value_of(name, "does", "ok");
    if (deed == "garbage") std::cout << "no JSON at all\n";
    if (deed == "half_line") return 0;
    if (deed == "exit_3") code = 3;
    if (deed == "abort") {
      std::fputs("\x1b[1;35mgiving\x1b[0m up\n", stderr);
      std::abort();
    }
    const char* error = "null";
    if (is_multiple(std::stoll(value_of(name, "n", "1")), "FAKE_WORKER_MISTAKEN_MULTIPLES"))
      error = "\"n must be odd\"";
    if (deed == "overflow") error = "\"n * 4 does not fit 64 bits\"";
    if (deed == "mistaken") error = "\"variant fake/case is wrong\", \"of_worker\": true";
    std::cout << "{\"case\": \"" << name << "\", \"error\": " << error << "}\n" << std::flush;
  }
  return code;
}

void before_first_case(const std::string& what) {
  if (what == "exit_2") {
    std::fputs("fake_worker: a mistake of yours\n", stderr);
    std::exit(2);
  }
  if (what == "exit_5") {
    std::fputs("no recorder\n", stderr);
    std::exit(5);
  }
  if (what == "exit_4") std::exit(4);
  if (what == "abort") std::abort();
  if (what == "hang") wait_for_ever();
  if (what == "traced_once") {
    const std::string fifo = std::getenv("FAKE_WORKER_FIFO");
    if (::open((fifo + ".once").c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600) < 0) return;
    if (!trace_this_process(fifo)) {
      std::fputs("no process can be traced here\n", stderr);
      std::exit(2);
    }
  }
}

int run(const std::map<std::string, std::string>& options) {
  const char* const variable = std::getenv("FAKE_WORKER");
  const std::string what = variable == nullptr ? "" : variable;
  if (options.contains("--describe")) {
    Description answer = description();
    if (what == "other_protocol") answer.protocol = 99;
    std::cout << to_json_text(answer);
    return 0;
  }
  if (options.contains("--check")) return check_cases();
  before_first_case(what);
  if (options.contains("--estimate")) {
    std::string line;
    while (std::getline(std::cin, line)) {
      // The question is returned as the error, so that a test sees it.
      if (line.find("\"n\":13") != std::string::npos) {
        std::cout << R"({"slices": null, "bytes": null, "dtype": null, "terms": null, "error": "unlucky"})"
                  << "\n";
      } else {
        std::cout << R"({"slices": 9, "bytes": 14400, "dtype": "f32", "terms": [)"
                  << R"({"name": "input", "per_slice_bytes": 800, "fixed_bytes": 7200}], "error": null})"
                  << "\n";
      }
    }
    return 0;
  }
  observations = std::stoi(options.at("--observations-fd"));
  one_block = options.contains("--blocks");
  times_only = options.contains("--times-only");
  sequences = options.contains("--sequences");
  verifies = !options.contains("--no-verify");
  if (options.contains("--reference")) {
    const char* const ns = std::getenv("FAKE_WORKER_REFERENCE_NS");
    write_text(observations, "{\"reference_ns\": " + std::string(ns == nullptr ? "1000" : ns) +
                                 ", \"arithmetic_ns\": 20, \"copy_bytes\": null}\n");
    return 0;
  }
  std::string name;
  while (std::getline(std::cin, name)) {
    const std::string deed = value_of(name, "does", "ok");
    const std::string bytes = deed == "hang_with_2_gib" ? ", \"bytes\": 2147483648" : ", \"bytes\": null";
    write_text(observations, "{\"start\": \"" + name + "\"" + bytes + "}\n");
    do_deed(deed, name);
  }
  return 0;
}

}  // namespace
}  // namespace peakmark

int main(int argc, char** argv) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::map<std::string, std::string> options;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const bool has_value = i + 1 < argc && std::string(argv[i + 1]).rfind("--", 0) != 0;
    options[option] = has_value ? argv[++i] : "";
  }
  return peakmark::run(options);
}
