// The message builder: lengths, padding, limits.
#include "netlink/message.h"

#include <fcntl.h>

#include "base/error.h"
#include "netlink/attributes.h"
#include "test/check.h"

using namespace trellis;
using namespace trellis::netlink;

namespace {

struct Odd {
  uint8_t bytes[5];
};

Bytes BytesOf(const Batch& batch) { return {batch.data(), batch.size()}; }

}  // namespace

TEST("messages, headers and attributes are padded, and lengths leave padding out of attributes") {
  Batch batch;
  batch.Begin(20, NLM_F_ACK, 7);
  batch.Header(Odd{{1, 2, 3, 4, 5}});
  batch.PutValue<uint8_t>(1, 9);
  batch.PutString(2, "abcd");
  batch.PutFlag(3);
  batch.End();
  CHECK_EQUAL(batch.size(), 16u + 8 + 8 + 12 + 4);
  CHECK_EQUAL(batch.At(0)->nlmsg_len, batch.size());
  CHECK_EQUAL(batch.At(0)->nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
  CHECK_EQUAL(batch.messages()[0].owner, 7u);
  ForEachMessage(BytesOf(batch), [](const MessageView& message) {
    std::vector<std::pair<int, size_t>> seen;
    ForEachAttribute(message.Attributes<Odd>(),
                     [&](const Attribute& attribute) { seen.emplace_back(attribute.type, attribute.data.size()); });
    CHECK(seen == std::vector<std::pair<int, size_t>>{{1, 1}, {2, 5}, {3, 0}});
    CHECK_EQUAL(ReadString(AttributeTable(message.Attributes<Odd>()).Get(2)), "abcd");
  });
  for (const size_t at : {21, 22, 23, 29, 30, 31}) CHECK_EQUAL(batch.data()[at], 0);  // no byte of padding is left unset
}

TEST("an attribute holds at most 65531 bytes") {
  const std::string longest(65531, 'x');
  Batch batch;
  batch.Begin(20, 0);
  batch.Put(1, longest.data(), longest.size());
  batch.End();
  ForEachMessage(BytesOf(batch),
                 [&](const MessageView& message) { CHECK_EQUAL(AttributeTable(message.payload).Get(1).size(), longest.size()); });
  CHECK_THROWS(InputError, "65532 bytes is longer than netlink can carry",
               batch.Put(1, (longest + "x").data(), longest.size() + 1));
  CHECK_THROWS(InputError, "longer than netlink can carry", batch.PutString(1, longest));
  CHECK_THROWS(InputError, "NUL", batch.PutString(1, std::string_view("a\0b", 3)));
}

TEST("nested attributes know their length and their limit") {
  Batch batch;
  batch.Begin(20, 0);
  const size_t outer = batch.BeginNest(1);
  const size_t inner = batch.BeginNest(2, 0);
  batch.PutValue<uint32_t>(3, 42);
  CHECK_EQUAL(batch.NestSize(inner), 12u);
  batch.EndNest(inner);
  batch.EndNest(outer);
  batch.End();
  const auto* header = reinterpret_cast<const nlattr*>(batch.data() + outer);
  CHECK_EQUAL(header->nla_type, 1 | NLA_F_NESTED);
  CHECK_EQUAL(header->nla_len, 16);
  const AttributeTable table(BytesOf(batch).subspan(16));
  CHECK_EQUAL(ReadValue<uint32_t>(AttributeTable(AttributeTable(table.Get(1)).Get(2)).Get(3)), 42u);

  batch.Begin(20, 0);
  const size_t nest = batch.BeginNest(1);
  for (int i = 0; i < 8191; ++i) batch.PutValue<uint32_t>(1, 0);
  batch.EndNest(nest);
  batch.PutValue<uint32_t>(1, 0);
  CHECK_THROWS(InputError, "nested attribute of 65540 bytes is too long", batch.EndNest(nest));
}

TEST("an abandoned message leaves nothing") {
  Batch batch;
  batch.Begin(20, 0, 1);
  batch.PutString(1, "kept");
  batch.End();
  const size_t size = batch.size();
  batch.Begin(21, 0, 2);
  batch.PutString(1, "gone");
  batch.Abandon();
  CHECK_EQUAL(batch.size(), size);
  CHECK_EQUAL(batch.messages().size(), 1u);
}

TEST("a kept descriptor lives until the batch is cleared") {
  Batch batch;
  const int fd = batch.Keep(Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)));
  CHECK(fcntl(fd, F_GETFD) != -1);
  batch.Clear();
  CHECK(fcntl(fd, F_GETFD) == -1);
  CHECK(batch.empty() && batch.size() == 0);
}
