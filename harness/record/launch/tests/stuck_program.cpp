// Usage: stuck_program traced|uninterruptible FIFO. Prints `ready PID` when no signal can end it any more. It
// ends when the FIFO has no writer, and exits with 42 if this system does not allow it.
#include <unistd.h>

#include <cstdio>
#include <string>

#include "record/subprocess/stuck_process_testing.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string ready = "ready " + std::to_string(::getpid()) + "\n";
  if (std::string(argv[1]) == "traced") {
    if (!peakmark::trace_this_process(argv[2])) return 42;
    if (::write(STDOUT_FILENO, ready.data(), ready.size()) < 0) return 1;
    for (;;) ::pause();
  }
  const std::string why = peakmark::sleep_uninterruptibly(argv[2], STDOUT_FILENO, ready);
  std::fprintf(stderr, "%s\n", why.c_str());
  return 42;
}
