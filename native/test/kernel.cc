// Sockets and the route family against the real kernel, each test in a namespace of its own.
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "base/guard.h"
#include "netlink/route/family.h"
#include "netlink/route/monitor.h"
#include "session/channel.h"
#include "test/item.h"
#include "test/netns.h"

using namespace trellis;
using namespace trellis::netlink;
using test::ThrowAwayNetNs;

namespace {

class Kernel {
 public:
  explicit Kernel(const ThrowAwayNetNs& made) : channel_("route", {made.path(), 0}) {}

  // The refused requests as JSON, "[]" when all was done.
  std::string Apply(const std::string& requests) { return channel_.Apply({requests}); }
  size_t Count(const std::string& query) {
    size_t count = 0;
    for (const auto& chunk : channel_.Query(query)) count += json::Document(chunk).root().items().size();
    return count;
  }

 private:
  Channel channel_;
};

std::string RouteNumber(int i) {
  return "10." + std::to_string(i >> 16 & 255) + "." + std::to_string(i >> 8 & 255) + "." + std::to_string(i & 255) + "/32";
}

// {"do":..., "kind":"route"} for numbers from..to-1, into the blackhole, which needs no link.
std::string Routes(const std::string& verb, int from, int to) {
  std::string list = "[";
  for (int i = from; i < to; ++i)
    list += (i > from ? ",{\"do\":\"" : "{\"do\":\"") + verb +
            R"(","kind":"route","type":"blackhole","table":77,"destination":")" + RouteNumber(i) + "\"}";
  return list + "]";
}

}  // namespace

TEST("ten thousand routes are added, listed and deleted") {
  const ThrowAwayNetNs made;
  Kernel kernel(made);
  CHECK_EQUAL(kernel.Apply(Routes("add", 0, 10'000)), "[]");
  CHECK_EQUAL(kernel.Count(R"({"kind":"route","family":"inet","table":77})"), 10'000u);
  CHECK_EQUAL(kernel.Apply(Routes("delete", 0, 10'000)), "[]");
  CHECK_EQUAL(kernel.Count(R"({"kind":"route","family":"inet","table":77})"), 0u);
}

TEST("every refusal names its own request, and the others are done") {
  const ThrowAwayNetNs made;
  Kernel kernel(made);
  CHECK_EQUAL(kernel.Apply(Routes("add", 1000, 2000)), "[]");
  const json::Document refusals(kernel.Apply(Routes("add", 0, 10'000)));
  CHECK_EQUAL(refusals.root().items().size(), 1000u);
  for (size_t i = 0; i < 1000; ++i) {
    CHECK_EQUAL(test::ItemOf(refusals.root(), i).Find("index")->integer(), static_cast<int64_t>(1000 + i));
    CHECK_EQUAL(test::ItemOf(refusals.root(), i).Find("code")->string(), "EEXIST");
  }
  CHECK_EQUAL(kernel.Count(R"({"kind":"route","family":"inet","table":77})"), 10'000u);
}

TEST("ten thousand refusals in one batch all come back") {
  const ThrowAwayNetNs made;
  Kernel kernel(made);
  CHECK_EQUAL(json::Document(kernel.Apply(Routes("delete", 0, 10'000))).root().items().size(), 10'000u);
}

TEST("a refusal carries the kernel's own text") {
  const ThrowAwayNetNs made;
  Kernel kernel(made);
  const json::Document refusals(
      kernel.Apply(R"([{"do":"add","kind":"route","destination":"10.0.0.0/8","gateway":"192.0.2.1"}])"));
  CHECK_EQUAL(test::ItemOf(refusals.root(), 0).Find("code")->string(), "ENETUNREACH");
  CHECK_EQUAL(test::ItemOf(refusals.root(), 0).Find("kernel")->string(), "Nexthop has invalid gateway");
}

TEST("a wrong request is found before anything of its batch is sent") {
  const ThrowAwayNetNs made;
  Kernel kernel(made);
  CHECK_THROWS(
      RequestError, "unknown field 'x'",
      kernel.Apply(
          R"([{"do":"add","kind":"link","name":"a","type":"ifb"},{"do":"add","kind":"link","name":"b","type":"ifb","x":1}])"));
  CHECK_EQUAL(kernel.Count(R"({"kind":"link","name":"a"})"), 0u);
  CHECK_THROWS(InputError, "requests come as a list", kernel.Apply("{}"));
  CHECK_THROWS(RequestError, "must be an object", kernel.Apply("[1]"));
  CHECK_THROWS(json::ParseError, "line 1, column 2", kernel.Apply("["));
}

TEST("a list taken while the table changes is whole") {
  const ThrowAwayNetNs made;
  Kernel kernel(made);
  constexpr size_t kSteady = 3000;
  CHECK_EQUAL(kernel.Apply(Routes("add", 0, kSteady)), "[]");
  std::atomic<bool> stop = false;
  std::thread changer([&] {
    Kernel other(made);
    while (!stop) {
      other.Apply(Routes("add", 100'000, 100'020));
      other.Apply(Routes("delete", 100'000, 100'020));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  const Guard join([&] {
    stop = true;
    changer.join();
  });
  int whole = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      const size_t count = kernel.Count(R"({"kind":"route","family":"inet","table":77})");
      CHECK(count >= kSteady && count <= kSteady + 20);
      ++whole;
    } catch (const KernelError& error) {
      CHECK_EQUAL(error.error(), EAGAIN);  // changed faster than it could be read, twenty times over: said, not hidden
    }
  }
  CHECK(whole > 0);
}

TEST("links made in a batch can be named later in it, and their failures stand at their own index") {
  const ThrowAwayNetNs made;
  Kernel kernel(made);
  CHECK_EQUAL(kernel.Apply(R"([{"do":"add","kind":"link","name":"a","peer":{"name":"b"}},
    {"do":"add","kind":"address","dev":"b","address":"10.0.0.1/24"},{"do":"change","kind":"link","name":"a","newName":"c"},
    {"do":"change","kind":"link","name":"c","up":true},{"do":"delete","kind":"link","name":"gone","missingOk":true}])"),
              "[]");
  const json::Document refusals(kernel.Apply(
      R"([{"do":"delete","kind":"link","name":"c"},{"do":"add","kind":"address","dev":"b","address":"10.0.0.2/24"}])"));
  CHECK_EQUAL(refusals.root().items().size(), 1u);
  CHECK_EQUAL(test::ItemOf(refusals.root(), 0).Find("index")->integer(), 1);
  CHECK_EQUAL(test::ItemOf(refusals.root(), 0).Find("code")->string(), "ENODEV");
}

TEST("a batch that names more namespaces than there are descriptors is done all the same") {
  const ThrowAwayNetNs made;
  Kernel kernel(made);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{256, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  const Guard restore([&] { setrlimit(RLIMIT_NOFILE, &before); });
  std::string list = "[";
  for (int i = 0; i < 400; ++i)
    list += std::string(i > 0 ? "," : "") + R"({"do":"change","kind":"link","name":"nosuch","netns":")" + made.path() + "\"}";
  const json::Document refusals(kernel.Apply(list + "]"));
  CHECK_EQUAL(refusals.root().items().size(), 400u);
  for (const auto& refusal : refusals.root().items()) CHECK_EQUAL(refusal.Find("code")->string(), "ENODEV");
}

TEST("a monitor tells changes in order and ends when told") {
  const ThrowAwayNetNs made;
  Kernel kernel(made);
  std::mutex mutex;
  std::string seen;
  Monitor monitor(made.ns(), RouteEvents({"link", "address", "route", "rule", "neighbour"}), [&](std::string events) {
    const std::lock_guard lock(mutex);
    seen += events;
  });
  CHECK_EQUAL(kernel.Apply(Routes("add", 0, 1)), "[]");
  CHECK_EQUAL(kernel.Apply(Routes("delete", 0, 1)), "[]");
  size_t gone = std::string::npos;
  for (int i = 0; i < 500 && gone == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::lock_guard lock(mutex);
    gone = seen.find(R"("event":"delete")");
  }
  monitor.Stop();
  monitor.Stop();
  CHECK(gone != std::string::npos && seen.find(R"("event":"new")") < gone);
  CHECK_THROWS(InputError, "no events of kind 'weather'", Monitor(made.ns(), RouteEvents({"weather"}), [](std::string) {}));
}

TEST("channels opened and closed leave no descriptor and no thread") {
  const ThrowAwayNetNs made;
  const auto entries = [](const char* folder) { return std::distance(std::filesystem::directory_iterator(folder), {}); };
  { Kernel warm(made); }
  const auto descriptors = entries("/proc/self/fd");
  const auto threads = entries("/proc/self/task");
  for (int i = 0; i < 200; ++i) {
    Kernel kernel(made);
    CHECK_EQUAL(kernel.Count(R"({"kind":"link"})"), kernel.Count(R"({"kind":"link","family":"inet"})"));
  }
  for (int i = 0; i < 20; ++i) Monitor(made.ns(), RouteEvents({"link"}), [](std::string) {});
  CHECK_EQUAL(entries("/proc/self/fd"), descriptors);
  CHECK_EQUAL(entries("/proc/self/task"), threads);
}

TEST("a channel outlives the pin of its namespace") {
  auto made = std::make_unique<ThrowAwayNetNs>();
  Kernel kernel(*made);
  made.reset();
  CHECK(kernel.Count(R"({"kind":"link"})") > 0);
}

TEST("a socket that cannot be opened in another namespace says why") {
  const ThrowAwayNetNs made;
  CHECK_THROWS(KernelError, "Protocol not supported", Socket(31, NetNs::OpenPath(made.path())));
}

TEST("a link's name is no pattern for the kernel to fill in") {
  const ThrowAwayNetNs made;
  Kernel kernel(made);
  CHECK_THROWS(RequestError, "percent sign", kernel.Apply(R"([{"do":"add","kind":"link","type":"bridge","name":"br%d"}])"));
  CHECK_EQUAL(kernel.Count(R"({"kind":"link"})"), 1u);
}
