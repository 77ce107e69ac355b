// Makes a unit test of a fuzz target: every seed and every input that once failed.
// Guarantees: a target without seeds is a failed test, so that a misnamed folder does not go unseen.
#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/ip.h"
#include "test/check.h"

namespace trellis::fuzz {

inline std::vector<std::filesystem::path> FilesIn(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  if (!std::filesystem::is_directory(directory)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

inline bool RegisterReplay(const char* source, const std::filesystem::path& directory, void (*target)(Bytes)) {
  const std::string name = std::filesystem::path(source).stem();
  return test::Register("fuzz target " + name + " takes its seeds and its old failures", [=] {
    const auto seeds = FilesIn(directory / "corpus" / name);
    CHECK(!seeds.empty());
    auto files = FilesIn(directory / "regressions" / name);
    files.insert(files.end(), seeds.begin(), seeds.end());
    for (const auto& file : files) {
      std::ifstream stream(file, std::ios::binary);
      // A vector of exactly this size, so that a read past its end is one past an allocation.
      const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
      try {
        target({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
      } catch (const std::exception& error) {
        test::Fail(source, 0, file.string() + ": " + error.what());
      }
    }
  });
}

}  // namespace trellis::fuzz
