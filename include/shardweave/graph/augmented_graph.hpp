#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/stable_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// An acyclic graph with further dependencies and merged vertices, where nothing can close a cycle and all can be
/// undone.

namespace shardweave::inline v0 {

/// A graph that stays as it is, dependencies added to it, and disjoint sets of its vertices; a set depends on all
/// that its members depend on. The graph of the sets never has a cycle: what would close one is refused and changes
/// nothing. Between `begin` and `commit` every change is kept in a log; `rollback` restores the state bit by bit.
///
/// A topological order of the sets is kept as a list with labels. A change that agrees with it costs nothing more;
/// else a search forward from one end and backward from the other, in turns and between the two only, tells whether
/// there is a cycle, and what the shorter search found moves. Memory: 48 bytes per vertex, as many
/// again once a dependency is added, and what dependencies take that are added or kept in the log, some 40 bytes each.
/// Source: D. J. Pearce, P. H. J. Kelly, A dynamic topological sort algorithm for directed acyclic graphs, ACM JEA 11
/// (2006), searched from both sides; list labels: P. F. Dietz, D. D. Sleator, Two algorithms for maintaining order in
/// a list, STOC 1987, with plain renumbering.
class augmented_graph {
 public:
  /// \pre g outlives this
  /// \throws error if g has a cycle
  explicit augmented_graph(const compressed_graph& g) : augmented_graph(g, stable_topological_order(g)) {}
  /// \pre `order` is a topological order of g, which outlives this
  augmented_graph(const compressed_graph& g, std::span<const std::uint32_t> order)
      : g_(&g), values_(5, std::vector<std::uint64_t>(g.vertex_count())), mark_(g.vertex_count()) {
    for (std::uint32_t v = 0; v < g.vertex_count(); ++v) of(set, v) = of(ring, v) = v;
    std::uint32_t last = end;
    const std::uint64_t gap = end_label / (order.size() + 1);
    for (std::size_t i = 0; i < order.size(); ++i) {
      of(label, order[i]) = (i + 1) * gap;
      of(before, order[i]) = last;
      of(after, order[i]) = end;
      last == end ? first_ = order[i] : of(after, last) = order[i];
      last = order[i];
    }
  }

  // --- questions ------------------------------------------------------------------------------------------------

  /// One number per set, the same for all its vertices.
  [[nodiscard]] std::uint32_t set_of(std::uint32_t v) const { return at32(set, v); }
  [[nodiscard]] bool same(std::uint32_t a, std::uint32_t b) const { return set_of(a) == set_of(b); }
  /// Ascending.
  [[nodiscard]] std::vector<std::uint32_t> members(std::uint32_t v) const {
    std::vector<std::uint32_t> all;
    each_member(v, [&](std::uint32_t m) { all.push_back(m); });
    std::sort(all.begin(), all.end());
    return all;
  }
  /// Sets on which the set of a vertex depends, by number, ascending.
  [[nodiscard]] std::vector<std::uint32_t> dependencies(std::uint32_t v) const {
    std::vector<std::uint32_t> all;
    each_neighbour<false>(v, [&](std::uint32_t s) { all.push_back(s); });
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  /// Calls `f` with the number of each set on which the set of a vertex depends; repeats kept.
  template <class F>
  void for_each_dependency(std::uint32_t v, const F& f) const {
    each_neighbour<false>(v, f);
  }
  /// Vertices in which dependencies were added: earlier, later; repeats kept.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> added() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> all;
    for (std::uint32_t v = 0; v < added_out_.size(); ++v)
      for (const std::uint32_t to : added_out_[v]) all.emplace_back(v, to);
    return all;
  }
  /// One number per set, in a topological order.
  [[nodiscard]] std::vector<std::uint32_t> sets_in_order() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t s = first_; s != end; s = at32(after, s)) all.push_back(s);
    return all;
  }
  /// Something leads from the set of `a` to that of `b`, which is another one.
  [[nodiscard]] bool has_path(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t from = set_of(a), to = set_of(b);
    return from != to && at(label, from) < at(label, to) && search(from, to) == outcome::met;
  }

  // --- changes: true if done, false if that would close a cycle --------------------------------------------------

  /// `later` comes after `earlier`. The same dependency may be added several times, and is to be removed as often.
  bool add(std::uint32_t earlier, std::uint32_t later) {
    const std::uint32_t from = set_of(earlier), to = set_of(later);
    if (from == to) return false;
    if (at(label, from) > at(label, to)) {
      const outcome found = search(to, from);
      if (found == outcome::met) return false;
      found == outcome::forward ? move(forward_, from, true) : move(backward_, to, false);
    }
    log({entry::added, earlier, later, 0});
    added_out_.resize(g_->vertex_count());
    added_in_.resize(g_->vertex_count());
    added_out_[earlier].push_back(later);
    added_in_[later].push_back(earlier);
    return true;
  }
  /// Takes back one `add` of the two; false if there is none.
  bool remove(std::uint32_t earlier, std::uint32_t later) {
    if (added_out_.empty()) return false;
    const auto out = std::find(added_out_[earlier].begin(), added_out_[earlier].end(), later);
    if (out == added_out_[earlier].end()) return false;
    const auto in = std::find(added_in_[later].begin(), added_in_[later].end(), earlier);
    log({entry::removed, earlier, later,
         static_cast<std::uint64_t>(out - added_out_[earlier].begin()) << 32 |
             static_cast<std::uint64_t>(in - added_in_[later].begin())});
    added_out_[earlier].erase(out);
    added_in_[later].erase(in);
    return true;
  }
  /// The sets of two vertices become one.
  bool merge(std::uint32_t a, std::uint32_t b) {
    std::uint32_t early = set_of(a), late = set_of(b);
    if (early == late) return true;
    if (at(label, early) > at(label, late)) std::swap(early, late);
    switch (search(early, late)) {
      case outcome::met:
        return false;
      case outcome::forward:
        move(forward_, late, true);
        unlink(early);
        join(late, early);
        return true;
      case outcome::backward:
        move(backward_, early, false);
        unlink(late);
        join(early, late);
    }
    return true;
  }
  /// A vertex leaves its set and is one of its own. Never closes a cycle.
  void separate(std::uint32_t v) {
    const std::uint32_t s = set_of(v);
    const std::uint32_t other = at32(ring, v);
    if (other == v) return;
    if (s == v) {  // the rest needs another number, and takes the place
      write(label, other, at(label, s));
      write(before, other, at(before, s));
      write(after, other, at(after, s));
      relink(other);
      each_member(v, [&](std::uint32_t m) { write(set, m, other); });
    }
    std::uint32_t previous = other;
    while (at32(ring, previous) != v) previous = at32(ring, previous);
    write(ring, previous, other);
    write(ring, v, v);
    write(set, v, v);
    insert(v, set_of(other), true);
  }

  // --- undoing --------------------------------------------------------------------------------------------------

  /// \pre no other one is open
  void begin() {
    SHARDWEAVE_EXPECTS(!logging_);
    logging_ = true;
    old_first_ = first_;
  }
  void commit() {
    logging_ = false;
    log_.clear();
  }
  void rollback() {
    for (std::size_t i = log_.size(); i-- > 0;) {
      const entry& e = log_[i];
      if (e.what == entry::added) {
        added_out_[e.a].pop_back();
        added_in_[e.b].pop_back();
      } else if (e.what == entry::removed) {
        added_out_[e.a].insert(added_out_[e.a].begin() + static_cast<std::ptrdiff_t>(e.old >> 32), e.b);
        added_in_[e.b].insert(added_in_[e.b].begin() + static_cast<std::ptrdiff_t>(e.old & 0xffffffff), e.a);
      } else {
        values_[e.what][e.a] = e.old;
      }
    }
    first_ = old_first_;
    commit();
  }

  /// The same graph, sets, dependencies and order, to the last label.
  friend bool operator==(const augmented_graph& a, const augmented_graph& b) {
    const auto equal = [&](const lists& x, const lists& y) {
      for (std::uint32_t v = 0; v < a.g_->vertex_count(); ++v)
        if (!std::ranges::equal(list_of(x, v), list_of(y, v))) return false;
      return true;
    };
    return a.g_ == b.g_ && a.first_ == b.first_ && a.values_ == b.values_ && equal(a.added_out_, b.added_out_) &&
           equal(a.added_in_, b.added_in_);
  }

 private:
  /// By vertex; none at all until there is an entry.
  using lists = std::vector<std::vector<std::uint32_t>>;

  enum value : std::uint32_t { set, ring, label, before, after };  // of a vertex; the last three of sets only
  struct entry {
    std::uint32_t what, a, b;  // a value and its vertex, or one of these and the two ends
    std::uint64_t old;
    static constexpr std::uint32_t added = 5, removed = 6;
  };
  static constexpr std::uint32_t end = 0xffffffff;
  static constexpr std::uint64_t end_label = std::uint64_t{1} << 62;
  enum class outcome { met, forward, backward };  // or which of the two searches is complete

  [[nodiscard]] std::uint64_t& of(value which, std::uint32_t v) { return values_[which][v]; }
  [[nodiscard]] std::uint32_t at32(value which, std::uint32_t v) const {
    return static_cast<std::uint32_t>(values_[which][v]);
  }
  [[nodiscard]] std::uint64_t at(value which, std::uint32_t v) const { return values_[which][v]; }
  void log(entry e) {
    if (logging_) log_.push_back(e);
  }
  void write(value which, std::uint32_t v, std::uint64_t now) {
    log({which, v, 0, at(which, v)});
    of(which, v) = now;
  }

  [[nodiscard]] static std::span<const std::uint32_t> list_of(const lists& all, std::uint32_t v) {
    return all.empty() ? std::span<const std::uint32_t>{} : all[v];
  }
  template <class F>
  void each_member(std::uint32_t v, const F& f) const {
    std::uint32_t m = v;
    do {
      const std::uint32_t next = at32(ring, m);
      f(m);
      m = next;
    } while (m != v);
  }
  template <bool Forward, class F>
  void each_neighbour(std::uint32_t s, const F& f) const {
    each_member(s, [&](std::uint32_t m) {
      for (const auto& e : Forward ? g_->out(m) : g_->in(m)) f(at32(set, Forward ? e.target : e.source));
      for (const std::uint32_t n : list_of(Forward ? added_out_ : added_in_, m)) f(at32(set, n));
    });
  }

  /// Looks for a way between two sets, from both ends. What one search has seen and the other meets is one, too.
  outcome search(std::uint32_t early, std::uint32_t late) {
    forward_.assign(1, early);
    backward_.assign(1, late);
    stamp_ += 2;
    mark_[early] = stamp_;
    mark_[late] = stamp_ + 1;
    for (std::size_t f = 0, b = 0;;) {
      if (!visit<true>(forward_[f++], early, late)) return outcome::met;
      if (f == forward_.size()) return outcome::forward;
      if (!visit<false>(backward_[b++], early, late)) return outcome::met;
      if (b == backward_.size()) return outcome::backward;
    }
  }
  template <bool Forward>
  bool visit(std::uint32_t s, std::uint32_t early, std::uint32_t late) {
    const std::uint64_t own = stamp_ + (Forward ? 0 : 1), others = stamp_ + (Forward ? 1 : 0);
    bool apart = true;
    each_neighbour<Forward>(s, [&](std::uint32_t n) {
      if (mark_[n] == others) apart = false;
      if (n == s || mark_[n] == own || at(label, n) < at(label, early) || at(label, n) > at(label, late)) return;
      mark_[n] = own;
      (Forward ? forward_ : backward_).push_back(n);
    });
    return apart;
  }

  /// Puts what a search found, in its order, right behind a set or right before it. Of a merge the end itself
  /// (first in the list) stays: it is going to be one with the other end.
  void move(std::vector<std::uint32_t>& found, std::uint32_t place, bool behind) {
    std::sort(found.begin(), found.end(), [&](auto a, auto b) { return at(label, a) < at(label, b); });
    if (behind) {
      for (std::size_t i = found.size(); i-- > 0;) {  // the last one first: each finds the rest of the gap
        unlink(found[i]);
        insert(found[i], place, true);
      }
    } else {
      for (const std::uint32_t s : found) {
        unlink(s);
        insert(s, place, false);
      }
    }
  }
  void unlink(std::uint32_t s) {
    const std::uint32_t p = at32(before, s), n = at32(after, s);
    p == end ? void(first_ = n) : write(after, p, n);
    if (n != end) write(before, n, p);
  }
  /// Makes the neighbours of a set in the list point to it.
  void relink(std::uint32_t s) {
    const std::uint32_t p = at32(before, s), n = at32(after, s);
    p == end ? void(first_ = s) : write(after, p, s);
    if (n != end) write(before, n, s);
  }
  void insert(std::uint32_t s, std::uint32_t place, bool behind) {
    const std::uint32_t p = behind ? place : at32(before, place), n = behind ? at32(after, place) : place;
    std::uint64_t low = p == end ? 0 : at(label, p), high = n == end ? end_label : at(label, n);
    if (high - low < 2) {
      renumber();
      low = p == end ? 0 : at(label, p);
      high = n == end ? end_label : at(label, n);
    }
    write(before, s, p);
    write(after, s, n);
    // what is inserted next at the same place finds the rest of the gap
    const std::uint64_t part = std::min((high - low) / 2, std::uint64_t{1} << 20);
    write(label, s, behind ? high - part : low + part);
    relink(s);
  }
  void renumber() {
    std::uint64_t count = 1;
    for (std::uint32_t s = first_; s != end; s = at32(after, s)) ++count;
    const std::uint64_t gap = end_label / (count + 1);
    std::uint64_t next = gap;
    for (std::uint32_t s = first_; s != end; s = at32(after, s), next += gap) write(label, s, next);
  }
  /// The members of a set that is no longer in the list become members of another.
  void join(std::uint32_t kept, std::uint32_t gone) {
    each_member(gone, [&](std::uint32_t m) { write(set, m, kept); });
    const std::uint64_t next = at(ring, kept);
    write(ring, kept, at(ring, gone));
    write(ring, gone, next);
  }

  const compressed_graph* g_;
  lists added_out_, added_in_;
  std::vector<std::vector<std::uint64_t>> values_;  // by `value`
  std::uint32_t first_ = end;
  // what follows is no state
  std::vector<std::uint64_t> mark_;
  std::uint64_t stamp_ = 0;
  std::vector<std::uint32_t> forward_, backward_;
  std::vector<entry> log_;
  std::uint32_t old_first_ = end;
  bool logging_ = false;
};

}  // namespace shardweave::inline v0
