#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/own_program.hpp"
#include "cli/command.hpp"
#include "cli/first_files.hpp"
#include "cli/typed_words.hpp"
#include "run/text_file.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

struct InitOptions {
  std::string kind = "opencl";
  bool list = false;
};

/// What an editor, or a git that looks for `peakmark.yml`, finds there is somebody's: nothing is written over
/// it.
void refuse_existing(const std::vector<FirstFile>& files) {
  std::string there;
  for (const FirstFile& file : files) {
    if (fs::symlink_status(file.path).type() == fs::file_type::not_found) continue;
    there += (there.empty() ? "" : ", ") + file.path;
  }
  if (there.empty()) return;
  throw UsageError(fmt::format(
      "init: already here: {}. Nothing was written; begin in another folder, or move them", there));
}

void write(const FirstFile& file) {
  const fs::path path(file.path);
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  replace_text_file(path, file.text);
  if (path.extension() == ".sh")
    fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add);
}

/// For find_package(peakmark), where it does not look by itself.
std::string prefix_option() {
  for (const fs::path& prefix : prefixes_of_own_program()) {
    std::error_code error;
    if (!fs::exists(prefix / "lib/cmake/peakmark", error)) continue;
    return cmake_finds(prefix) ? ""
                               : " -DCMAKE_PREFIX_PATH=" + shell_word(prefix.lexically_normal().string());
  }
  return "";
}

void init(const InitOptions& options) {
  const std::vector<FirstFile> files = first_files(options.kind);
  if (options.list) {
    for (const FirstFile& file : files) fmt::print("{}\n", file.path);
    return;
  }
  refuse_existing(files);
  for (const FirstFile& file : files) {
    write(file);
    fmt::print("{:<30}  {}\n", file.path, file.what);
  }
  const std::string name = options.kind == "program" ? "mean" : options.kind == "cuda" ? "sum" : "scale";
  const std::string suite_and_worker =
      name + ".toml" + (options.kind == "program" ? "" : " --worker build/" + name);
  fmt::print(
      "\nNow:\n"
      "  cmake -S . -B build -DCMAKE_BUILD_TYPE=Release{0}\n"
      "  cmake --build build\n"
      "  {2} list {1}\n"
      "  {2} run {1} -o build/run.json\n"
      "  {2} check build/run.json\n",
      prefix_option(), suite_and_worker, own_command());
}

}  // namespace

void add_init_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<InitOptions>();
  CLI::App* const command =
      app.add_subcommand("init", "Write a first worker, suite and workflow into this folder");
  command
      ->add_option(
          "KIND", options->kind,
          "opencl or cuda: a worker, to be made yours; program: a suite for a program that is measured "
          "as it is")
      ->check(CLI::IsMember({"opencl", "cuda", "program"}))
      ->capture_default_str();
  command->add_flag("--list", options->list, "Only list the files that would be written");
  command->footer(
      "What it writes works as it stands, and what to type next it says. Nothing is written over.\n"
      "Exit code: 0 clean, 2 wrong usage, or a file is there already or cannot be written.");
  command->callback([options] { init(*options); });
}

}  // namespace peakmark::cli
