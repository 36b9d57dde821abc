#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/private_text.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "cli/help.hpp"
#include "cli/history_commands.hpp"
#include "cli/options.hpp"
#include "measure/runfile/import_results.hpp"

namespace peakmark::cli {
namespace {

struct ImportCommandOptions {
  AddTarget target;
  ImportOptions results;
  std::vector<std::filesystem::path> files;
};

/// Reads all files before anything is added.
std::vector<FileRun> read_results(const ImportCommandOptions& options) {
  const PrivateTexts texts = private_texts(current_environment());
  std::vector<FileRun> runs;
  for (const std::filesystem::path& file : options.files) {
    ImportedResults results = import_results(file, options.results, texts);
    for (const std::string& note : results.notes)
      print_message(stderr, "note: {}: {}\n", file.string(), plain_text(note));
    runs.reserve(runs.size() + results.runs.size());
    for (Run& run : results.runs) runs.push_back({file, std::move(run)});
  }
  return runs;
}

/// Returns the options as words of a command line.
std::vector<std::string> option_words(const ImportOptions& options) {
  std::vector<std::string> words;
  const auto add = [&](const char* name, const std::optional<std::string>& value) {
    if (value && !value->empty()) words.insert(words.end(), {name, *value});
  };
  add("--commit", options.commit);
  add("--date", options.date);
  add("--device", options.device);
  add("--backend", options.backend);
  add("--suite", options.suite);
  add("--peak", options.peak_counter);
  return words;
}

void add_result_options(CLI::App& command, ImportOptions& options) {
  command.add_option("--commit", options.commit, "The commit that was measured. Default: unknown")
      ->type_name("COMMIT")
      ->check(kNotEmpty);
  add_parsed_option(
      command, "--date", [&options](const std::string& text) { options.date = parse_date_text(text); },
      "When it was measured (UTC without an offset). Default: the file's; nvbench writes none")
      ->type_name("DATE");
  command
      .add_option(
          "--device", options.device,
          "The device, as `peakmark devices` prints it. Default: the file's; Google Benchmark writes none")
      ->type_name(value_name::kDevice)
      ->check(kNotEmpty);
  command
      .add_option(
          "--backend", options.backend,
          "cuda, opencl, cpu or another name. Default: cuda for nvbench; Google Benchmark writes none")
      ->type_name("BACKEND")
      ->check(kNotEmpty);
  command
      .add_option("--suite", options.suite,
                  "The name under which these results continue. Default: the name of the program")
      ->type_name("NAME")
      ->check(kNotEmpty);
  command
      .add_option(
          "--peak", options.peak_counter,
          "The counter with the peak of device memory in bytes, such as max_bytes_used. Default: device_peak "
          "or peak_memory_usage")
      ->type_name("COUNTER")
      ->check(kNotEmpty);
}

}  // namespace

void add_import_command(CLI::App& app) {
  const auto options = std::make_shared<ImportCommandOptions>();
  CLI::App* const command = app.add_subcommand("import", "Add results of Google Benchmark or nvbench");
  command->add_option(value_name::kFile, options->files, "Their JSON files")->required();
  add_target_options(*command, options->target);
  add_result_options(*command, options->results);
  set_help(*command,
           {.notes = {"A file is one run, of nvbench one run for each device. The same file again changes "
                      "nothing.",
                      "Several files are added in the order of their dates; a date later than tomorrow is "
                      "rejected.",
                      "What a file does not have is unknown. Host names and paths are left out."},
            .exit_codes = {{"0", "clean"}, {"2", "a file is rejected, or the history cannot be written"}}});
  command->callback([options] {
    add_runs(options->target, read_results(*options), "history import", option_words(options->results));
  });
}

}  // namespace peakmark::cli
