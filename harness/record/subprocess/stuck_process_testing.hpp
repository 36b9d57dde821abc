#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

namespace peakmark {

/// Starts a process in a new session that traces this one, like a debugger, and never waits for it: after
/// SIGKILL, no other process can wait for this one's end. The tracer ends when the FIFO has no writer any
/// more. Returns false if the system does not allow it.
bool trace_this_process(const std::string& fifo);

/// Puts this process into uninterruptible sleep, which SIGKILL does not end: it calls a file system (FUSE,
/// mounted in namespaces of this process) that reads requests and answers none. The file system ends when the
/// FIFO has no writer any more. Once this process hangs, the file system writes `ready` to `descriptor`.
/// Returns only if this is not possible, with the reason.
std::string sleep_uninterruptibly(const std::string& fifo, int descriptor, const std::string& ready);

/// Makes pidfd_open() fail from now on in this process and its children, as on an old kernel or without free
/// descriptors. Returns false if the system does not allow it.
inline bool go_without_pidfd(unsigned error = ENOSYS) {
  std::array<sock_filter, 4> code{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{code.size(), code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace peakmark
