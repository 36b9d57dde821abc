#include "record/recorders/nvtx.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "record/recorders/open_ranges.hpp"
#include "record/recorders/report_error.hpp"

namespace peakmark {
namespace {

using nvtx::Attributes;

std::atomic<std::uint64_t> last_range{0};
std::atomic<std::uintptr_t> last_domain{0};

/// Converts wide characters to UTF-8, truncated to the buffer.
class Narrow {
 public:
  explicit Narrow(const wchar_t* text) {
    std::size_t end = 0;
    for (; text != nullptr && *text != L'\0' && end + 5 < sizeof(text_); ++text) {
      const std::uint32_t code = std::char_traits<wchar_t>::to_int_type(*text);
      if (code < 0x80) {
        text_[end++] = static_cast<char>(code);
      } else if (code < 0x800) {
        text_[end++] = static_cast<char>(0xc0 | (code >> 6));
        text_[end++] = static_cast<char>(0x80 | (code & 0x3f));
      } else if (code < 0x10000) {
        text_[end++] = static_cast<char>(0xe0 | (code >> 12));
        text_[end++] = static_cast<char>(0x80 | ((code >> 6) & 0x3f));
        text_[end++] = static_cast<char>(0x80 | (code & 0x3f));
      } else {
        text_[end++] = static_cast<char>(0xf0 | ((code >> 18) & 0x07));
        text_[end++] = static_cast<char>(0x80 | ((code >> 12) & 0x3f));
        text_[end++] = static_cast<char>(0x80 | ((code >> 6) & 0x3f));
        text_[end++] = static_cast<char>(0x80 | (code & 0x3f));
      }
    }
    text_[end] = '\0';
  }
  [[nodiscard]] const char* text() const { return text_; }

 private:
  char text_[OpenRanges::kMaxName];
};

/// PEAKMARK_RANGES=words: otherwise ranges of libraries would split a call into parts.
std::atomic<bool> only_words{false};

/// The phases that are used to measure the program of a suite.
constexpr const char* kWords[] = {"setup", "inputs", "outputs", "call", "end"};

bool is_word(const char* name) {
  for (const char* const word : kWords) {
    if (std::strcmp(name, word) == 0) return true;
  }
  return false;
}

bool is_same_letter(char a, char b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return lower(a) == lower(b);
}

/// Returns true if the names differ only in case and in at most one letter that is different, added or
/// missing.
bool is_almost(const char* name, const char* word) {
  const char* name_end = name + std::strlen(name);
  const char* word_end = word + std::strlen(word);
  for (; name != name_end && word != word_end && is_same_letter(*name, *word); ++name) ++word;
  while (name != name_end && word != word_end && is_same_letter(name_end[-1], word_end[-1])) {
    --name_end;
    --word_end;
  }
  return name_end - name <= 1 && word_end - word <= 1;
}

/// Reports at most 8 names, without duplicates.
void report_if_misspelt(const char* name) {
  static std::atomic<std::uint64_t> reported[8];
  bool is_misspelt = false;
  for (const char* const word : kWords) is_misspelt = is_misspelt || is_almost(name, word);
  if (!is_misspelt) return;
  std::uint64_t letters = 0;  // the longest phase has 7 letters, so a misspelt name has at most 8
  std::memcpy(&letters, name, std::min(std::strlen(name), sizeof(letters)));
  for (std::atomic<std::uint64_t>& one : reported) {
    std::uint64_t there = 0;
    if (one.compare_exchange_strong(there, letters)) {
      char text[sizeof(letters) + 1];
      std::snprintf(text, sizeof(text), "%.8s", name);
      return report_error(text, RecorderErrorKind::range_left_out);
    }
    if (there == letters) return;
  }
}

std::uint64_t begin(const char* name) {
  const std::uint64_t id = ++last_range;
  if (only_words && (name == nullptr || !is_word(name))) {
    if (name != nullptr) report_if_misspelt(name);
    return id;  // ending it has no effect
  }
  open_ranges().begin(id, name == nullptr || *name == '\0' ? "(unnamed range)" : name);
  return id;
}

std::uint64_t begin(const Attributes* attributes) {
  if (attributes == nullptr || attributes->bytes < sizeof(Attributes)) return begin("");
  switch (attributes->message_type) {
    case nvtx::ascii:
    case nvtx::registered:  // its handle is a pointer to the text, see register_string_a
      return begin(static_cast<const char*>(attributes->message));
    case nvtx::unicode:
      return begin(Narrow(static_cast<const wchar_t*>(attributes->message)).text());
    default:
      return begin("");
  }
}

/// The ranges that this thread has pushed and not popped. A pop ends the most recent range of its own domain.
class Pushed {
 public:
  /// Returns the nesting level, as NVTX counts it.
  int push(const void* domain, std::uint64_t id) {
    const int level = levels(domain);
    if (count_ < kMaxPushed) {
      ranges_[count_] = {domain, id};
    } else {
      open_ranges().end(id);  // its pop could not be matched
    }
    ++count_;
    return level;
  }
  int pop(const void* domain) {
    if (count_ > kMaxPushed) return static_cast<int>(--count_);  // a range that was not stored
    std::size_t at = count_;
    while (at > 0 && ranges_[at - 1].domain != domain) --at;
    if (at == 0) return -1;
    open_ranges().end(ranges_[at - 1].id);
    std::memmove(&ranges_[at - 1], &ranges_[at], (count_ - at) * sizeof(Range));
    --count_;
    return levels(domain);
  }

 private:
  struct Range {
    const void* domain;
    std::uint64_t id;
  };
  static constexpr std::size_t kMaxPushed = 64;

  [[nodiscard]] int levels(const void* domain) const {
    int levels = 0;
    for (std::size_t i = 0; i < count_ && i < kMaxPushed; ++i) levels += ranges_[i].domain == domain ? 1 : 0;
    return levels;
  }

  std::size_t count_ = 0;
  Range ranges_[kMaxPushed] = {};
};
thread_local constinit Pushed pushed;

std::uint64_t range_start_ex(const Attributes* attributes) {
  return begin(attributes);
}
std::uint64_t range_start_a(const char* name) {
  return begin(name);
}
std::uint64_t range_start_w(const wchar_t* name) {
  return begin(Narrow(name).text());
}
void range_end(std::uint64_t id) {
  open_ranges().end(id);
}
int range_push_ex(const Attributes* attributes) {
  return pushed.push(nullptr, begin(attributes));
}
int range_push_a(const char* name) {
  return pushed.push(nullptr, begin(name));
}
int range_push_w(const wchar_t* name) {
  return pushed.push(nullptr, begin(Narrow(name).text()));
}
int range_pop() {
  return pushed.pop(nullptr);
}

std::uint64_t domain_range_start_ex(void* /*domain*/, const Attributes* attributes) {
  return begin(attributes);
}
void domain_range_end(void* /*domain*/, std::uint64_t id) {
  open_ranges().end(id);
}
int domain_range_push_ex(void* domain, const Attributes* attributes) {
  return pushed.push(domain, begin(attributes));
}
int domain_range_pop(void* domain) {
  return pushed.pop(domain);
}
/// A text that a program registered. It is never freed: programs register only a few texts, and NVTX expects
/// tools to keep them. The list keeps it reachable, or LeakSanitizer would report a leak of the program.
struct RegisteredText {
  char* text;
  RegisteredText* next;
};
std::atomic<RegisteredText*> registered_texts = nullptr;

/// Returns a handle: a copy of the text.
void* register_string(const char* text) {
  auto* const one = new (std::nothrow) RegisteredText{strdup(text), registered_texts.load()};
  if (one == nullptr) return nullptr;
  while (!registered_texts.compare_exchange_weak(one->next, one)) {
  }
  return one->text;
}
void* register_string_a(void* /*domain*/, const char* text) {
  return register_string(text == nullptr ? "" : text);
}
void* register_string_w(void* /*domain*/, const wchar_t* text) {
  return register_string(Narrow(text).text());
}
/// A domain is only a unique number, because only pops distinguish domains.
template <typename Character>
void* create_domain(const Character* /*name*/) {
  return reinterpret_cast<void*>(++last_domain);
}

template <typename Call>
void hook(nvtx::Function** table, unsigned size, unsigned number, Call* call) {
  if (number < size && table[number] != nullptr) *table[number] = reinterpret_cast<nvtx::Function>(call);
}

std::atomic<bool> is_leading{false};

void begin_here(std::uint64_t id, const char* name) {
  open_ranges().begin(id, name);
}
void end_here(std::uint64_t id) {
  open_ranges().end(id);
}

/// Returns the library of the other recorder; null if it is not loaded.
void* other_recorder(const void* this_recorder) {
  Dl_info info{};
  if (dladdr(this_recorder, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  if (slash == nullptr) return nullptr;
  const bool is_opencl = std::strstr(slash, "peakmark-opencl") != nullptr;
  char path[4096];
  const int length =
      std::snprintf(path, sizeof(path), "%.*s/libpeakmark-%s.so", static_cast<int>(slash - info.dli_fname),
                    info.dli_fname, is_opencl ? "cupti" : "opencl");
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof(path)) return nullptr;
  return dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
}

}  // namespace

int hook_nvtx(nvtx::ExportTable export_table) {
  const char* const which = std::getenv("PEAKMARK_RANGES");
  only_words = which != nullptr && std::strcmp(which, "words") == 0;
  const auto* const callbacks =
      export_table == nullptr ? nullptr : static_cast<const nvtx::Callbacks*>(export_table(nvtx::kCallbacks));
  if (callbacks == nullptr || callbacks->struct_bytes < sizeof(nvtx::Callbacks)) return 0;
  nvtx::Function** table = nullptr;
  unsigned size = 0;
  if (callbacks->function_table(nvtx::kCore, &table, &size) == 0 || table == nullptr) return 0;
  hook(table, size, nvtx::range_start_ex, range_start_ex);
  hook(table, size, nvtx::range_start_a, range_start_a);
  hook(table, size, nvtx::range_start_w, range_start_w);
  hook(table, size, nvtx::range_end, range_end);
  hook(table, size, nvtx::range_push_ex, range_push_ex);
  hook(table, size, nvtx::range_push_a, range_push_a);
  hook(table, size, nvtx::range_push_w, range_push_w);
  hook(table, size, nvtx::range_pop, range_pop);
  if (callbacks->function_table(nvtx::kDomains, &table, &size) == 0 || table == nullptr) return 1;
  hook(table, size, nvtx::domain_range_start_ex, domain_range_start_ex);
  hook(table, size, nvtx::domain_range_end, domain_range_end);
  hook(table, size, nvtx::domain_range_push_ex, domain_range_push_ex);
  hook(table, size, nvtx::domain_range_pop, domain_range_pop);
  hook(table, size, nvtx::domain_register_string_a, register_string_a);
  hook(table, size, nvtx::domain_register_string_w, register_string_w);
  hook(table, size, nvtx::domain_create_a, create_domain<char>);
  hook(table, size, nvtx::domain_create_w, create_domain<wchar_t>);
  return 1;
}

int start_from_nvtx(nvtx::ExportTable export_table, const void* this_recorder) {
  is_leading = true;
  if (void* const other = other_recorder(this_recorder)) {
    const auto follow = reinterpret_cast<void (*)()>(dlsym(other, kFollowSymbol));
    if (follow != nullptr) follow();
  }
  return hook_nvtx(export_table);
}

void forward_ranges(OpenRanges::Begin begin, OpenRanges::End end) {
  // Only the recorder that NVTX has loaded forwards: two that forward to each other would never stop.
  if (is_leading) open_ranges().forward_to(begin, end);
}

void request_ranges(const void* this_recorder) {
  void* const other = other_recorder(this_recorder);
  if (other == nullptr) return;
  const auto forward_to_us =
      reinterpret_cast<void (*)(OpenRanges::Begin, OpenRanges::End)>(dlsym(other, kLeadSymbol));
  if (forward_to_us != nullptr) forward_to_us(begin_here, end_here);
}

}  // namespace peakmark
