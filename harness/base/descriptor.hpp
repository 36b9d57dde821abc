#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace peakmark {

/// Owns a file descriptor and closes it. A negative number means none.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = other.release();
    }
    return *this;
  }
  [[nodiscard]] int get() const { return number_; }
  void close() {
    if (const int number = release(); number >= 0) ::close(number);
  }
  /// Returns the descriptor, which the caller must close.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// Both ends of a pipe, close-on-exec.
class Pipe {
 public:
  /// Throws IoError if no pipe can be created.
  Pipe() : Pipe(open_ends()) {}

  Descriptor read_end;
  Descriptor write_end;

 private:
  explicit Pipe(std::array<int, 2> ends) : read_end(ends[0]), write_end(ends[1]) {}
  static std::array<int, 2> open_ends() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) return ends;
    throw io_error("", "no pipe can be created", errno);
  }
};

}  // namespace peakmark
