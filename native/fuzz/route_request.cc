// Requests from JSON to messages, link names resolved to a fixed index.
// Property: an accepted request says the same after JSON again, and its messages are whole and can be decoded.
#include "fuzz/fuzz.h"
#include "test/encode_route.h"

namespace trellis::netlink {

namespace {

std::string TextOf(RouteRequest& request, std::string_view kind) {
  json::Writer to;
  to.BeginObject();
  to.Key("do");
  to.String(*WordOf(kVerbs, static_cast<uint32_t>(request.verb)));
  to.Key("kind");
  to.String(kind);
  ToJson visitor(to);
  std::visit([&](auto& object) { object.Describe(visitor); }, request.object);
  to.EndObject();
  return to.Take();
}

// Any path may be asked for; only this one is safe to open here.
void UseOwnNamespace(Opt<NetNsRef>& netns) {
  if (netns && !netns->path.empty()) netns->path = "/proc/self/ns/net";
}

void Encode(RouteRequest& request, Batch& batch) {
  if (auto* link = std::get_if<Link>(&request.object)) {
    UseOwnNamespace(link->netns);
    if (link->peer) UseOwnNamespace(link->peer->netns);
    if (link->newName && !link->index) link->index = 7;
  }
  EncodeRoute(request, batch);
}

void CheckMessages(const Batch& batch) {
  size_t count = 0;
  ForEachMessage({batch.data(), batch.size()}, [&](const MessageView& message) {
    MUST(message.header.nlmsg_flags & NLM_F_REQUEST);
    json::Writer to;
    MUST(WriteRouteObject(message, to));
    json::Document(to.Take());
    ++count;
  });
  MUST(count == batch.messages().size());
}

}  // namespace

}  // namespace trellis::netlink

FUZZ_TARGET {
  using namespace trellis;
  using namespace trellis::netlink;
  fuzz::AcceptsObject(input, [&](const json::Value& root) {
    RouteRequest request = RouteRequest::Read(root);
    // From here on nothing may be refused: a batch is checked whole before its first message is sent.
    try {
      const std::string kind(root.Find("kind")->string());
      const std::string text = TextOf(request, kind);
      const json::Document written(text);
      RouteRequest again = RouteRequest::Read(written.root());
      MUST(TextOf(again, kind) == text);
      Batch batch;
      Encode(request, batch);
      CheckMessages(batch);
    } catch (const std::exception& error) {
      fprintf(stderr, "an accepted request was refused later: %s\n", error.what());
      abort();
    }
  });
}
