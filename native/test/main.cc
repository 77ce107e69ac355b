// Runs the native unit tests: all, or those whose name holds the word given.
// Guarantees: exit code 1 when one failed or none ran, and a last line with the counts that scripts/lib/reports.mjs reads.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "test/check.h"

namespace trellis::test {

std::vector<Case>& Cases() {
  static std::vector<Case> cases;
  return cases;
}

void NeedRoot() {
  if (geteuid() == 0) return;
  if (getenv("CI") != nullptr) throw Failed("needs root, and CI allows no skipping");
  throw Skipped("needs root");
}

}  // namespace trellis::test

int main(int count, char** arguments) {
  using namespace trellis::test;
  const std::string word = count > 1 ? arguments[1] : "";
  int passed = 0, failed = 0, skipped = 0;
  for (const Case& one : Cases()) {
    if (one.name.find(word) == std::string::npos) continue;
    // Told before it runs, so that a sanitizer's report stands below the name of its test.
    printf("  %s", one.name.c_str());
    fflush(stdout);
    try {
      one.body();
      ++passed;
      printf("\n");
    } catch (const Skipped& reason) {
      ++skipped;
      printf(": skipped, %s\n", reason.what());
    } catch (const std::exception& error) {
      ++failed;
      printf(": FAILED\n    %s\n", error.what());
    }
  }
  const bool none = passed + failed + skipped == 0;
  if (none) printf("no test has '%s' in its name\n", word.c_str());
  printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  fflush(stdout);  // a leak found at the end closes the process at once
  return failed == 0 && !none ? 0 : 1;
}
