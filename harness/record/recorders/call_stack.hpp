#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace peakmark {

class ProfileWriter;

/// Writes the call stacks of the recorded program into its profile. A stack is written once, as text, when it
/// first appears. Allocations refer to it by its id.
///
/// Runs inside the recorded program. It takes no lock, so no thread can be stopped while it holds one, and it
/// cannot deadlock with the loader's lock. It allocates nothing on the heap, except what the unwinder loads
/// on its first call in `start`. Ids come from a hash table in which a slot is taken by one compare-and-swap:
/// the index of the slot is the id.
class CallStacks {
 public:
  /// One per process: place it in static storage.
  constexpr CallStacks() = default;
  CallStacks(const CallStacks&) = delete;
  CallStacks& operator=(const CallStacks&) = delete;

  /// Calls the unwinder once, which loads a library. Ensures that a forked child, which writes a separate
  /// profile, starts with an empty table.
  void start();

  /// Returns the id of the caller's stack, and writes the stack with `writer` if it is new. Returns 0 if the
  /// table is full (a note says so), or if the call comes from inside this function.
  std::uint64_t caller_id(ProfileWriter& writer);

  /// Maximum number of different stacks in one process. Pages of the table use memory only once they are
  /// written.
  static constexpr std::size_t kMaxStacks = std::size_t{1} << 18;
  /// Maximum number of frames of one stack. Outer frames of a deeper stack are omitted.
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

  std::atomic<std::uint64_t> hashes_[kMaxStacks] = {};
  std::atomic<bool> reported_full_{false};
};

}  // namespace peakmark
