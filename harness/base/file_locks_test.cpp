#include <gtest/gtest.h>
#include <linux/magic.h>

#include <filesystem>
#include <initializer_list>

#include "base/files.hpp"
#include "base/files_testing.hpp"

namespace peakmark {
namespace {

TEST(FileLocks, SharedFileSystemsAreKnown) {
  EXPECT_EQ(shared_file_system_name(NFS_SUPER_MAGIC), "nfs");
  EXPECT_EQ(shared_file_system_name(SMB_SUPER_MAGIC), "smb");
  EXPECT_EQ(shared_file_system_name(0x0BD00BD0), "lustre");
  EXPECT_EQ(shared_file_system_name(0x47504653), "gpfs");  // "GPFS"
  EXPECT_EQ(shared_file_system_name(AFS_SUPER_MAGIC), "afs");
  for (const std::uint64_t local : std::initializer_list<std::uint64_t>{EXT4_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
                                                                        TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC})
    EXPECT_EQ(shared_file_system_name(local), "");
}

TEST(FileLocks, AFolderForTemporaryFilesIsNotShared) {
  const TemporaryFolder folder;
  EXPECT_EQ(shared_file_system(folder.path()), "");
  EXPECT_EQ(shared_file_system(folder.path() / "not there"), "");
  EXPECT_EQ(shared_file_system("/proc/none/none"), "");
}

TEST(FileLocks, LocksExcludeAndTheProbeLeavesNothing) {
  const TemporaryFolder folder;
  EXPECT_TRUE(locks_exclude(folder.path()));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_TRUE(locks_exclude("/proc"));  // no file can be created: unknown
}

}  // namespace
}  // namespace peakmark
