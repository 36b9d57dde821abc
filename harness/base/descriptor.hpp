#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace peakmark {

/// A file descriptor that closes itself; a negative one is none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  /// Closes it now.
  void close() {
    if (const int number = release(); number >= 0) ::close(number);
  }
  /// Returns the descriptor, which the caller closes.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// The two ends of a pipe, both close-on-exec.
class Pipe {
 public:
  /// Throws Error if the system gives none.
  Pipe() : Pipe(open_ends()) {}

  Descriptor read_end;
  Descriptor write_end;

 private:
  explicit Pipe(std::array<int, 2> ends) : read_end(ends[0]), write_end(ends[1]) {}
  static std::array<int, 2> open_ends() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) return ends;
    throw io_error("", "no pipe can be made", errno);
  }
};

}  // namespace peakmark
