#include "record/recorders/call_stack.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "record/recorders/profile_writer.hpp"
#include "record/recorders/python_frames.hpp"

namespace peakmark {
namespace {

std::atomic<CallStacks*> followed_stacks{nullptr};
thread_local bool inside = false;

/// Prevents recursion from the unwinder or the interpreter.
class Inside {
 public:
  Inside() { inside = true; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { inside = false; }
};

const void* base_address(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Returns the load address of this recorder. Null if it is part of the program itself, as in tests.
const void* own_base() {
  static const void* const base = [] {
    const void* const own = base_address(reinterpret_cast<const void*>(&own_base));
    const void* const program = base_address(reinterpret_cast<const void*>(getauxval(AT_ENTRY)));
    return own == program ? nullptr : own;
  }();
  return base;
}

/// The mixing step of splitmix64.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) + 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 30U)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27U)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31U);
}

std::uint64_t stack_hash(void* const* frames, std::size_t count, const char* text, std::size_t bytes) {
  std::uint64_t hash = count;
  for (std::size_t i = 0; i < count; ++i) hash = mix(hash, reinterpret_cast<std::uint64_t>(frames[i]));
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text + i, std::min(sizeof(word), bytes - i));
    hash = mix(hash, word);
  }
  return std::max<std::uint64_t>(hash, 1);
}

void add_native(StackText& text, const void* address) {
  // A return address points after the call, possibly into the next line or function.
  const auto call = reinterpret_cast<std::uint64_t>(address) - 1;
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<const void*>(call), &info) != 0 && info.dli_fname != nullptr;
  const auto from = [&](const void* start) { return call - reinterpret_cast<std::uint64_t>(start); };
  text.field("N").field(known && info.dli_sname != nullptr ? info.dli_sname : "");
  text.hexadecimal(known && info.dli_sname != nullptr ? from(info.dli_saddr) : 0);
  text.field(known ? info.dli_fname : "").hexadecimal(known ? from(info.dli_fbase) : call);
  text.end_line();
}

}  // namespace

void CallStacks::start() {
  void* frames[4];
  backtrace(frames, 4);
  own_base();
  look_for_python();
  static std::atomic<bool> registered{false};
  followed_stacks.store(this);
  if (!registered.exchange(true)) pthread_atfork(nullptr, nullptr, forget_in_child);
}

void CallStacks::forget_in_child() {
  CallStacks* const stacks = followed_stacks.load();
  if (stacks == nullptr) return;
  inside = false;
  for (std::atomic<std::uint64_t>& hash : stacks->hashes_) {
    // Zero entries are not written, because writing would allocate the page.
    if (hash.load(std::memory_order_relaxed) != 0) hash.store(0, std::memory_order_relaxed);
  }
  stacks->reported_full_.store(false);
}

CallStacks::Found CallStacks::find(std::uint64_t hash) {
  constexpr std::size_t kMaxSteps = 64;
  for (std::size_t step = 0; step < kMaxSteps; ++step) {
    const std::size_t place = (hash + step) % kMaxStacks;
    std::uint64_t there = hashes_[place].load(std::memory_order_relaxed);
    if (there == 0 && hashes_[place].compare_exchange_strong(there, hash)) return {place + 1, true};
    if (there == hash) return {place + 1, false};
  }
  return {0, false};
}

std::uint64_t CallStacks::caller_id(ProfileWriter& writer) {
  if (inside) return 0;
  const int saved = errno;
  const Inside guard;
  void* frames[kMaxFrames];
  char python[8192];
  const int got = backtrace(frames, kMaxFrames);
  const auto count = static_cast<std::size_t>(std::max(got, 0));
  const std::size_t bytes = python_frames(python, sizeof(python));
  Found found = find(stack_hash(frames, count, python, bytes));
  if (found.is_new) write(writer, found.id, frames, count, python, bytes);
  if (found.id == 0 && !reported_full_.exchange(true)) {
    writer.note("the table of call stacks is full: further stacks are unknown");
  }
  errno = saved;
  return found.id;
}

void CallStacks::write(ProfileWriter& writer, std::uint64_t id, void* const* frames, std::size_t count,
                       const char* python_text, std::size_t python_bytes) {
  look_for_python();
  // Too large for a thread's stack. New stacks are rare, so a system call is affordable.
  const std::size_t capacity = ProfileWriter::kMaxStackBytes;
  void* const memory = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return writer.stack(id, "", 0);
  auto* const buffer = static_cast<char*>(memory);
  std::memcpy(buffer, python_text, python_bytes);
  StackText text(buffer + python_bytes, capacity - python_bytes);
  std::size_t first = 0;
  while (first < count && own_base() != nullptr && base_address(frames[first]) == own_base()) ++first;
  for (std::size_t i = first; i < count && !text.is_full(); ++i) add_native(text, frames[i]);
  if (count == kMaxFrames) text.field("R").field("deeper than is recorded").end_line();
  writer.stack(id, buffer, python_bytes + text.bytes());
  munmap(memory, capacity);
}

}  // namespace peakmark
