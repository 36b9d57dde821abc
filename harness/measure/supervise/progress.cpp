#include "measure/supervise/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kMinWidthForABar = 72;

}  // namespace

std::size_t terminal_width(std::FILE* stream) {
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string clock_text(std::chrono::seconds duration) {
  const auto seconds = std::max<std::chrono::seconds::rep>(duration.count(), 0);
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

bool is_terminal(std::FILE* stream) {
  const char* const kind = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && (kind == nullptr || std::string_view(kind) != "dumb");
}

Progress::Progress(std::FILE* stream, bool terminal, std::size_t total, std::size_t done,
                   Clock::time_point begin)
    : stream_(stream),
      terminal_(terminal),
      total_(total),
      already_(done),
      done_(done),
      begin_(begin),
      last_line_(begin) {}

Progress::~Progress() {
  erase();
}

std::string Progress::text(Clock::time_point now) const {
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(now - begin_);
  std::string text = fmt::format("{}/{}, {}", done_, quantity(total_, "case"), clock_text(elapsed));
  if (const std::size_t measured = done_ - already_; measured > 0 && done_ < total_) {
    const std::chrono::duration<double> spent = now - begin_;
    const double left = spent.count() / static_cast<double>(measured) * static_cast<double>(total_ - done_);
    text += fmt::format(", {} left", clock_text(std::chrono::seconds(static_cast<std::int64_t>(left))));
  }
  if (failed_ > 0) text += fmt::format(", {} failed", failed_);
  if (!starting_.empty()) text += ", " + starting_;
  return text;
}

std::string Progress::line(Clock::time_point now, std::size_t width) const {
  std::string line;
  if (width >= kMinWidthForABar && total_ > 0) {
    const std::size_t filled = std::min(done_, total_) * kBarWidth / total_;
    line = '[' + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] ";
  }
  line += text(now);
  if (!case_name_.empty()) line += "  " + case_name_;
  // The last column stays empty, because some terminals wrap the line when it is written.
  return line.substr(0, width - 1);
}

void Progress::starting(std::string_view what, Clock::time_point now) {
  starting_ = what;
  show(now);
}

void Progress::started(std::string_view case_name, Clock::time_point now) {
  starting_.clear();
  case_name_ = case_name;
  show(now);
}

void Progress::finished(bool failed, Clock::time_point now) {
  ++done_;
  failed_ += failed ? 1 : 0;
  case_name_.clear();
  show(now);
}

void Progress::tick(Clock::time_point now) {
  show(now);
}

void Progress::message(std::string_view line, Clock::time_point now) {
  erase();
  print_message(stream_, "{}\n", plain_text(line));
  std::fflush(stream_);
  if (terminal_) show(now);
}

void Progress::show(Clock::time_point now) {
  if (terminal_) {
    print_message(stream_, "\r\x1b[K{}", line(now, terminal_width(stream_)));
    drawn_ = true;
  } else if (now - last_line_ >= kPlainInterval && done_ < total_) {
    print_message(stream_, "{}\n", text(now));
    last_line_ = now;
  }
  std::fflush(stream_);
}

void Progress::erase() {
  if (!drawn_) return;
  print_message(stream_, "\r\x1b[K");
  std::fflush(stream_);
  drawn_ = false;
}

}  // namespace peakmark
