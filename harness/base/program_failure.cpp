#include "base/program_failure.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/environment_list.hpp"
#include "base/file_kind.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// Of one that may not be read nobody can tell; it may be executed all the same.
bool begins_as_a_program(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return true;
  std::array<char, 4> start{};
  file.read(start.data(), start.size());
  const std::string_view text(start.data(), start.size());
  return text == "\177ELF" || text.starts_with("#!");
}

/// Of a file that is there.
std::string file_error(const fs::path& file) {
  if (!begins_as_a_program(file)) {
    return "is no program: it begins neither as a binary does nor, as a script does, with #!; build it, and "
           "name the program that comes of it";
  }
  return can_be_executed(file) ? "" : "may not be executed; allow it: chmod +x " + file.string();
}

}  // namespace

std::string program_failure(const std::vector<std::string>& environment, const std::string& name) {
  if (const auto program = program_in(environment, name)) return file_error(*program);
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  const bool is_path = name.find('/') != std::string::npos;
  const std::string missing =
      std::string("there is no such program") + (is_path ? "" : " in the folders of PATH");
  if (!fs::exists(status))
    return fs::status_known(status) ? missing : "cannot be looked at: " + error.message();
  if (const std::string_view kind = kind_of_other_than_file(name); !kind.empty())
    return "is " + std::string(kind) + "; name a program" + (kind == "a folder" ? " in it" : "");
  const std::string trouble = file_error(name);
  return trouble.empty() ? missing + "; that of this folder is ./" + name : trouble;
}

std::string why_not_executed(const fs::path& program, int error) {
  if (error == ENOEXEC)
    return "it is built for another machine, or is no whole program; build it here, or name another";
  if (error == ENOENT && ::access(program.c_str(), F_OK) == 0)
    return "it is there; the interpreter after its #!, or the loader that it was linked for, is not";
  return std::strerror(error);
}

}  // namespace peakmark
