#include "worker/late_note.hpp"

#include <system_error>
#include <utility>

namespace peakmark {

LateNote::LateNote(std::string text, std::function<void(const std::string&)> say,
                   std::chrono::milliseconds after) {
  const auto wait = [this, text = std::move(text), say = std::move(say), after](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, stop, after, [] { return false; });
    if (!stop.stop_requested()) say(text);
  };
  try {
    waiting_ = std::jthread(wait);
  } catch (const std::system_error&) {  // no thread is to be had: what is waited for matters more than a note
  }
}

}  // namespace peakmark
