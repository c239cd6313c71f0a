#pragma once

#include <exception>
#include <utility>

namespace shardweave::inline v0::detail {

/// Does something when its scope is left by an exception.
template <class Then>
class on_exception {
 public:
  explicit on_exception(Then then) : then_(std::move(then)), before_(std::uncaught_exceptions()) {}
  on_exception(const on_exception&) = delete;
  on_exception& operator=(const on_exception&) = delete;
  ~on_exception() {
    if (std::uncaught_exceptions() > before_) then_();
  }

 private:
  Then then_;
  int before_;
};

}  // namespace shardweave::inline v0::detail
