#pragma once

#include <stdexcept>
#include <string>

namespace peakmark {

/// The exit codes of every peakmark command. Scripts rest on them.
/// Where several apply, the first in the order usage, recorder, nothing, measurement, verdict wins.
enum class ExitCode : int {
  clean = 0,
  verdict = 1,        ///< a verdict failed: window, regression, leak
  usage = 2,          ///< wrong usage or wrong input
  measurement = 3,    ///< a measurement failed: crash, hang, wrong answer
  nothing = 4,        ///< nothing was measured, or less than --require
  recorder = 5,       ///< the recorder could not work
  interrupted = 130,  ///< SIGINT
};

/// An error that ends a command. The message says what is wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Wrong usage or wrong input: a mistake of whoever wrote the command line, the suite or the file.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(ExitCode::usage, message) {}
};

/// A size that does not fit 64 bits. It is a usage error: somebody asked for that size.
class OverflowError : public UsageError {
 public:
  using UsageError::UsageError;
};

/// No device, or not the one asked for.
class DeviceError : public Error {
 public:
  explicit DeviceError(const std::string& message) : Error(ExitCode::nothing, message) {}
};

/// The recorder did not come up, or what it wrote cannot be read.
class RecorderError : public Error {
 public:
  explicit RecorderError(const std::string& message) : Error(ExitCode::recorder, message) {}
};

/// The device (or the budget) has not the memory asked for. Becomes the outcome `out_of_memory` of a case.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ExitCode::measurement, message) {}
};

/// This variant cannot do this case on this device. Becomes the outcome `unsupported`.
class Unsupported : public Error {
 public:
  explicit Unsupported(const std::string& message) : Error(ExitCode::measurement, message) {}
};

}  // namespace peakmark
