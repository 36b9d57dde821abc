#pragma once

#include <string>
#include <vector>

namespace peakmark {

/// Words as exec takes them: pointers into them, and a null behind.
inline std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace peakmark
