#pragma once

// For tests.

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace peakmark {

/// Whether this system gives pseudo-terminals: a bare one without /dev/pts does not.
inline bool has_pseudo_terminals() {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) return false;
  ::close(terminal);
  return true;
}

}  // namespace peakmark
