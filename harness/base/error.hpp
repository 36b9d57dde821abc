#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace peakmark {

/// The exit codes of every peakmark command. Scripts rest on them.
/// Where several apply, the first in the order usage, recorder, nothing, measurement, verdict wins.
enum class ExitCode : int {
  clean = 0,
  verdict = 1,        ///< a verdict failed: window, regression, leak
  usage = 2,          ///< wrong usage or wrong input; a file, a program or a disk that cannot be used
  measurement = 3,    ///< a measurement failed: crash, hang, wrong answer
  nothing = 4,        ///< nothing was measured, or less than --require
  recorder = 5,       ///< the recorder could not work
  interrupted = 130,  ///< SIGINT
};

// The class of an error says what kind it is; exit_code_of() alone maps it to an exit code. Catch sites
// decide by the class, never by the text. The text has the form `where: what is wrong; what to do`, as in
// `nightly.toml:12: unknown axis "nyy" of padding/coords1d (did you mean "ny"?)`.

/// An error that ends a command or a case. Throw one of the classes below.
class Error : public std::runtime_error {
 protected:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

/// Throw it where whoever wrote the command line, the suite or a file that peakmark reads must correct it.
/// Text that another process writes is a ProtocolError; a call of the system that fails is an IoError.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(message) {}
};

/// Throw it for a size that does not fit 64 bits. It is a usage error: somebody asked for that size.
class OverflowError : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Throw it where this machine or installation lacks something that the command needs: a program, a Python
/// environment, a part of peakmark.
class EnvironmentError : public Error {
 public:
  explicit EnvironmentError(const std::string& message) : Error(message) {}
};

/// Throw it where there is no device, not the one that was asked for, or another run holds it.
class DeviceError : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

/// Throw it where the recorder did not come up, or did not record everything.
class RecorderError : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

/// Throw it where a call of the system or of a database fails: a file, a pipe, a disk, a process. io_error()
/// makes it from errno.
class IoError : public Error {
 public:
  explicit IoError(const std::string& message, int error = 0) : Error(message), error_(error) {}
  /// Returns the errno; 0 where there is none.
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  int error_;
};

/// Returns the IoError `PATH: WHAT: reason; advice`. `what`: `cannot be written`; `error`: errno. Without
/// `advice`, what to do about this errno, where that is known. Without `path`, begins with `what`.
[[nodiscard]] IoError io_error(const std::string& path, const std::string& what, int error,
                               const std::string& advice = "");

/// Throw it where a worker, an estimator or a recorder writes what is not in the protocol, or does not
/// answer.
class ProtocolError : public Error {
 public:
  explicit ProtocolError(const std::string& message) : Error(message) {}
};

/// Throw it where a call to the device fails, or a kernel is wrong. Becomes the outcome `crashed` of a case.
class MeasurementError : public Error {
 public:
  explicit MeasurementError(const std::string& message) : Error(message) {}
};

/// Throw it where the device (or the budget) has less memory than asked for. Becomes the outcome
/// `out_of_memory` of a case.
class OutOfMemory : public MeasurementError {
 public:
  using MeasurementError::MeasurementError;
};

/// Throw it where this variant cannot do this case on this device. Becomes the outcome `unsupported`.
class Unsupported : public MeasurementError {
 public:
  using MeasurementError::MeasurementError;
};

/// Throw it where a signal ends what is waited for.
class Interrupted : public Error {
 public:
  explicit Interrupted(const std::string& message) : Error(message) {}
};

/// Throw it where --deadline ends what is waited for.
class DeadlineError : public Error {
 public:
  explicit DeadlineError(const std::string& message) : Error(message) {}
};

/// Returns the exit code of a command that `error` ends. This is the only place that knows it.
[[nodiscard]] ExitCode exit_code_of(const std::exception& error);

/// Returns what a command prints of the error that ends it, without the name of the program.
[[nodiscard]] std::string final_message(const std::exception& error);

/// Throws the error with which another program of peakmark ended before its work, as far as its exit code
/// tells: UsageError, DeviceError or RecorderError. Returns for every other code.
void throw_error_of_exit_code(int exit_code, const std::string& message);

}  // namespace peakmark
