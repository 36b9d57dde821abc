#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "cli/command.hpp"
#include "cli/first_files.hpp"
#include "cli/standard_output.hpp"
#include "cli/typed_words.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

struct InitOptions {
  std::string kind = "opencl";
  bool list = false;
};

/// What is there already: the file, or what is no folder on the way to it.
std::string in_the_way_of(const fs::path& file) {
  fs::path way;
  for (const fs::path& part : file) {
    way /= part;
    std::error_code error;
    if (!fs::exists(fs::symlink_status(way, error))) return "";
    if (way == file || !fs::is_directory(way, error)) return way.string();
  }
  return "";
}

/// What an editor, or a git that looks for `peakmark.yml`, finds there is somebody's: nothing is written over
/// it.
void refuse_existing(const std::vector<FirstFile>& files) {
  std::vector<std::string> there;
  for (const FirstFile& file : files) {
    if (const std::string one = in_the_way_of(file.path); !one.empty()) there.push_back(one);
  }
  if (there.empty()) return;
  throw UsageError(
      fmt::format("init: already here: {}. Nothing was written; begin in another folder, or move {}",
                  fmt::join(there, ", "), there.size() == 1 ? "it" : "them"));
}

/// Files and folders that go again where not all of them can be written: half a project would stand in the
/// way of the next `init`.
class NewFiles {
 public:
  NewFiles() = default;
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;
  ~NewFiles() {
    std::error_code error;
    for (auto path = made_.rbegin(); path != made_.rend(); ++path) fs::remove(*path, error);
  }

  void write(const FirstFile& file) {
    const fs::path path(file.path);
    make_folder(path.parent_path());
    replace_text_file(path, file.text);
    made_.push_back(path);
    if (path.extension() == ".sh")
      fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add);
  }
  void keep() { made_.clear(); }

 private:
  void make_folder(const fs::path& folder) {
    if (folder.empty() || fs::is_directory(folder)) return;
    make_folder(folder.parent_path());
    if (fs::create_directory(folder)) made_.push_back(folder);
  }

  std::vector<fs::path> made_;
};

void write_all(const std::vector<FirstFile>& files) {
  constexpr const char* kNothing =
      "Nothing was written; go to a folder that you may write to and that has room, and begin there";
  NewFiles written;
  try {
    for (const FirstFile& file : files) written.write(file);
  } catch (const UsageError& error) {  // something else is there, that is not replaced
    throw UsageError(fmt::format("init: {}. {}", error.what(), kNothing));
  } catch (const IoError& error) {
    throw IoError(fmt::format("init: {}. {}", error.what(), kNothing), error.error());
  } catch (const fs::filesystem_error& error) {
    throw IoError(fmt::format("init: {}: cannot make it: {}. {}", error.path1().string(),
                              error.code().message(), kNothing),
                  error.code().value());
  }
  written.keep();
}

/// For find_package(peakmark), where it does not look by itself.
std::string prefix_option() {
  for (const fs::path& prefix : own_program_prefixes()) {
    std::error_code error;
    if (!fs::exists(prefix / "lib/cmake/peakmark", error)) continue;
    return cmake_finds(prefix) ? ""
                               : " -DCMAKE_PREFIX_PATH=" + shell_word(prefix.lexically_normal().string());
  }
  return "";
}

/// What was written, and what to type next.
std::string told_of(const FirstProject& project) {
  std::string text;
  for (const FirstFile& file : project.files) text += fmt::format("{:<30}  {}\n", file.path, file.what);
  return text + fmt::format(
                    "\nIt needs {4}\n"
                    "\nNow:\n"
                    "  cmake -S . -B build -DCMAKE_BUILD_TYPE=Release{0}\n"
                    "  cmake --build build\n"
                    "  {2} list {1}\n"
                    "  {2} run {1}{3} -o build/run.json\n"
                    "  {2} check build/run.json\n",
                    prefix_option(), project.suite, own_command(), project.run_options, project.needs);
}

void init(const InitOptions& options) {
  const FirstProject project = first_project(options.kind);
  if (options.list) {
    std::string names;
    for (const FirstFile& file : project.files) names += file.path + "\n";
    return print_text(names);
  }
  refuse_existing(project.files);
  write_all(project.files);
  print_text(told_of(project));
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
