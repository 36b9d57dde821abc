#include "measure/supervise/run_context.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "base/private_text.hpp"
#include "base/text.hpp"
#include "measure/runfile/run_journal.hpp"
#include "measure/supervise/case_listeners.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

constexpr double kReferenceTolerance = 0.05;

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const auto value = line.find(": ");
    if (value != std::string::npos) return line.substr(value + 2);
  }
  return {};
}

/// Returns a file relative to the root of its Git repository; outside a repository its name. Does not use
/// git: a node of a cluster may not have it, and it refuses clones of other users, but all shards must give
/// the same path.
std::string path_in_repository(const fs::path& file) {
  std::error_code ignored;
  const fs::path folder = fs::weakly_canonical(fs::absolute(file).parent_path(), ignored);
  for (fs::path root = folder; !root.empty(); root = root.parent_path()) {
    if (fs::exists(root / ".git", ignored))
      return (folder.lexically_relative(root) / file.filename()).lexically_normal().string();
    if (root == root.root_path()) break;
  }
  return file.filename().string();
}

std::optional<std::vector<std::string>> published_files(const Suite& suite) {
  if (suite.files.empty()) return std::nullopt;
  std::vector<std::string> files;
  files.reserve(suite.files.size());
  for (const fs::path& file : suite.files) files.push_back(path_in_repository(file));
  return files;
}

}  // namespace

std::string make_run_id() {
  std::random_device random;
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y%m%dT%H%M%SZ}-{:08x}{:08x}", fmt::gmtime(now), random(), random());
}

std::map<std::string, std::string> measurement_environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = text.substr(0, equals);
    const std::string value = text.substr(equals + 1);
    if (is_public_variable(name, value)) environment[name] = value;
  }
  utsname system{};
  if (::uname(&system) == 0) environment["kernel"] = std::string(system.sysname) + " " + system.release;
  if (const std::string cpu = cpu_name(); !cpu.empty()) environment["cpu"] = cpu;
  return environment;
}

RunContext make_run_context(const Selection& selection, const Description& description, bool memory_only,
                            bool host_name) {
  RunContext context;
  context.id = make_run_id();
  context.date = utc_date();
  context.host_name = host_name ? this_host() : host_mark();
  context.suite = selection.suite.name;
  context.fingerprint = selection.suite.fingerprint;
  context.suite_files = published_files(selection.suite);
  context.filter = selection.filter;
  context.asked_backend = selection.asked_backend;
  context.planned = selection.planned;
  context.shard = selection.shard;
  context.commit = description.commit;
  context.build = description.build;
  context.worker = description.worker;
  context.backend = to_string(selection.device.backend);
  context.device = selection.device.name;
  context.device_class = selection.device_class;
  context.driver = selection.device.driver;
  context.platform = selection.device.platform;
  context.device_is_cpu = selection.device.is_cpu;
  context.device_memory_bytes = selection.device.memory_bytes;
  context.largest_allocation_bytes = selection.device.max_allocation_bytes;
  context.memory_only = memory_only;
  context.environment = measurement_environment();
  if (!selection.device.version.empty()) context.environment["device version"] = selection.device.version;
  return context;
}

void add_machine_facts(RunContext& context, const MachineFacts& facts, const DeviceInfo& device) {
  const auto add = [&context](const char* name, const auto& value) {
    if (value) context.environment[name] = fmt::format("{}", *value);
  };
  context.environment["cpus"] = std::to_string(facts.cpus);
  add("cpu governor", facts.governor);
  add(environment_key::load_average, facts.load_average);
  if (facts.nvml) context.environment["nvidia driver"] = facts.nvml->driver;
  const GpuFacts* const gpu = find_gpu(facts, device);
  if (gpu == nullptr) return;
  context.clocks = {gpu->sm_clock_mhz, gpu->max_sm_clock_mhz, gpu->memory_clock_mhz,
                    gpu->max_memory_clock_mhz, gpu->memory_bus_bits};
  add(environment_key::memory_used, gpu->used_bytes);
  add(environment_key::other_processes, gpu->other_processes);
}

std::string reference_warning(const ReferenceTimes& times) {
  if (!times.first_ns || !times.last_ns || *times.first_ns <= 0) return {};
  const double change = *times.last_ns / *times.first_ns - 1;
  if (std::abs(change) <= kReferenceTolerance) return {};
  return fmt::format(
      "reference copy drifted by {2:+.1f} %, from {0:.4g} us to {1:.4g} us: smaller time changes in this run "
      "are not reliable",
      *times.first_ns / 1e3, *times.last_ns / 1e3, change * 100);
}

void say_device(const DeviceInfo& device) {
  say(fmt::format("device: {} {}: {}{}", to_string(device.backend), device.index, device.name,
                  device.driver.empty() ? "" : fmt::format(" (driver {})", device.driver)));
}

void say_checking(std::size_t cases) {
  constexpr std::size_t kMinCases = 10'000;  // fewer take less than a second
  if (cases >= kMinCases) say(fmt::format("  {} cases: the worker checks whether it can run them", cases));
}

void start_journal(RunJournal& journal, RunContext context, const std::filesystem::path& run_file) {
  const std::filesystem::path kept = journal.start(std::move(context));
  if (kept.empty()) return;
  say(fmt::format(
      "  {} is of an earlier run that did not finish; it is kept as {} when the first case is measured. To "
      "continue that run instead, stop now and add --resume",
      partial_of(run_file).string(), kept.filename().string()));
}

void note_findings(const MachineFacts& facts, const DeviceInfo& device, RunContext& context) {
  add_machine_facts(context, facts, device);
  for (const Finding& finding : diagnose(facts, &device)) {
    if (context.memory_only && finding.effect == Effect::timing) continue;
    const std::string warning = finding.fix.empty() ? finding.what : finding.what + ": " + finding.fix;
    say("  " + warning);
    context.warnings.push_back(warning);
  }
}

}  // namespace peakmark
