#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Environments of processes, programs found in them, and the files of this program.
namespace peakmark {

// An environment is a list of NAME=value.

/// Returns the environment of this process.
std::vector<std::string> current_environment();

/// Sets the variables of this process that differ from `environment`; other variables stay. Not thread-safe:
/// no other thread may read variables meanwhile.
void set_own_environment(const std::vector<std::string>& environment);

/// Sets NAME=value and removes earlier entries of NAME.
void set_variable(std::vector<std::string>& environment, std::string_view name, const std::string& value);

/// Returns the value of a variable; nullopt if it is not set.
std::optional<std::string> find_variable(const std::vector<std::string>& environment, std::string_view name);

/// Returns a list of folders such as PYTHONPATH without empty entries, which mean the working folder.
std::string without_empty_folders(std::string_view folders);

// Programs

/// Returns whether `path` is a file that this process may execute.
bool is_executable(const std::filesystem::path& path);

/// Returns the file of a program: `name` itself if it has a slash, else the first match in PATH of
/// `environment`. Returns nullopt if there is no executable file.
std::optional<std::filesystem::path> find_program(const std::vector<std::string>& environment,
                                                  const std::string& name);

/// Returns why no program of this name can be started, and what to do, as the text after `NAME: `. Returns an
/// empty text if the file is executable and is a binary or a script with #!.
std::string program_failure(const std::vector<std::string>& environment, const std::string& name);

/// Returns why execve of this file failed with errno `error`, and what to do.
std::string exec_failure(const std::filesystem::path& program, int error);

/// Returns the name of a command for users: the file name of its program, or of the script in `python -u
/// train.py`. Returns `unknown` for an empty command.
std::string program_name(const std::vector<std::string>& command);

/// Returns pointers to the words with a null at the end, for execve. Valid as long as `words`.
std::vector<char*> exec_pointers(std::vector<std::string>& words);

// This program, and what is installed with it

/// Returns the file of this program. Throws IoError if /proc/self/exe cannot be read.
std::filesystem::path own_program();

/// Returns the folder of this program; empty if it is unknown.
std::filesystem::path own_program_folder();

/// Returns the folders that may contain `lib` and `share` of this program, nearest first. An installed
/// program is in `bin` next to them; in a build folder, programs are up to three folders deep.
std::vector<std::filesystem::path> own_program_prefixes();

/// Returns `share/peakmark/NAME` of this program if it contains the folder `package`, a Python package:
/// ("python", "peakmark") or ("reports", "peakmark_reports"). Returns nullopt if it is not installed.
std::optional<std::filesystem::path> python_folder(std::string_view name, std::string_view package);

/// Returns the folder of the Python module `peakmark` of this program; nullopt if it is not installed.
std::optional<std::filesystem::path> python_module_folder();

/// Puts python_module_folder() first in PYTHONPATH, so that marks and recorder come from the same release.
void add_python_module(std::vector<std::string>& environment);

/// The Python that runs programs or estimators of a suite.
struct PythonEnvironment {
  std::filesystem::path interpreter;
  std::optional<std::filesystem::path> folder;  ///< null: the system's Python
};

/// Finds a Python environment. `name`: a folder in $PEAKMARK_ENVIRONMENTS (by default build/environments);
/// with a `/` it is relative to `suite_folder`; empty: python3 from $PATH. It may also be an interpreter: a
/// path with a `/`, or a program such as python3.11 in $PATH. If it is missing, throws EnvironmentError with
/// the command that creates it: `made_by`, else the general one.
PythonEnvironment find_python(const std::string& name, const std::filesystem::path& suite_folder,
                              const std::string& made_by);

/// Adds a Python to the environment of a process: its programs come first in PATH, and the module `peakmark`
/// in PYTHONPATH, so that marks and recorder come from the same release.
void add_python(std::vector<std::string>& environment, const PythonEnvironment& python);

}  // namespace peakmark
