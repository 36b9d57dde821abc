#pragma once

#include <cstddef>
#include <cstdint>

// System calls on the file of a recorder. They return the error (errno), or 0, and allocate no memory.
namespace peakmark {

/// True when a file of that size is beyond RLIMIT_FSIZE. A write there does not only fail: SIGXFSZ would kill
/// the program.
bool exceeds_file_limit(std::uint64_t bytes);

int write_whole(int file, const char* bytes, std::size_t count, std::uint64_t offset);

/// Takes space on the disk, so that a mapping of it can be written to. Where the file system cannot allocate,
/// zeros are written.
int allocate_on_disk(int file, std::uint64_t offset, std::uint64_t bytes);

/// Returns the file under a number that the program reaches only when it has opened nearly all that it may;
/// `file` is closed then. Returns `file` where there is no such number.
int with_high_number(int file);

}  // namespace peakmark
