// Sends checked requests in order, entries many to a message as `ipset restore` does.
// Guarantees: an entry that the kernel refuses keeps no other from being tried, and later requests see all of them done.
#pragma once
#include <vector>

#include "netlink/ipset/request.h"
#include "netlink/socket.h"
#include "session/family.h"

namespace trellis::netlink {

class SetRun {
 public:
  SetRun(Socket& socket, uint8_t protocol) : socket_(socket), protocol_(protocol) {}
  // The request must live until Finish().
  void Do(SetRequest& request, size_t index);
  std::vector<Refusal> Finish();

 private:
  // One entry of one request; without an entry the request itself.
  struct Item {
    const SetRequest* request;
    size_t index;
    Opt<size_t> entry;
  };

  void Stage(const Item& item);
  void SendStaged();
  void PutOne(const Item& item);
  void PutMany();
  void PutSet(SetRequest& request, size_t index);
  void Flush();
  void Refuse(const Item& item, int error, std::string text);
  bool Joins(const SetRequest& request) const;

  Socket& socket_;
  uint8_t protocol_;
  Batch batch_;
  std::vector<Item> owners_;  // by the number that messages of batch_ carry
  std::vector<Item> staged_;  // entries for one message: same set, verb and flags
  size_t stagedSize_ = 0;
  std::vector<Refusal> refusals_;
};

}  // namespace trellis::netlink
