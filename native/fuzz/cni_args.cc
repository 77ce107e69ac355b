// CNI_ARGS, as a runtime passes them, and the name of an interface.
// Property: what is accepted is the list again when it is written down.
#include "cni/environment.h"
#include "fuzz/cni.h"

FUZZ_TARGET {
  using namespace trellis;
  const std::string text(fuzz::TextOf(input));
  cni::Reads([&] {
    std::string again;
    for (const auto& [name, value] : cni::ParseArguments(text)) {
      MUST(name.find_first_of("=;") == std::string::npos && value.find(';') == std::string::npos);
      again += name + "=" + value + ";";
    }
    MUST(cni::ParseArguments(again) == cni::ParseArguments(text));
  });
  cni::Reads([&] {
    cni::CheckInterfaceName(text);
    MUST(text.size() < 16 && text.find_first_of("/:% \n") == std::string::npos);
  });
}
