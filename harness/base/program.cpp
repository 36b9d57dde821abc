#include "base/program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/error.hpp"
#include "base/files.hpp"

namespace peakmark {

namespace fs = std::filesystem;

namespace {

bool sets(const std::string& entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

}  // namespace

std::vector<std::string> current_environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    environment.emplace_back(*entry);
  return environment;
}

void set_own_environment(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string name = entry.substr(0, equals);
    // If a name has two entries, the first counts, as in getenv().
    const std::string value = find_variable(environment, name).value();
    const char* const present = std::getenv(name.c_str());
    if (present == nullptr || value != present) setenv(name.c_str(), value.c_str(), 1);
  }
}

void set_variable(std::vector<std::string>& environment, std::string_view name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& entry) { return sets(entry, name); });
  environment.push_back(std::string(name) + "=" + value);
}

std::optional<std::string> find_variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (sets(entry, name)) return entry.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::string without_empty_folders(std::string_view folders) {
  std::string kept;
  while (!folders.empty()) {
    const std::string_view folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
    if (!folder.empty()) kept.append(kept.empty() ? "" : ":").append(folder);
  }
  return kept;
}

bool is_executable(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::filesystem::path> find_program(const std::vector<std::string>& environment,
                                                  const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return is_executable(name) ? std::optional<std::filesystem::path>(name) : std::nullopt;
  }
  std::istringstream folders(find_variable(environment, "PATH").value_or("/usr/local/bin:/usr/bin:/bin"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_executable(std::filesystem::path(folder) / name)) return std::filesystem::path(folder) / name;
  }
  return std::nullopt;
}

fs::path own_program() {
  std::error_code error;
  fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) throw io_error("/proc/self/exe", "cannot be read", error.value());
  return program;
}

fs::path own_program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

std::vector<fs::path> own_program_prefixes() {
  std::vector<fs::path> prefixes;
  fs::path up = own_program_folder();
  for (int level = 0; level < 3 && up.has_relative_path(); ++level) {
    up = up.parent_path();
    prefixes.push_back(up);
  }
  return prefixes;
}

std::optional<fs::path> python_folder(std::string_view name, std::string_view package) {
  for (const fs::path& prefix : own_program_prefixes()) {
    std::error_code error;
    fs::path folder = prefix / "share" / "peakmark" / name;
    if (fs::is_directory(folder / package, error)) return folder;
  }
  return std::nullopt;
}

std::optional<fs::path> python_module_folder() {
  return python_folder("python", "peakmark");
}

void add_python_module(std::vector<std::string>& environment) {
  const auto module = python_module_folder();
  if (!module) return;
  const std::string path = find_variable(environment, "PYTHONPATH").value_or("");
  set_variable(environment, "PYTHONPATH", path.empty() ? module->string() : module->string() + ":" + path);
}

namespace {

/// Returns whether the file begins like a program. True for a file that may not be read, which may still be
/// executable.
bool begins_as_a_program(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return true;
  std::array<char, 4> start{};
  file.read(start.data(), start.size());
  const std::string_view text(start.data(), start.size());
  return text == "\177ELF" || text.starts_with("#!");
}

/// `file` must exist.
std::string file_error(const fs::path& file) {
  if (!begins_as_a_program(file)) {
    return "is not a program: it is neither a binary nor a script that begins with #!; build it, and name "
           "the program that was built";
  }
  return is_executable(file) ? "" : "is not executable; run: chmod +x " + file.string();
}

}  // namespace

std::string program_failure(const std::vector<std::string>& environment, const std::string& name) {
  if (const auto program = find_program(environment, name)) return file_error(*program);
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  const bool is_path = name.find('/') != std::string::npos;
  const std::string missing = std::string("no such program") + (is_path ? "" : " in the folders of PATH");
  if (!fs::exists(status)) return fs::status_known(status) ? missing : "cannot be read: " + error.message();
  if (const std::string_view kind = non_file_kind(name); !kind.empty())
    return "is " + std::string(kind) + "; name a program" + (kind == "a folder" ? " in it" : "");
  const std::string failure = file_error(name);
  return failure.empty() ? missing + "; for the one in this folder, write ./" + name : failure;
}

std::string exec_failure(const fs::path& program, int error) {
  if (error == ENOEXEC) return "built for another machine, or incomplete; build it here, or name another";
  if (error == ENOENT && ::access(program.c_str(), F_OK) == 0)
    return "the interpreter after its #!, or the loader that it was linked for, does not exist; install it";
  return std::strerror(error);
}

std::string program_name(const std::vector<std::string>& command) {
  if (command.empty()) return "unknown";
  const auto file_name = [](const std::string& word) { return fs::path(word).filename().string(); };
  std::string name = file_name(command.front());
  if (!name.starts_with("python")) return name;
  const auto script = std::find_if(command.begin() + 1, command.end(), [](const std::string& word) {
    return word == "-c" || !word.starts_with('-');
  });
  return script == command.end() || *script == "-c" ? name : file_name(*script);
}

std::vector<char*> exec_pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

namespace fs = std::filesystem;

namespace {

fs::path folder_of(const std::string& name, const fs::path& suite_folder) {
  if (name.find('/') != std::string::npos) return (suite_folder / name).lexically_normal();
  const char* const folder = std::getenv("PEAKMARK_ENVIRONMENTS");
  return fs::absolute(folder != nullptr && *folder != '\0' ? folder : "build/environments") / name;
}

}  // namespace

PythonEnvironment find_python(const std::string& name, const fs::path& suite_folder,
                              const std::string& made_by) {
  if (name.empty()) {
    const auto found = find_program(current_environment(), "python3");
    return {found.value_or("python3"), std::nullopt};
  }
  const fs::path folder = folder_of(name, suite_folder);
  const fs::path interpreter = folder / "bin" / "python";
  std::error_code error;
  if (fs::exists(interpreter, error)) return {interpreter, folder};
  // An interpreter: ./env/bin/python of an environment, /opt/python/bin/python3, or python3.11 from $PATH.
  if (fs::is_regular_file(folder, error)) {
    const fs::path of = folder.parent_path().parent_path();
    return {folder, fs::exists(of / "pyvenv.cfg", error) ? std::optional(of) : std::nullopt};
  }
  if (name.find('/') == std::string::npos && name.starts_with("python")) {
    if (const auto found = find_program(current_environment(), name)) return {*found, std::nullopt};
  }
  const std::string how = !made_by.empty() ? made_by
                                           : fmt::format("python3 -m venv {} && {}/bin/pip install PACKAGES",
                                                         folder.string(), folder.string());
  throw EnvironmentError(
      fmt::format("the Python environment {} is missing; create it with: {}", folder.string(), how));
}

void add_python(std::vector<std::string>& environment, const PythonEnvironment& python) {
  if (python.folder) {
    const std::string path = find_variable(environment, "PATH").value_or("/usr/local/bin:/usr/bin:/bin");
    set_variable(environment, "PATH", (*python.folder / "bin").string() + ":" + path);
    set_variable(environment, "VIRTUAL_ENV", python.folder->string());
  }
  add_python_module(environment);
}

}  // namespace peakmark
