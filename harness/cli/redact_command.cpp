#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "history/history.hpp"
#include "profile/profile.hpp"
#include "runfile/redact.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

struct RedactOptions {
  std::vector<std::string> files;
  std::string output;
};

constexpr std::string_view kSqlite("SQLite format 3\0", 16);

void redact_history(const std::string& place, const PrivateTexts& texts) {
  history::History history(history::parse_address(place), history::History::Purpose::change);
  print_message(stderr, "{}: {} redacted\n", history.address().name(),
                quantity(history.redact(texts), "run"));
}

/// Writes into the file itself, because a new file would not be locked.
void write_in_place(const fs::path& path, const std::string& contents) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << contents;
  file.close();
  if (file.fail()) throw io_error(path, "cannot be written", errno != 0 ? errno : EIO);
}

/// Names the copy only after everything private is removed.
void redact_copy(const std::string& contents, const fs::path& target, const PrivateTexts& texts) {
  check_replaceable(target);
  const NewFile beside = create_file_beside(target);
  if (beside.error != 0) throw io_error(target, "cannot be written", beside.error);
  try {
    write_in_place(beside.path, contents);
    redact_history(beside.path.string(), texts);
    fs::rename(beside.path, target);
  } catch (...) {
    std::error_code none;
    fs::remove(beside.path, none);
    throw;
  }
  print_message(stderr, "{}: written\n", target.string());
}

std::string redacted(const std::string& contents, const PrivateTexts& texts) {
  if (contents.starts_with(std::string_view(ProfileHeader::kMagic, sizeof ProfileHeader::kMagic))) {
    return redacted_profile(contents, texts);
  }
  return redacted_json(contents, with_texts_of_json(texts, contents));
}

void redact_file(const std::string& file, const std::string& output, const PrivateTexts& texts) {
  const fs::path target = output.empty() ? file : output;
  const std::string contents = read_text_file(file);
  if (contents.starts_with(kSqlite)) {
    if (output.empty()) return redact_history(file, texts);
    return redact_copy(contents, target, texts);
  }
  try {
    const std::string text = redacted(contents, texts);
    if (text != contents || !output.empty()) replace_text_file(target, text);
    print_message(stderr, "{}: {}\n", target.string(), text == contents ? "nothing to redact" : "redacted");
  } catch (const UsageError& error) {
    throw UsageError(file + ": cannot be redacted: " + error.what() +
                     "; name a run file, a profile, a history, or JSON written by peakmark");
  }
}

void redact(const RedactOptions& options) {
  if (!options.output.empty() && options.files.size() > 1) {
    throw UsageError("-o takes one FILE; leave it out to replace each file");
  }
  remove_earlier_outputs({options.output}, {options.files.begin(), options.files.end()});
  const PrivateTexts texts = private_texts(current_environment());
  for (const std::string& file : options.files) {
    const bool is_url = file.starts_with("postgresql://") || file.starts_with("postgres://");
    if (is_url && !options.output.empty())
      throw UsageError("-o takes a file, not a database; leave it out to redact the database in place");
    is_url ? redact_history(file, texts) : redact_file(file, options.output, texts);
  }
}

}  // namespace

void add_redact_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<RedactOptions>();
  CLI::App* const command =
      app.add_subcommand("redact", "Remove host names, paths, secrets and command lines from files");
  command
      ->add_option("FILE", options->files,
                   "Run files, profiles, histories (file or URL), or JSON written by peakmark")
      ->required();
  add_file_option(*command, "-o,--output", options->output, "Write this file. Default: replace FILE");
  set_help(
      *command,
      {.notes = {"Keeps numbers and the names of cases and devices. Replaces each file whole or not at all. "
                 "docs/formats.md, \"What a published file holds\", lists what is removed."},
       .exit_codes = {{"0", "clean"}, {"2", "wrong usage, or a file cannot be read or written"}}});
  command->callback([options] { redact(*options); });
}

}  // namespace peakmark::cli
