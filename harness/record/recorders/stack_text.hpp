#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace peakmark {

/// Writes lines of text into the caller's buffer, without the heap. A line that does not fit is dropped, and
/// ends the text.
class StackText {
 public:
  StackText(char* buffer, std::size_t capacity) : buffer_(buffer), capacity_(capacity) {}

  [[nodiscard]] std::size_t bytes() const { return line_; }
  [[nodiscard]] bool is_full() const { return full_; }

  /// Adds a field of at most `max_bytes`. Tabs and line ends, which separate fields and lines, become spaces.
  StackText& field(const char* text, std::size_t max_bytes = 1024) {
    if (end_ != line_) character('\t');
    for (std::size_t i = 0; i < max_bytes && text[i] != '\0'; ++i) {
      character(text[i] == '\t' || text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
    }
    return *this;
  }
  StackText& hexadecimal(std::uint64_t number) { return digits(number, 16); }
  StackText& decimal(std::uint64_t number) { return digits(number, 10); }

  /// Returns false if the line does not fit.
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
    if (end_ == capacity_) full_ = true;
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
  std::size_t capacity_;
  std::size_t line_ = 0;  // start of the current line
  std::size_t end_ = 0;
  bool full_ = false;
};

}  // namespace peakmark
