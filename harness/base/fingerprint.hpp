#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace peakmark {

/// A 64-bit hash of texts, equal in every build (unlike std::hash): FNV-1a,
/// http://www.isthe.com/chongo/tech/comp/fnv/. Not for secrets.
class Fingerprint {
 public:
  /// Adds a text and its end: "ab", "c" differs from "a", "bc".
  void add(std::string_view text) {
    add_part(text);
    add_byte(0);
  }
  /// Adds part of a text that add() ends: add_part("a"), add("bc") equals add("abc").
  void add_part(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
  }
  [[nodiscard]] std::uint64_t number() const { return hash_; }
  /// Returns 16 hexadecimal digits.
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  void add_byte(std::uint64_t byte) { hash_ = (hash_ ^ byte) * 0x100000001b3; }
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace peakmark
