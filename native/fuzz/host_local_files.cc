// The files of host-local, which the reference plugin, or a crash, may have written.
// Property: whatever they hold, an address can be reserved and given back.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fuzz/cni.h"
#include "host-local/store.h"

namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/trellis-fuzz-XXXXXX";
    path = mkdtemp(name);
    std::filesystem::create_directory(path + "/net");
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

}  // namespace

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::cni;
  static const Folder folder;
  for (const char* name : {"10.0.0.1", "last_reserved_ip.0", "boot_id"})
    std::ofstream(folder.path + "/net/" + name, std::ios::trunc) << fuzz::TextOf(input);
  cni::Reads([&] {
    Store store(folder.path, "net");
    store.Last(0);
    const Holder holder{"c1", "eth0"};
    store.Find(holder);
    const auto address = IpAddress::Parse("10.0.0.2");
    MUST(store.Reserve(*address, holder));
    MUST(store.Find(holder, {*address}).size() == 1);
    store.SetLast(0, *address);
    MUST(store.Last(0) == *address);
    store.Release(*address);
    store.Keep({});
  });
}
