#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "cli/ci_files.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "embedded_files.hpp"
#include "measure/sweep/suite_keys.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

struct InitOptions {
  std::string kind = "opencl";
  CiProject ci{.suite = "", .shards = 4, .require = "", .wheel = ""};
  bool list = false;
};

/// A file that `init` writes.
struct FirstFile {
  std::string path;  ///< relative to the working folder
  std::string text;
  std::string what;  ///< its purpose in a few words
};

/// A first project.
struct FirstProject {
  std::vector<FirstFile> files;
  std::string needs;        ///< requirements to build and measure it, after "It needs "
  std::string suite;        ///< the argument of `list` and `run`: "scale.toml"
  std::string run_options;  ///< further options of `run`: " --require cuda"
};

std::string with_schema(std::string_view suite) {
  return "#:schema ./suite.schema.json\n" + std::string(suite);
}

constexpr const char* kSchema = "suite.schema.json";
constexpr const char* kWorkflow = ".github/workflows/peakmark.yml";
constexpr const char* kCi = "ci";  ///< the kind with files for an existing suite

constexpr std::string_view kNeedsOfWorker =
    "CMake, a C++ compiler, and OpenCL with a device\n"
    "(Debian: cmake g++ opencl-c-headers ocl-icd-opencl-dev pocl-opencl-icd).";
constexpr std::string_view kNeedsOfProgram =
    "CMake, a C compiler, OpenCL with a device, and numpy for python3, which runs estimators.py\n"
    "(Debian: cmake gcc opencl-c-headers ocl-icd-opencl-dev pocl-opencl-icd python3-numpy).";
constexpr std::string_view kNeedsOfCuda =
    "CMake, CUDA's toolkit, a peakmark with CUDA (the wheel has it), and a GPU to be measured on.";

constexpr std::string_view kAboutHostedRunner =
    R"(# Builds, measures and judges on GitHub's own machines, where PoCL is the device. On a runner with a GPU change
# `runs-on`, take `container` away, and let `peakmark run` have --require gpu: then a broken GPU is an error, and never a
# green run on a CPU.
)";
constexpr std::string_view kAboutGpuRunner =
    R"(# Builds, measures and judges on a runner of yours that has a GPU, CUDA's toolkit, git, CMake, Ninja, a C++ compiler and
# python3 with venv; --require makes a broken GPU an error.
)";

/// The properties of a kind of project that its workflow depends on.
struct ProjectWords {
  std::string_view suite;
  std::string_view packages = "";  ///< in addition to those that every project needs
  std::string_view needs;
  bool needs_cuda = false;
};

/// Without a GPU, a CUDA project measures nothing: that must be an error.
std::string run_options(const ProjectWords& words) {
  return words.needs_cuda ? " --require cuda" : "";
}

std::string workflow(const ProjectWords& words) {
  Marks marks = runner_marks(words.needs_cuda ? Runner::own : Runner::hosted);
  marks["ABOUT"] = words.needs_cuda ? kAboutGpuRunner : kAboutHostedRunner;
  marks["PACKAGES"] = words.packages;
  marks["SUITE"] = std::string(words.suite) + run_options(words);
  return fill_workflow(embedded::workflow_yml(), std::move(marks), 10);
}

/// Appends the files that every kind of project has.
FirstProject project(const ProjectWords& words, std::vector<FirstFile> files) {
  files.push_back({kSchema, std::string(suite_schema()), "schema of the suite, for editors"});
  files.push_back(
      {kWorkflow, workflow(words),
       words.needs_cuda ? "measures and judges on a runner with a GPU" : "measures and judges on GitHub"});
  return {std::move(files), std::string(words.needs), std::string(words.suite), run_options(words)};
}

/// Returns the project of a kind: "opencl" or "cuda" with a worker, or "program" for an unchanged program.
FirstProject first_project(std::string_view kind) {
  if (kind == "program") {
    return project(
        {.suite = "mean.toml", .packages = " python3-numpy", .needs = kNeedsOfProgram},
        {{"mean.c", std::string(embedded::mean_c()), "an example of your program; it does not use peakmark"},
         {"CMakeLists.txt", std::string(embedded::unchanged_CMakeLists_txt()), "builds it"},
         {"mean.toml", with_schema(embedded::mean_toml()), "the suite: command and shapes"},
         {"estimators.py", std::string(embedded::estimators_py()), "an estimator in Python"},
         {"estimator.sh", std::string(embedded::estimator_sh()), "an estimator as a shell script"}});
  }
  if (kind == "cuda") {
    return project({.suite = "sum.toml", .needs = kNeedsOfCuda, .needs_cuda = true},
                   {{"sum.cu", std::string(embedded::sum_cu()),
                     "the worker: a kernel and CUB, their axes and estimators"},
                    {"CMakeLists.txt", std::string(embedded::sum_CMakeLists_txt()), "builds it"},
                    {"sum.toml", with_schema(embedded::sum_toml()), "the suite: shapes"}});
  }
  return project(
      {.suite = "scale.toml", .needs = kNeedsOfWorker},
      {{"scale.cpp", std::string(embedded::scale_cpp()), "the worker: a kernel, its axes and estimator"},
       {"CMakeLists.txt", std::string(embedded::CMakeLists_txt()), "builds it"},
       {"scale.toml", with_schema(embedded::scale_toml()), "the suite: shapes"}});
}

std::vector<fs::path> folders_of_path() {
  std::vector<fs::path> folders;
  const char* const path = std::getenv("PATH");
  std::istringstream entries(path == nullptr ? "" : path);
  for (std::string entry; std::getline(entries, entry, ':');) folders.emplace_back(entry);
  return folders;
}

bool are_one_file(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return fs::equivalent(one, other, error) && !error;
}

/// Returns the command that a user types to call this program again, quoted for a shell: `peakmark` if that
/// is the one in PATH.
std::string own_command() {
  // Python's command `peakmark` executes this program, with its own name as argv[0].
  const std::string called_by = program_invocation_name;
  if (called_by.find('/') == std::string::npos) return "peakmark";
  for (const fs::path& folder : folders_of_path()) {
    const fs::path file = folder / "peakmark";
    if (access(file.c_str(), X_OK) != 0) continue;
    if (are_one_file(file, "/proc/self/exe") || are_one_file(file, called_by)) return "peakmark";
    break;  // a shell uses the first one
  }
  return shell_word(called_by);
}

/// Returns whether find_package() searches this prefix by default, because its `bin` is in PATH.
bool cmake_finds(const fs::path& prefix) {
  return std::ranges::any_of(folders_of_path(), [&](fs::path folder) {
    if (!folder.has_filename()) folder = folder.parent_path();  // for "/usr/bin/"
    const bool is_bin = folder.filename() == "bin" || folder.filename() == "sbin";
    return are_one_file(is_bin ? folder.parent_path() : folder, prefix);
  });
}

/// Returns what exists at `file`, or the part of its path that is not a folder; empty if the file can be
/// created.
std::string existing_path(const fs::path& file) {
  fs::path way;
  for (const fs::path& part : file) {
    way /= part;
    std::error_code error;
    if (!fs::exists(fs::symlink_status(way, error))) return "";
    if (way == file || !fs::is_directory(way, error)) return way.string();
  }
  return "";
}

/// Throws UsageError if a file exists, because `init` overwrites nothing.
void refuse_existing(const std::vector<FirstFile>& files) {
  std::vector<std::string> there;
  for (const FirstFile& file : files) {
    if (const std::string one = existing_path(file.path); !one.empty()) there.push_back(one);
  }
  if (there.empty()) return;
  throw UsageError(
      fmt::format("init: already exists: {}; nothing was written. Use another folder, or move {}",
                  fmt::join(there, ", "), there.size() == 1 ? "it" : "them"));
}

/// Writes files and folders. Removes them again unless keep() is called, because half a project would block
/// the next `init`.
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
      "Nothing was written; use a folder that you may write to and that has free space";
  NewFiles written;
  try {
    for (const FirstFile& file : files) written.write(file);
  } catch (const UsageError& error) {  // something other than a file is there
    throw UsageError(fmt::format("init: {}. {}", error.what(), kNothing));
  } catch (const IoError& error) {
    throw IoError(fmt::format("init: {}. {}", error.what(), kNothing), error.error());
  } catch (const fs::filesystem_error& error) {
    throw IoError(fmt::format("init: {}: cannot be created: {}. {}", error.path1().string(),
                              error.code().message(), kNothing),
                  error.code().value());
  }
  written.keep();
}

/// Returns the CMake option with which find_package(peakmark) finds this installation; empty if not needed.
std::string prefix_option() {
  for (const fs::path& prefix : own_program_prefixes()) {
    std::error_code error;
    if (!fs::exists(prefix / "lib/cmake/peakmark", error)) continue;
    return cmake_finds(prefix) ? ""
                               : " -DCMAKE_PREFIX_PATH=" + shell_word(prefix.lexically_normal().string());
  }
  return "";
}

std::string file_list(const std::vector<FirstFile>& files) {
  std::string text;
  for (const FirstFile& file : files) text += fmt::format("{:<30}  {}\n", file.path, file.what);
  return text;
}

/// Returns the list of files, and the next commands.
std::string summary(const FirstProject& project) {
  return file_list(project.files) + fmt::format(
                                        "\nIt needs {4}\n"
                                        "\nNow:\n"
                                        "  cmake -S . -B build -DCMAKE_BUILD_TYPE=Release{0}\n"
                                        "  cmake --build build\n"
                                        "  {2} list {1}\n"
                                        "  {2} run {1}{3} -o build/run.json\n"
                                        "  {2} check build/run.json\n",
                                        prefix_option(), project.suite, own_command(), project.run_options,
                                        project.needs);
}

/// Returns the top of the Git repository of this folder; empty if there is none.
fs::path repository_top() {
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !folder.empty(); folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", error)) return folder;  // in a worktree it is a file
    if (folder == folder.parent_path()) break;
  }
  return {};
}

/// Returns the top of the repository if this folder is below it; empty otherwise.
fs::path top_above() {
  const fs::path top = repository_top();
  return top.empty() || are_one_file(top, fs::current_path()) ? fs::path() : top;
}

/// Returns whether a text can be in a file of a CI system: it is one line, and has nothing that GitHub
/// replaces.
bool is_plain_in_workflow(const std::string& text) {
  return one_line(text) == text && text.find("${{") == std::string::npos;
}

/// Returns what is missing to make every job install the same wheel; null for a pinned one or one in the
/// repository.
std::optional<std::string_view> missing_pin(const std::string& wheel) {
  const auto has = [&](std::string_view part) { return wheel.find(part) != std::string::npos; };
  if (has("git+")) {
    const std::size_t at = wheel.rfind('@');
    const std::size_t end = wheel.find_first_not_of("0123456789abcdef", at + 1);
    const std::size_t digits = std::min(end, wheel.size()) - (at + 1);
    return at != std::string::npos && digits == 40 ? std::nullopt : std::optional("@COMMIT with 40 digits");
  }
  if (has("index-url")) return has("==") ? std::nullopt : std::optional("==VERSION");
  if (has("://")) return has("#sha256=") ? std::nullopt : std::optional("#sha256=HASH");
  return std::nullopt;
}

/// Returns the files that measure an existing suite in CI.
std::vector<FirstFile> ci_files(const CiProject& ci) {
  if (ci.suite.empty()) throw UsageError("init ci: no suite; name it with --suite");
  const fs::path suite(ci.suite);
  if (suite.is_absolute() || !fs::exists(suite)) {
    throw UsageError(fmt::format(
        "init: --suite {}: {}; name a file relative to this folder, the top of the repository", ci.suite,
        suite.is_absolute() ? "an absolute path, which CI does not have" : "no such file"));
  }
  if (const fs::path top = top_above(); !top.empty()) {
    const fs::path below = fs::current_path().lexically_relative(top);
    throw UsageError(
        fmt::format("init ci: this folder is below the top of its repository: {}; GitHub and GitLab read "
                    "their files only there. Run `peakmark init ci` there, with --suite {}",
                    top.string(), shell_word((below / suite).lexically_normal().string())));
  }
  if (!is_plain_in_workflow(ci.suite)) {
    throw UsageError(
        fmt::format("init: --suite {}: has a line break, a control character or ${{{{, which a workflow "
                    "cannot have; rename the file",
                    one_line(ci.suite)));
  }
  if (!is_plain_in_workflow(ci.wheel) || ci.wheel.find_first_of("'\"\\$") != std::string::npos) {
    throw UsageError(fmt::format(
        "init: --wheel {}: has a quote, backslash, dollar or line break; write what follows `pip install`",
        one_line(ci.wheel)));
  }
  return {{".github/workflows/nightly.yml", github_nightly(ci),
           fmt::format("GitHub: {} jobs measure, one judges", ci.shards)},
          {".gitlab-ci.yml", gitlab_pipeline(ci), "the same for GitLab"}};
}

void init(const InitOptions& options) {
  const bool is_ci = options.kind == kCi;
  const FirstProject project =
      is_ci ? FirstProject{ci_files(options.ci), "", "", ""} : first_project(options.kind);
  if (options.list) {
    std::string names;
    for (const FirstFile& file : project.files) names += file.path + "\n";
    return print_text(names);
  }
  refuse_existing(project.files);
  write_all(project.files);
  if (const auto pin = missing_pin(options.ci.wheel)) {
    print_message(
        stderr,
        "note: --wheel {}: not pinned: whoever can replace that file decides what the jobs run; add {}\n",
        options.ci.wheel, *pin);
  }
  if (const fs::path top = top_above(); !top.empty()) {
    print_message(
        stderr,
        "note: GitHub ignores {} here: this folder is below the top of its repository, {}; run `peakmark "
        "init ci` there, or make this folder a repository\n",
        kWorkflow, top.string());
  }
  print_text(
      is_ci ? file_list(project.files) +
                  "\nRemove the file that you do not need, and commit the other. Its first lines say what "
                  "it needs.\n"
            : summary(project));
}

}  // namespace

void add_init_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<InitOptions>();
  CLI::App* const command =
      app.add_subcommand("init", "Write a first worker, suite and workflow into this folder");
  command
      ->add_option(
          "KIND", options->kind,
          "opencl and cuda write a worker, program writes a suite for an unchanged program, ci writes "
          "workflows of GitHub and GitLab for a suite that you have")
      ->check(CLI::IsMember({"opencl", "cuda", "program", kCi}))
      ->capture_default_str();
  CLI::Option* const list = command->add_flag("--list", options->list, "List the files, and write nothing");
  const auto of_ci = [options](CLI::Option* option) {
    return only_when(option->group("Only with ci"), "with ci", [options] { return options->kind == kCi; });
  };
  of_ci(command->add_option("--suite", options->ci.suite, "The suite that is measured"))
      ->type_name(value_name::kSuite);
  of_ci(command->add_option("--shards", options->ci.shards, "The number of jobs that measure"))
      ->type_name("INT")
      ->check(CLI::Range(1, 200))  // the maximum of GitLab; that of GitHub is 256
      ->capture_default_str()
      ->excludes(list);
  of_ci(command->add_option("--require", options->ci.require,
                            "Measure on runners of your own that have such a device"))
      ->check(CLI::IsMember({"cuda", "gpu"}))
      ->excludes(list);
  of_ci(command->add_option(
            "--wheel", options->ci.wheel,
            "What follows `pip install` in the jobs: a file, a URL, or --index-url URL peakmark; the "
            "variable PEAKMARK_WHEEL of the project replaces it"))
      ->type_name("WHEEL")
      ->excludes(list);
  set_help(
      *command,
      {.notes = {"The project works as written; the output ends with the next commands. Overwrites nothing."},
       .exit_codes = {{"0", "clean"}, {"2", "wrong usage, or a file exists or cannot be written"}}});
  command->callback([options] { init(*options); });
}

}  // namespace peakmark::cli
