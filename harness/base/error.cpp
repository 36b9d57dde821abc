#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/text.hpp"

namespace peakmark {
namespace {

template <typename Kind>
bool is_kind(const std::exception& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

struct ErrorKind {
  bool (*is)(const std::exception&);
  ExitCode code;
};

// Derived classes come before their bases, because the first match counts.
constexpr std::array<ErrorKind, 9> kErrorKinds{{
    {is_kind<UsageError>, ExitCode::usage},
    {is_kind<IoError>, ExitCode::usage},
    {is_kind<ProtocolError>, ExitCode::usage},
    {is_kind<DeviceError>, ExitCode::nothing},
    {is_kind<RecorderError>, ExitCode::recorder},
    {is_kind<EnvironmentError>, ExitCode::usage},
    {is_kind<Interrupted>, ExitCode::interrupted},
    {is_kind<DeadlineError>, ExitCode::nothing},
    {is_kind<std::filesystem::filesystem_error>, ExitCode::usage},
}};

std::string advice_on_errno(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free space there, or name another place";
    case EACCES:
    case EPERM:
    case EROFS:
      return "allow it, or name another place";
    case ENOENT:
      return "check the path";
    case ENOLCK:
    case ENOTSUP:
      return "its file system may not lock files (a shared one): name a place on a local disk";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (`ulimit -n`)";
    default:
      return "";
  }
}

/// Returns a message with the path, or a message that the working folder no longer exists.
std::string filesystem_message(const std::filesystem::filesystem_error& error) {
  std::error_code failure;
  static_cast<void>(std::filesystem::current_path(failure));
  if (failure) return "the working folder was removed (" + failure.message() + "); change to another folder";
  constexpr std::size_t kMaxPathBytes = 200;
  const std::string path = shortened(error.path1().string(), kMaxPathBytes);
  return (path.empty() ? "a path cannot be used" : path) + ": " + error.code().message() +
         "; name another path";
}

}  // namespace

IoError io_error(const std::string& path, const std::string& what, int error, const std::string& advice) {
  const std::string to_do = advice.empty() ? advice_on_errno(error) : advice;
  return IoError((path.empty() ? "" : path + ": ") + what + ": " + std::strerror(error) +
                     (to_do.empty() ? "" : "; " + to_do),
                 error);
}

ExitCode exit_code_of(const std::exception& error) {
  const auto* const found =
      std::ranges::find_if(kErrorKinds, [&](const ErrorKind& kind) { return kind.is(error); });
  return found == kErrorKinds.end() ? ExitCode::measurement : found->code;
}

std::string final_message(const std::exception& error) {
  if (const auto* const of_path = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return filesystem_message(*of_path);
  return (is_kind<Error>(error) ? "" : "unexpected error: ") + std::string(error.what());
}

void throw_error_of_exit_code(int exit_code, const std::string& message) {
  if (exit_code == static_cast<int>(ExitCode::usage)) throw UsageError(message);
  if (exit_code == static_cast<int>(ExitCode::nothing)) throw DeviceError(message);
  if (exit_code == static_cast<int>(ExitCode::recorder)) throw RecorderError(message);
}

}  // namespace peakmark
