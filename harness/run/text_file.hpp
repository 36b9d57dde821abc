#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace peakmark {

/// The whole file. IoError that names it when it is not there, is a folder or cannot be read.
std::string read_text_file(const std::filesystem::path& path);

/// Writes a file beside `path` and renames it, so that a reader never sees half of it. IoError with the
/// system's reason where that fails; what was there before stays.
void replace_text_file(const std::filesystem::path& path, std::string_view text);

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
  /// The whole lines that are there; a last one without its newline (a kill −9 in the middle of it) is cut
  /// off.
  std::string take_whole_lines();
  /// `line` without its newline. IoError where it cannot be written.
  void append(std::string_view line);
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
  int try_append(std::string_view text);

  std::filesystem::path path_;
  std::filesystem::path owner_;
  int descriptor_ = -1;
};

}  // namespace peakmark
