#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <streambuf>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace peakmark {

/// Receives a text in pieces.
using TextSink = std::function<void(std::string_view)>;
/// Writes a text to a sink in pieces, so that the whole text is never in memory.
using TextWriter = std::function<void(const TextSink&)>;

/// Returns the whole file. Throws IoError if it does not exist, is a folder or cannot be read.
std::string read_text_file(const std::filesystem::path& path);

/// A buffer for std::istream that keeps only a piece of the file in memory. It knows the line and column of a
/// byte, for messages.
class FileBuffer : public std::streambuf {
 public:
  /// Throws IoError as read_text_file() does, also while reading.
  explicit FileBuffer(std::filesystem::path path);

  /// Returns the bytes read so far.
  [[nodiscard]] std::size_t bytes() const { return before_ + held_; }
  /// Returns whether only blanks and line ends have been read so far.
  [[nodiscard]] bool is_blank() const { return is_blank_; }
  /// Returns the place after this many bytes, `line 3, column 7`. It must be in the piece that is in memory.
  [[nodiscard]] std::string place_of(std::size_t byte) const;

 protected:
  int_type underflow() override;

 private:
  [[nodiscard]] std::string_view piece() const { return {piece_.data(), held_}; }

  std::filesystem::path path_;
  Descriptor descriptor_;
  std::string piece_;
  std::size_t held_ = 0;        ///< bytes of the piece
  std::size_t before_ = 0;      ///< bytes of the file before the piece
  std::size_t line_ = 1;        ///< number of the line at the start of the piece
  std::size_t line_start_ = 0;  ///< the position in the file at which that line starts
  bool is_blank_ = true;
};

/// Writes a new file next to `path` and renames it, so that readers never see half of it. If that fails,
/// keeps the earlier file and throws IoError with the reason.
void replace_text_file(const std::filesystem::path& path, std::string_view text);
void replace_text_file(const std::filesystem::path& path, const TextWriter& write);

/// Appends lines to a file, each whole or not at all: if a line does not fit (full disk), the file is
/// truncated to its previous length. The file is locked (flock) while this object exists.
class LineFile {
 public:
  /// Opens or creates the file. Messages begin with `owner`, the file named by the user, next to which this
  /// one is. Throws UsageError with `in_use` if another process holds the lock, and IoError if the file
  /// cannot be written or the disk has no space for a first line.
  LineFile(const std::filesystem::path& path, std::filesystem::path owner, std::string_view in_use);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Truncates a last line without a newline, which kill −9 may have left.
  void cut_half_line();
  /// Returns all lines, after cut_half_line().
  std::string take_whole_lines();
  /// Appends `line`, which has no newline. Throws IoError if it cannot be written.
  void append(std::string_view line);
  /// Appends a line that is too long for memory.
  void append(const TextWriter& write);
  void clear();
  [[nodiscard]] bool is_empty() const;
  /// Returns false after remove().
  [[nodiscard]] bool is_open() const { return descriptor_.get() >= 0; }
  /// Removes the file, then releases the lock.
  void remove();

 private:
  [[noreturn]] void fail(const char* doing, int error) const;
  /// Throws IoError if there is no space for a first line. Leaves the file unchanged.
  void probe();
  /// Returns 0, or the errno of the failure after truncating the file again.
  int try_append(const TextWriter& write);

  std::filesystem::path path_;
  std::filesystem::path owner_;
  Descriptor descriptor_{-1};
};

}  // namespace peakmark
