#include "base/python_environment.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.hpp"
#include "base/program.hpp"

namespace peakmark {

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
