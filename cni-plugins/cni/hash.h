// A short mark of a long text, for names that have no room for all of it.
// Guarantees: pure; the same everywhere, so that a later version finds what this one wrote.
#pragma once
#include <cstdint>
#include <string_view>

namespace trellis::cni {

// FNV-1a.
constexpr uint64_t Hash(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace trellis::cni
