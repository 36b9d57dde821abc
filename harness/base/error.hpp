#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace peakmark {

/// The exit codes of every peakmark command; scripts depend on them. If several apply, the first in this
/// order wins: usage, recorder, nothing, measurement, verdict.
enum class ExitCode : int {
  clean = 0,
  verdict = 1,        ///< a verdict failed: window, regression, leak
  usage = 2,          ///< wrong usage or wrong input; a file, a program or a disk that cannot be used
  measurement = 3,    ///< a measurement failed: crash, hang, wrong answer
  nothing = 4,        ///< nothing was measured, or less than --require
  recorder = 5,       ///< the recorder could not work
  interrupted = 130,  ///< SIGINT
};

// The class of an error is its kind; only exit_code_of() maps it to an exit code. Catch sites decide by the
// class, never by the text. The text has the form `where: what is wrong; what to do`, as in
// `nightly.toml:12: unknown axis "nyy" of padding/coords1d (did you mean "ny"?)`.

/// An error that ends a command or a case. Throw one of the classes below.
class Error : public std::runtime_error {
 protected:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

/// A mistake of the user in the command line, the suite or another file that peakmark reads. Malformed text
/// from another process is a ProtocolError; a failed system call is an IoError.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(message) {}
};

/// A size that does not fit 64 bits. It is a usage error, because the user requested that size.
class OverflowError : public UsageError {
 public:
  using UsageError::UsageError;
};

/// This machine or installation lacks something that the command needs: a program, a Python environment, a
/// part of peakmark.
class EnvironmentError : public Error {
 public:
  explicit EnvironmentError(const std::string& message) : Error(message) {}
};

/// There is no device, or not the requested one, or another run holds it.
class DeviceError : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

/// The recorder did not start, or did not record everything.
class RecorderError : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

/// A call of the system or of a database failed: a file, a pipe, a disk, a process. io_error() makes it from
/// errno.
class IoError : public Error {
 public:
  explicit IoError(const std::string& message, int error = 0) : Error(message), error_(error) {}
  /// Returns the errno; 0 if there is none.
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  int error_;
};

/// Returns the IoError `PATH: WHAT: reason; advice`. `what`: for example `cannot be written`; `error`: an
/// errno. Without `advice`, uses known advice for this errno. Without `path`, begins with `what`.
[[nodiscard]] IoError io_error(const std::string& path, const std::string& what, int error,
                               const std::string& advice = "");

/// A worker, an estimator or a recorder violated the protocol, or did not answer.
class ProtocolError : public Error {
 public:
  explicit ProtocolError(const std::string& message) : Error(message) {}
};

/// A call to the device failed, or a kernel is wrong. Becomes the outcome `crashed` of a case.
class MeasurementError : public Error {
 public:
  explicit MeasurementError(const std::string& message) : Error(message) {}
};

/// The device (or the budget) has less memory than requested. Becomes the outcome `out_of_memory` of a case.
class OutOfMemoryError : public MeasurementError {
 public:
  using MeasurementError::MeasurementError;
};

/// The variant cannot do this case on this device. Becomes the outcome `unsupported`.
class UnsupportedError : public MeasurementError {
 public:
  using MeasurementError::MeasurementError;
};

/// A signal ended a wait.
class Interrupted : public Error {
 public:
  explicit Interrupted(const std::string& message) : Error(message) {}
};

/// --deadline ended a wait.
class DeadlineError : public Error {
 public:
  explicit DeadlineError(const std::string& message) : Error(message) {}
};

/// Returns the exit code of a command that `error` ends.
[[nodiscard]] ExitCode exit_code_of(const std::exception& error);

/// Returns the message of an error that ends a command, without the name of the program.
[[nodiscard]] std::string final_message(const std::exception& error);

/// Throws the error for the exit code of another peakmark program: UsageError, DeviceError or RecorderError.
/// Returns for any other code.
void throw_error_of_exit_code(int exit_code, const std::string& message);

}  // namespace peakmark
