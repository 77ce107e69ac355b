// Owners of resources: descriptors and undo steps; and the two errors.
#include <fcntl.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/guard.h"
#include "test/check.h"

using namespace trellis;

namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) != -1; }

}  // namespace

TEST("a descriptor is closed when its owner goes") {
  int number = -1;
  {
    const Fd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = fd.get();
    CHECK(IsOpen(number));
  }
  CHECK(!IsOpen(number));
}

TEST("a moved descriptor has one owner") {
  Fd first(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  Fd second(std::move(first));
  CHECK(!first);  // NOLINT: being empty after a move is what is promised
  CHECK_EQUAL(second.get(), number);
  second = Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK(second.get() != number || IsOpen(number));
  Fd& itself = second;
  second = std::move(itself);
  CHECK(IsOpen(second.get()));
  const int last = second.get();
  second.Close();
  second.Close();
  CHECK(!second && !IsOpen(last));
}

TEST("a guard runs its step once unless it was dismissed") {
  int runs = 0;
  {
    const Guard guard([&] { ++runs; });
  }
  CHECK_EQUAL(runs, 1);
  {
    Guard guard([&] { ++runs; });
    guard.Dismiss();
  }
  CHECK_EQUAL(runs, 1);
  try {
    const Guard guard([&] { ++runs; });
    throw InputError("half way");
  } catch (const InputError&) {
  }
  CHECK_EQUAL(runs, 2);
}

TEST("an error of the kernel has a name, a sentence and its operation") {
  const KernelError error(17, "add link eth0", "it is there already");
  CHECK_EQUAL(std::string(error.what()), "add link eth0: File exists (it is there already)");
  CHECK_EQUAL(error.operation(), "add link eth0");
  CHECK_EQUAL(ErrorName(17), "EEXIST");
  CHECK_EQUAL(ErrorName(4097), "IPSET_ERR_PROTOCOL");
  CHECK_EQUAL(ErrorName(4352 + 256), "IPSET_ERR_BITMAP_RANGE");
  CHECK_EQUAL(ErrorName(4200), "IPSET_ERR_4200");
  CHECK_EQUAL(ErrorName(2000), "ERRNO2000");
  CHECK_EQUAL(std::string(KernelError(4100, "delete set a").what()),
              "delete set a: the set is in use by a rule or by a set of type list:set");
}
