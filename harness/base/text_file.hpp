#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <streambuf>
#include <string>
#include <string_view>

namespace peakmark {

/// Takes a text piece by piece.
using TextSink = std::function<void(std::string_view)>;
/// Gives a text to a sink, so that it is never whole in memory.
using TextWriter = std::function<void(const TextSink&)>;

/// The whole file. IoError that names it when it is not there, is a folder or cannot be read.
std::string read_text_file(const std::filesystem::path& path);

/// A file for std::istream, of which only a piece is in memory. It knows the line of a byte, for messages.
class FileBuffer : public std::streambuf {
 public:
  /// Throws IoError as read_text_file(), also while it is read.
  explicit FileBuffer(std::filesystem::path path);
  ~FileBuffer() override;
  FileBuffer(const FileBuffer&) = delete;
  FileBuffer& operator=(const FileBuffer&) = delete;

  /// Bytes that were read from the file so far.
  [[nodiscard]] std::size_t bytes() const { return before_ + held_; }
  /// Nothing but blanks and line ends so far.
  [[nodiscard]] bool is_blank() const { return is_blank_; }
  /// `line 3, column 7`: the place after so many bytes of the file, in the piece that is in memory.
  [[nodiscard]] std::string place_of(std::size_t byte) const;

 protected:
  int_type underflow() override;

 private:
  [[nodiscard]] std::string_view piece() const { return {piece_.data(), held_}; }

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string piece_;
  std::size_t held_ = 0;        ///< bytes of the piece
  std::size_t before_ = 0;      ///< bytes of the file before it
  std::size_t line_ = 1;        ///< at its start
  std::size_t line_start_ = 0;  ///< the byte of the file at which that line starts
  bool is_blank_ = true;
};

/// Writes a file beside `path` and renames it, so that a reader never sees half of it. IoError with the
/// system's reason where that fails; what was there before stays.
void replace_text_file(const std::filesystem::path& path, std::string_view text);
void replace_text_file(const std::filesystem::path& path, const TextWriter& write);

/// Lines added to a file one by one, each whole or not at all: a line that did not fit (full disk) is taken
/// back. The file is locked (flock) as long as this object lives.
class LineFile {
 public:
  /// Opens, creating it where it is not there. `owner`: the file beside which it stands, which the user named
  /// and messages begin with. `in_use` is what to say when another process holds the lock. UsageError where
  /// it cannot be written, also where a first line has no room.
  LineFile(const std::filesystem::path& path, std::filesystem::path owner, std::string_view in_use);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Cuts off a last line without its newline: a kill −9 came in the middle of it.
  void cut_half_line();
  /// The whole lines that are there, after cut_half_line().
  std::string take_whole_lines();
  /// `line` without its newline. IoError where it cannot be written.
  void append(std::string_view line);
  /// The same of a line that is too long to be in memory as a whole.
  void append(const TextWriter& write);
  void clear();
  [[nodiscard]] bool is_empty() const;
  /// False after remove().
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  /// Removes the file, then gives up the lock.
  void remove();

 private:
  [[noreturn]] void fail(const char* doing, int error) const;
  /// Whether there is room for what every run writes at once; nothing of it stays.
  void probe();
  /// 0, or the errno that stopped it; what was written of it is taken back then.
  int try_append(const TextWriter& write);

  std::filesystem::path path_;
  std::filesystem::path owner_;
  int descriptor_ = -1;
};

}  // namespace peakmark
