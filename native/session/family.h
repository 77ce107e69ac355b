// What every family of kernel objects offers: do a list of requests, answer a query.
// Guarantees: a request that makes no sense is refused before anything of its batch reaches the kernel.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "netns/netns.h"

namespace trellis {

// One request that could not be done.
struct Refusal {
  size_t index;
  int error;
  std::string text;                  // the kernel's own words, if it had any
  std::optional<size_t> entry = {};  // which of the request's entries, where one request holds many
  std::string detail = {};           // what DescribeRequest cannot tell: the entry's text, the object it belongs to
};

// Requests in the order given, from one or more JSON arrays.
using Requests = std::vector<const json::Value*>;

// An InputError that knows which request of its batch it speaks of.
class RequestError : public std::runtime_error {
 public:
  RequestError(size_t index, const std::string& what) : std::runtime_error(what), index_(index) {}
  size_t index() const { return index_; }

 private:
  size_t index_;
};

// Collects JSON objects into arrays of a size that JavaScript can parse without stalling its loop.
class ObjectSink {
 public:
  void Add(const std::function<void(json::Writer&)>& write);
  // Each a complete JSON array.
  std::vector<std::string> Take();

 private:
  void Close();
  json::Writer writer_;
  bool open_ = false;
  std::vector<std::string> chunks_;
};

class Family {
 public:
  virtual ~Family() = default;
  // Does every request in order. One that the kernel refuses does not keep the later ones from being tried, unless the
  // family commits all or nothing.
  virtual std::vector<Refusal> Apply(const Requests& requests) = 0;
  virtual void Query(const json::Value& query, ObjectSink& sink) = 0;
};

// The family of that name in the namespace; InputError when there is none of that name.
std::unique_ptr<Family> OpenFamily(std::string_view name, const NetNs& ns);

// "add link eth0": verb, kind and the field that tells one object from the other, for error messages.
std::string DescribeRequest(const json::Value& request);

// True if the request allows this refusal: missingOk for what is gone already, existsOk for what is there already.
bool IsAllowed(const json::Value& request, int error);

}  // namespace trellis
