#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

// Locks on files of file systems that several machines share. A lock that others do not see lets two
// processes write at once.
namespace peakmark {

/// Returns the name of a file system that machines share, by its number of statfs(2): `nfs`, `smb`,
/// `lustre`, `gpfs`, …; empty for others, also for those in user space, which may be either.
std::string shared_file_system_name(std::uint64_t magic);

/// Returns the name of the shared file system that `path` is on, or its folder if it does not exist. Empty
/// for a local or unknown one.
std::string shared_file_system(const std::filesystem::path& path);

/// Returns whether the file system of this folder locks: a lock (fcntl, as SQLite takes) of a new file must
/// be refused to a second descriptor. Only this machine is tested. Returns true if no file can be created
/// there.
bool locks_exclude(const std::filesystem::path& folder);

}  // namespace peakmark
