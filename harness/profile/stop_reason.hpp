#pragma once

#include <cerrno>
#include <cstring>

namespace peakmark {

/// Returns why a recorder stopped before its program ended, from the error that stopped it
/// (ProfileHeader::stop_error). Allocates nothing: recorders call it too.
inline const char* stop_reason(int error) {
  switch (error) {
    case 0:
      return "the reason is not known";
    case ENOSPC:
    case EDQUOT:
      return "the disk is full";
    case EFBIG:
      return "the limit on file sizes (ulimit -f) is reached";
    case EOVERFLOW:
      return "it has its maximum size (--max-size, at most 64 GiB)";
    case EMFILE:
      return "the program closed its descriptor and has as many files open as it may (ulimit -n)";
    case ENFILE:
      return "the system has as many files open as it can";
    case EACCES:
    case EPERM:
    case EROFS:
      return "the program closed its descriptor, and may not open it again";
    case ENOENT:
    case ENOTDIR:
      return "the program closed its descriptor, and it is not at its path any more";
    case EEXIST:
      return "the program closed its descriptor, and another file has taken its place";
    default:
      return "it cannot be written";
  }
}

/// Returns what the user does about it.
inline const char* stop_advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "make room there, or name a file elsewhere with -o";
    case EFBIG:
      return "raise the limit on file sizes (ulimit -f)";
    case EMFILE:
      return "raise the limit on open files (ulimit -n)";
    case EOVERFLOW:
      return "raise --max-size, or record a shorter run";
    case ENAMETOOLONG:
      return "name a shorter one with -o";
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case EROFS:
      return "name a file elsewhere with -o";
    default:
      return "record it again";
  }
}

}  // namespace peakmark
