#include "run/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace peakmark {
namespace {

/// A line longer than the terminal is wide could not be written over.
std::size_t width_of(std::FILE* stream) {
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string format_duration(std::chrono::seconds duration) {
  const auto seconds = std::max<std::chrono::seconds::rep>(duration.count(), 0);
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

Progress::Progress(std::FILE* stream, bool terminal, std::size_t total, std::size_t done)
    : stream_(stream), terminal_(terminal), total_(total), already_(done), done_(done) {}

Progress::~Progress() {
  erase();
}

std::string Progress::line(Clock::time_point now) const {
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(now - begin_);
  std::string text = fmt::format("[{}/{}] {}", std::min(done_ + 1, total_), total_, format_duration(elapsed));
  if (const std::size_t measured = done_ - already_; measured > 0) {
    const std::chrono::duration<double> spent = now - begin_;
    const double left = spent.count() / static_cast<double>(measured) * static_cast<double>(total_ - done_);
    text += fmt::format(", {} left", format_duration(std::chrono::seconds(static_cast<std::int64_t>(left))));
  }
  return text + " " + case_name_;
}

void Progress::started(std::string_view case_name) {
  case_name_ = case_name;
  draw();
}

void Progress::finished() {
  ++done_;
  case_name_.clear();
  draw();
}

void Progress::message(std::string_view line) {
  erase();
  fmt::print(stream_, "{}\n", line);
  std::fflush(stream_);
  if (!case_name_.empty()) draw();
}

void Progress::draw() {
  if (!terminal_) return;
  fmt::print(stream_, "\r\x1b[K{}", line(Clock::now()).substr(0, width_of(stream_) - 1));
  std::fflush(stream_);
  drawn_ = true;
}

void Progress::erase() {
  if (!drawn_) return;
  fmt::print(stream_, "\r\x1b[K");
  std::fflush(stream_);
  drawn_ = false;
}

}  // namespace peakmark
