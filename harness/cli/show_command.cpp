#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "base/text_table.hpp"
#include "cli/command.hpp"
#include "cli/file_name.hpp"
#include "record/profile.hpp"
#include "run/run_file.hpp"
#include "show/page.hpp"
#include "show/process_tree.hpp"
#include "show/profile_reports.hpp"

namespace peakmark::cli {
namespace {

struct ShowOptions {
  std::vector<std::filesystem::path> files;
  bool json = false;
  bool events = false;
  std::optional<std::filesystem::path> trace;
  std::optional<std::filesystem::path> page;
  std::string by = "name";
  ReportOptions report;
};

/// A profile, or the name of one whose processes alone are there; everything else is read as a run.
bool is_profile(const std::filesystem::path& path) {
  char magic[sizeof(ProfileHeader::kMagic)] = {};
  std::ifstream file(path, std::ios::binary);
  if (!file) return true;
  file.read(magic, sizeof(magic));
  return std::memcmp(magic, ProfileHeader::kMagic, sizeof(magic)) == 0;
}

template <typename Write>
bool wrote(const std::filesystem::path& path, Write write) {
  std::ofstream file(path, std::ios::binary);
  write(file);
  file.close();
  return !file.fail();
}

/// Writes a file whole, or says why not: beside it, then renamed. What is shown is mapped from its profile,
/// so that must stay as it is.
template <typename Write>
void write_file(const std::filesystem::path& path, const RecordedTree& tree, Write write) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const RecordedProcess& process : tree.processes) {
    if (fs::equivalent(path, process.path, error)) {
      throw UsageError(
          fmt::format("{}: is the profile that is to be shown; name another file to write", path.string()));
    }
  }
  const auto fail = [&](int why) {
    throw UsageError(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(why)));
  };
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {  // a pipe, /dev/stdout
    if (!wrote(path, write)) fail(errno);
    return;
  }
  const fs::path target = fs::is_symlink(path) ? fs::weakly_canonical(path) : path;
  const fs::path beside = fmt::format("{}.new-{}", target.string(), getpid());
  int why = wrote(beside, write) ? 0 : errno;
  if (why == 0) {
    fs::rename(beside, target, error);
    why = error.value();
  }
  if (why != 0) {
    fs::remove(beside, error);
    fail(why);
  }
}

void show_profile(const std::filesystem::path& path, const ShowOptions& options) {
  const RecordedTree tree = read_tree(path);
  if (options.trace) write_file(*options.trace, tree, [&](std::ostream& out) { write_trace(tree, out); });
  if (options.page) {
    write_file(*options.page, tree, [&](std::ostream& out) { write_page(tree, options.report, out); });
  }
  if (options.events) {
    write_events(tree, std::cout);
  } else if (options.json) {
    std::cout << profile_json(tree, options.report);
  } else {
    std::cout << profile_table(tree, options.report);
  }
}

/// What was live at the peak of each case.
void show_run(const std::filesystem::path& path, const ShowOptions& options) {
  if (options.json || options.events || options.trace || options.page || options.report.by_site) {
    throw UsageError(fmt::format(
        "{}: --json, --events, --trace, --html and --by are for profiles; a run file is JSON itself",
        path.string()));
  }
  for (const Observation& observation : read_run(path).observations) {
    const auto& peak = observation.requested_peak_bytes;
    std::cout << fmt::format("{}  {}  peak {}\n", observation.case_name, name_of(observation.outcome),
                             peak ? format_size(*peak) : "unknown");
    TextTable table(
        {{"  at the peak"}, {"kind"}, {"bytes", TextTable::Align::right}, {"", TextTable::Align::right}});
    for (const PeakEntry& entry : observation.at_peak) {
      table.add({"  " + (entry.name.empty() ? "(unnamed)" : entry.name), entry.kind,
                 std::to_string(entry.bytes), format_size(entry.bytes)});
    }
    if (!observation.at_peak.empty()) std::cout << table.text();
    if (observation.leaked_bytes.value_or(0) != 0) {
      std::cout << fmt::format("  never released: {}\n", format_size(*observation.leaked_bytes));
    }
  }
}

void show(const ShowOptions& options) {
  if ((options.trace || options.page) && options.files.size() > 1) {
    throw UsageError("--trace and --html write one file: give one profile");
  }
  for (const std::filesystem::path& path : options.files) {
    if (is_profile(path)) {
      show_profile(path, options);
    } else {
      show_run(path, options);
    }
  }
}

}  // namespace

void add_show_command(CLI::App& app, Result& /*result*/) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command =
      app.add_subcommand("show", "Peak, what was live at it, and leaks: of a profile or of a run");
  command->add_option("FILE", options->files, "Profiles, or run files")->required();
  auto* json = command->add_flag("--json", options->json, "The whole summary as JSON");
  command->add_flag("--events", options->events, "Every event, a line each")->excludes(json);
  command
      ->add_option("--by", options->by, "What the table sums: names, or the sites that allocated (--stacks)")
      ->check(CLI::IsMember({"name", "site"}))
      ->capture_default_str();
  command
      ->add_option("--frames", options->report.frames,
                   "Tell sites apart by this many innermost frames, Python's where there is Python")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000}))
      ->capture_default_str();
  command->add_option("--trace", options->trace, "Write a timeline that ui.perfetto.dev opens")
      ->check(kFileName);
  command->add_option("--html", options->page, "Write one page for a browser, which needs nothing else")
      ->check(kFileName);
  command->footer(
      "Exit code: 0 clean, 2 wrong usage, or a file cannot be read or written, 5 a profile has no events "
      "that\n"
      "can be read.");
  command->callback([options] {
    options->report.by_site = options->by == "site";
    show(*options);
  });
}

}  // namespace peakmark::cli
