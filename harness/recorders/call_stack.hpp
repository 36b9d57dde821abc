#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace peakmark {

class ProfileWriter;

/// The call stacks of a program, from inside a recorder that lives in it. A stack that was not met before is
/// written into the profile, as text, at once; every stack has an id, which stands with the allocations made
/// from there.
///
/// Written for somebody else's program: it takes no lock (so none can be held when a thread is stopped, or
/// while the loader's is waited for) and asks for no memory of the heap, but for what the unwinder loads when
/// `start` calls it first. Ids come from a table of hashes in which a slot is taken by one compare-and-swap:
/// the place of the slot is the id.
class CallStacks {
 public:
  /// The program's only one: place it in static storage.
  constexpr CallStacks() = default;
  CallStacks(const CallStacks&) = delete;
  CallStacks& operator=(const CallStacks&) = delete;

  /// The unwinder's first call loads a library. Also sees to it that a forked child, which writes a profile
  /// of its own, begins with no stacks.
  void start();

  /// The id of the caller's stack, which `writer` is told when it is new. 0: unknown, since there is no room
  /// for more stacks (a note says so), or since the call came out of this one.
  std::uint64_t id_of_caller(ProfileWriter& writer);

  /// Stacks that differ. More than any program should have; the table is touched where it is used only.
  static constexpr std::size_t kMost = std::size_t{1} << 18;
  /// Frames of one stack; the outermost of a deeper one are left out.
  static constexpr std::size_t kMaxFrames = 128;

 private:
  struct Found {
    std::uint64_t id;
    bool is_new;
  };
  Found find(std::uint64_t hash);
  void write(ProfileWriter& writer, std::uint64_t id, void* const* frames, std::size_t count,
             const char* python_text, std::size_t python_bytes);
  static void forget_in_child();

  std::atomic<std::uint64_t> hashes_[kMost] = {};
  std::atomic<bool> told_full_{false};
};

}  // namespace peakmark
