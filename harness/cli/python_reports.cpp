#include "cli/python_reports.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "cli/options.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

fs::path reports_folder() {
  if (const auto folder = python_folder("reports", "peakmark_reports")) return *folder;
  throw EnvironmentError(fmt::format("share/peakmark/reports not found next to {}; install peakmark again",
                                     own_program().string()));
}

/// Returns $PEAKMARK_PYTHON, which may be the Python of a virtual environment, or python3.
fs::path python(const std::vector<std::string>& environment) {
  const std::string wanted = find_variable(environment, "PEAKMARK_PYTHON").value_or("");
  const std::string name = wanted.empty() ? "python3" : wanted;
  if (const auto found = find_program(environment, name)) return *found;
  throw EnvironmentError(
      fmt::format("{}: no such program; plots and reports need Python 3.10 or later: install it, or set "
                  "PEAKMARK_PYTHON",
                  name));
}

/// Makes `text` the standard input of this process. A file, because a pipe blocks if nobody reads it yet.
void set_standard_input(const std::string& text) {
  std::FILE* const file = std::tmpfile();  // a file without a name
  if (file == nullptr) throw io_error("a temporary file", "cannot be created", errno);
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0 ||
      ::lseek(::fileno(file), 0, SEEK_SET) != 0 || ::dup2(::fileno(file), STDIN_FILENO) < 0)
    throw io_error("a temporary file", "cannot be written", errno);
}

}  // namespace

std::vector<std::string> given_words(const CLI::App& command) {
  std::vector<std::string> words{command.get_name()};
  for (const CLI::Option* const option : shown_options(command)) {
    if (option->count() == 0) continue;
    const std::string name = option_names(*option).back();
    if (name == "--history") continue;  // it goes into the environment
    for (const std::string& value : option->results()) {
      // As one word, because a value may begin with a dash.
      if (max_values(*option) == 0) words.push_back(name);
      if (max_values(*option) > 0 && !value.empty()) words.push_back(fmt::format("{}={}", name, value));
    }
  }
  for (const CLI::Option* const one : positionals(command)) {
    if (one->count() > 0) words.emplace_back("--");  // a run file may begin with a dash
    words.insert(words.end(), one->results().begin(), one->results().end());
  }
  return words;
}

void become_python_reports(const std::vector<std::string>& words, const std::string& history,
                           const std::string& input) {
  std::vector<std::string> environment = current_environment();
  const fs::path interpreter = python(environment);
  const std::string others = without_empty_folders(find_variable(environment, "PYTHONPATH").value_or(""));
  const std::string folder = reports_folder().string();
  set_variable(environment, "PYTHONPATH", others.empty() ? folder : folder + ":" + others);
  // From Python 3.11 on, the processes that draw inherit it.
  set_variable(environment, "PYTHONSAFEPATH", "1");
  // Not an argument, because all users can read arguments, and a URL may contain a password.
  if (!history.empty()) set_variable(environment, "PEAKMARK_HISTORY", history);
  // Not -m, because messages begin with the name of this program. Both would put the working folder first in
  // Python's path, where files would replace modules of its library.
  const std::string script =
      "import sys\n"
      "sys.path[:] = [path for path in sys.path if path not in ('', '.')]\n"
      "from peakmark_reports.__main__ import main\n"
      "sys.exit(main(sys.argv[1:], 'peakmark'))";
  std::vector<std::string> arguments{interpreter.string(), "-c", script};
  arguments.insert(arguments.end(), words.begin(), words.end());
  if (!input.empty()) set_standard_input(input);
  std::fflush(nullptr);
  ::execve(interpreter.c_str(), exec_pointers(arguments).data(), exec_pointers(environment).data());
  throw io_error(interpreter, "cannot be started", errno, "set PEAKMARK_PYTHON to Python 3.10 or later");
}

int run_python_reports(const std::vector<std::string>& words, const std::string& input) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw io_error("a process of Python", "cannot be started", errno);
  if (child == 0) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    try {
      become_python_reports(words, "", input);
    } catch (const std::exception& error) {
      print_message(stderr, "{}\n", error.what());
      ::_exit(static_cast<int>(exit_code_of(error)));
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ExitCode::recorder);
}

void check_plot_file(const std::string& file) {
  const std::string ending = fs::path(file).extension().string();
  if (ending != ".png" && ending != ".svg" && ending != ".pdf")
    throw UsageError(
        fmt::format("--plot {}: unknown format: write a file that ends with .png, .svg or .pdf", file));
}

}  // namespace peakmark::cli
