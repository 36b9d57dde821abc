#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace peakmark {

/// A short number for long texts, the same in every build (std::hash is not): FNV-1a, 64 bits,
/// http://www.isthe.com/chongo/tech/comp/fnv/. Not for secrets.
class Fingerprint {
 public:
  /// "ab" and "c" are not "a" and "bc".
  void add(std::string_view text) {
    add_part(text);
    add_byte(0);
  }
  /// Adds a part of a text that a call of add() ends: add_part("a") and add("bc") are add("abc").
  void add_part(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
  }
  [[nodiscard]] std::uint64_t number() const { return hash_; }
  /// 16 hexadecimal digits.
  [[nodiscard]] std::string text() const;

 private:
  void add_byte(std::uint64_t byte) { hash_ = (hash_ ^ byte) * 0x100000001b3; }
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace peakmark
