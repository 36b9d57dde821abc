#include "run/signal_watch.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace peakmark {

SignalWatch::SignalWatch()
    : file_size_handler_(std::signal(SIGXFSZ, SIG_IGN)), pipe_handler_(std::signal(SIGPIPE, SIG_IGN)) {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&watched, signal);
  ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
  descriptor_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) throw Error(ExitCode::usage, std::string("signalfd: ") + std::strerror(errno));
}

SignalWatch::~SignalWatch() {
  // What has come has been answered; left pending, it would end the process when the mask is put back.
  signalfd_siginfo pending{};
  while (::read(descriptor_, &pending, sizeof pending) > 0) {
  }
  ::close(descriptor_);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  std::signal(SIGXFSZ, file_size_handler_);
  std::signal(SIGPIPE, pipe_handler_);
}

bool SignalWatch::raised() const {
  pollfd watched{descriptor_, POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

}  // namespace peakmark
