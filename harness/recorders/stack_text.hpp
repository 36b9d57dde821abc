#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace peakmark {

/// A text of lines in a buffer of the caller's, without the heap. A line is taken whole or not at all: what
/// finds no room ends the text.
class StackText {
 public:
  StackText(char* buffer, std::size_t room) : buffer_(buffer), room_(room) {}

  [[nodiscard]] std::size_t bytes() const { return line_; }
  [[nodiscard]] bool is_full() const { return full_; }

  /// A part of the line, at most `most` bytes of it: tabs and ends of line, which part fields and lines,
  /// become spaces.
  StackText& field(const char* text, std::size_t most = 1024) {
    if (end_ != line_) character('\t');
    for (std::size_t i = 0; i < most && text[i] != '\0'; ++i) {
      character(text[i] == '\t' || text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
    }
    return *this;
  }
  StackText& hexadecimal(std::uint64_t number) { return digits(number, 16); }
  StackText& decimal(std::uint64_t number) { return digits(number, 10); }

  /// False when the line found no room.
  bool end_line() {
    character('\n');
    if (full_) {
      end_ = line_;
      return false;
    }
    line_ = end_;
    return true;
  }

 private:
  void character(char one) {
    if (end_ == room_) full_ = true;
    if (!full_) buffer_[end_++] = one;
  }
  StackText& digits(std::uint64_t number, unsigned base) {
    char text[24];
    char* first = text + sizeof(text) - 1;
    *first = '\0';
    do {
      *--first = "0123456789abcdef"[number % base];
      number /= base;
    } while (number != 0);
    return field(first);
  }

  char* buffer_;
  std::size_t room_;
  std::size_t line_ = 0;  // where the line begins
  std::size_t end_ = 0;
  bool full_ = false;
};

}  // namespace peakmark
