#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/priced_savings.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

/// \file
/// Certificates of the right shape whose numbers mean nothing, and certificates with something wrong in them.

namespace shardweave_test {

namespace sw = shardweave;

/// Whatever the numbers are, what such a certificate proves holds. Edges between vertices that are tied or whose ends
/// stand in the other order have no message.
template <class Cost>
[[nodiscard]] sw::placement_certificate<Cost> draw_certificate(const sw::placement_description<Cost>& d,
                                                               std::uint64_t seed) {
  sw::random_source random(seed * 2 + 1), drops(seed * 2 + 2), of_knapsacks(seed * 2 + 3);
  sw::placement_certificate<Cost> c;
  std::vector<std::uint32_t> leader(d.vertices.size());
  for (std::uint32_t v = 0; v < leader.size(); ++v) leader[v] = v;
  for (const sw::tie& t : d.constraints.ties)
    for (const std::uint32_t v : t.vertices) {
      const std::uint32_t a = leader[t.vertices.front()], b = leader[v];
      std::replace(leader.begin(), leader.end(), std::max(a, b), std::min(a, b));
    }
  if (d.counted != sw::savings_form::off) {
    c.counted = d.counted;
    c.windows = d.windows;
    const std::size_t channels = sw::priced_savings<Cost>(d).channels();
    for (std::size_t count = 1 + random.below(2); count-- > 0;) {
      auto& prices = c.savings.emplace_back(sw::savings_prices{.bits = static_cast<int>(random.below(4))});
      for (std::size_t runs = channels == 0 ? 0 : random.below(2 * d.vertices.size()); runs-- > 0;)
        prices.runs.push_back(
            {static_cast<std::uint32_t>(random.below(channels)),
             static_cast<std::uint32_t>(random.below(d.vertices.size())),
             static_cast<std::int64_t>(random.below((1U << static_cast<unsigned>(prices.bits)) + 1))});
    }
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> joined;
  for (const sw::described_edge& e : d.edges)
    if (leader[e.from] != leader[e.to] && (e.communication != sw::no_table || e.transition != sw::no_table))
      joined.push_back(std::minmax(leader[e.from], leader[e.to]));
  std::sort(joined.begin(), joined.end());
  joined.erase(std::unique(joined.begin(), joined.end()), joined.end());
  std::vector<std::uint32_t> there = leader;  // what is left after all eliminations
  std::sort(there.begin(), there.end());
  there.erase(std::unique(there.begin(), there.end()), there.end());
  const auto is_there = [&](std::uint32_t v) { return std::binary_search(there.begin(), there.end(), v); };
  if (d.counted == sw::savings_form::off && random.chance(0.6))
    for (std::size_t count = 1 + random.below(2); count-- > 0;) {
      auto& r = c.reductions.emplace_back();
      const auto drop_some = [&] {
        for (std::size_t many = drops.below(4); many-- > 0 && !there.empty();) {
          const std::uint32_t v = there[drops.below(there.size())];
          const auto any = [&] { return static_cast<sw::strategy>(drops.below(d.vertices[v].compute.size())); };
          r.dominated.push_back({static_cast<std::uint32_t>(r.steps.size()), v, any(), any()});
        }
      };
      drop_some();
      for (std::size_t steps = random.below(there.size()); steps-- > 0;) {
        const std::uint32_t x = there[random.below(there.size())];
        std::vector<std::uint32_t> step{x}, others;
        for (const auto& [a, b] : joined)
          if ((a == x || b == x) && is_there(a) && is_there(b)) others.push_back(a == x ? b : a);
        for (std::size_t most = random.below(3); most-- > 0 && !others.empty();) {
          const auto at = others.begin() + static_cast<std::ptrdiff_t>(random.below(others.size()));
          step.push_back(*at);
          others.erase(at);
        }
        r.steps.push_back(std::move(step));
        std::erase(there, x);
        drop_some();
      }
    }
  for (std::size_t count = 1 + random.below(3); count-- > 0;) {
    sw::placement_multipliers m{.message_bits = static_cast<int>(random.below(20)),
                                .price_bits = static_cast<int>(random.below(20)),
                                .only_limits = random.chance(0.1)};
    for (const auto& [a, b] : joined) {
      if (random.chance(0.3) || !is_there(a) || !is_there(b)) continue;
      std::vector<std::int64_t> amounts;
      for (std::size_t s = 0; s < d.vertices[b].compute.size(); ++s)
        amounts.push_back(static_cast<std::int64_t>(random.below(41) << static_cast<unsigned>(m.message_bits)) -
                          (std::int64_t{20} << static_cast<unsigned>(m.message_bits)));
      m.messages.add({a, b, amounts});
    }
    for (std::uint32_t b = 0; b < d.constraints.budgets.size(); ++b)
      for (int times = 0; times < 3; ++times) {
        const auto price = static_cast<std::int64_t>(random.below(9) << static_cast<unsigned>(m.price_bits)) / 2;
        const auto time = static_cast<std::int64_t>(random.below(20));
        if (d.constraints.budgets[b].high < 1e300 && random.chance(0.5)) m.prices.push_back({b, time, price});
        if (d.constraints.budgets[b].low > -1e300 && random.chance(0.5)) m.prices.push_back({b, time, -price});
      }
    if (!c.savings.empty()) m.savings = static_cast<std::uint32_t>(random.below(c.savings.size()));
    for (std::uint32_t b = 0; b < d.constraints.budgets.size(); ++b) {
      if (!(d.constraints.budgets[b].high < 1e300) || of_knapsacks.chance(0.6)) continue;
      constexpr std::array<std::uint32_t, 6> cells{1, 2, 3, 7, 40, 1024};
      sw::row_knapsack& k =
          m.knapsacks.emplace_back(sw::row_knapsack{.budget = b,
                                                    .time = static_cast<std::int64_t>(of_knapsacks.below(20)),
                                                    .cells = cells[of_knapsacks.below(6)]});
      for (const std::uint32_t v : there) {
        if (of_knapsacks.chance(0.3)) continue;
        auto& amounts = k.members.emplace_back(sw::row_knapsack::member{.vertex = v}).amounts;
        for (std::size_t s = 0; s < d.vertices[v].compute.size(); ++s)
          amounts.push_back(static_cast<std::int64_t>(of_knapsacks.below(41) << static_cast<unsigned>(m.message_bits)) -
                            (std::int64_t{20} << static_cast<unsigned>(m.message_bits)));
      }
    }
    c.multipliers.push_back(std::move(m));
  }
  const auto any_multipliers = [&] { return static_cast<std::uint32_t>(random.below(c.multipliers.size())); };
  c.lower_bound = static_cast<Cost>(random.below(120)) - 40;  // what costs as much may be dropped
  std::set<std::pair<std::uint32_t, std::int64_t>> used;
  for (const auto& m : c.multipliers) {
    for (const sw::row_price& p : m.prices) used.emplace(p.budget, p.time);
    for (const sw::row_knapsack& k : m.knapsacks) used.emplace(k.budget, k.time);
  }
  const auto add_case = [&](sw::placement_case one) {
    one.cases.push_back(static_cast<std::uint32_t>(c.cases.size() + 1));
    c.cases.push_back(std::move(one));
  };
  for (std::uint32_t i = 0; i < c.reductions.size(); ++i) {
    for (const auto& [budget, time] : used) c.reductions[i].rows.push_back({budget, time});
    if (random.chance(0.3)) add_case({.multipliers = any_multipliers()});
    add_case({.reduction = i});
  }
  const std::size_t begin = c.cases.size();
  c.cases.emplace_back();
  for (std::size_t at = begin; at < c.cases.size(); ++at) {
    if (at > 12 || there.empty() || random.chance(0.5)) {
      c.cases[at].multipliers = any_multipliers();
      if (at > 12 || random.chance(0.7)) {
        if (drops.chance(0.7)) continue;
        auto& order = c.cases[at].elimination_order = there;  // what it does not name follows
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[drops.below(i)]);
        order.resize(drops.below(order.size() + 1));
        continue;
      }
      c.cases[at].cases.push_back(static_cast<std::uint32_t>(c.cases.size()));
      c.cases.emplace_back();
      continue;
    }
    auto v = static_cast<std::uint32_t>(random.below(d.vertices.size()));
    if (!is_there(leader[v])) v = there[random.below(there.size())];
    const std::size_t strategies = d.vertices[v].compute.size();
    std::vector<std::vector<sw::strategy>> parts(1 + random.below(strategies));
    for (sw::strategy s = 0; s < strategies; ++s) {
      parts[random.below(parts.size())].push_back(s);
      if (random.chance(0.1)) parts[random.below(parts.size())].push_back(s);  // parts may overlap
    }
    c.cases[at].vertex = v;
    for (auto& part : parts) {
      c.cases[at].cases.push_back(static_cast<std::uint32_t>(c.cases.size()));
      c.cases[at].parts.push_back(std::move(part));
      c.cases.emplace_back();
    }
  }
  return c;
}

/// Whether it drops what costs as much as is claimed: then it may prove more if more is claimed.
template <class Cost>
[[nodiscard]] bool narrows(const sw::placement_certificate<Cost>& c) {
  return std::any_of(c.cases.begin(), c.cases.end(),
                     [](const auto& one) { return one.multipliers && !one.cases.empty(); });
}

/// A message that may be changed.
struct loose_message {
  std::uint32_t first, second;
  std::vector<std::int64_t> amounts;
};

/// Changes messages by `change`, which takes a list of them.
template <class Change>
void change_messages(sw::placement_multipliers& m, Change change) {
  std::vector<loose_message> loose;
  for (std::size_t i = 0; i < m.messages.size(); ++i) {
    const sw::moved_cost one = m.messages[i];
    loose.push_back({one.first, one.second, {one.amounts.begin(), one.amounts.end()}});
  }
  change(loose);
  m.messages.clear();
  for (const loose_message& one : loose) m.messages.add({one.first, one.second, one.amounts});
}

/// Changes something: a bit of a number, an index, two that change places, a part or a case that goes.
template <class Cost>
void spoil(sw::placement_certificate<Cost>& c, std::uint64_t seed) {
  sw::random_source random(seed * 2 + 1);
  const auto flip = [&](auto& number) {
    using type = std::remove_reference_t<decltype(number)>;
    number = static_cast<type>(static_cast<std::uint64_t>(number) ^
                               (std::uint64_t{1} << random.below(sizeof(type) * 8 - 1)));
  };
  const auto any_of = [&](auto& list) -> auto& { return list[random.below(list.size())]; };
  auto& m = any_of(c.multipliers);
  auto& one = any_of(c.cases);
  if (!m.knapsacks.empty() && random.chance(0.3)) {
    sw::row_knapsack& k = any_of(m.knapsacks);
    if (k.members.empty() || random.chance(0.3)) {
      random.chance(0.3) ? flip(k.cells) : random.chance(0.5) ? flip(k.budget) : flip(k.time);
    } else {
      auto& member = any_of(k.members);
      random.chance(0.3) || member.amounts.empty() ? flip(member.vertex) : flip(any_of(member.amounts));
    }
    return;
  }
  switch (random.below(c.savings.empty() ? c.reductions.empty() ? 10 : 13 : 12)) {
    case 12: {
      auto& r = any_of(c.reductions);
      if (r.steps.empty()) break;
      auto& step = any_of(r.steps);
      const auto& other = any_of(r.steps);
      if (step.empty() || other.empty()) break;
      switch (random.below(5)) {
        case 4:
          if (!r.dominated.empty()) {
            auto& drop = any_of(r.dominated);
            random.chance(0.3)   ? flip(drop.step)
            : random.chance(0.3) ? flip(drop.vertex)
            : random.chance(0.5) ? flip(drop.removed)
                                 : flip(drop.by);
          }
          break;
        case 0:
          if (!r.rows.empty()) random.chance(0.5) ? flip(any_of(r.rows).time) : flip(any_of(r.rows).budget);
          break;
        case 1:
          std::swap(step, any_of(r.steps));
          break;
        case 2:
          random.chance(0.5) ? step.push_back(any_of(other)) : step.pop_back();
          break;
        default:
          flip(any_of(step));
      }
      break;
    }
    case 10:
      m.savings ? flip(*m.savings) : void();
      break;
    case 11: {
      if (c.savings.empty()) break;
      auto& prices = any_of(c.savings);
      if (prices.runs.empty() || random.chance(0.2)) {
        flip(prices.bits);
        break;
      }
      auto& run = any_of(prices.runs);
      random.chance(0.3) ? flip(run.position) : random.chance(0.3) ? flip(run.channel) : flip(run.price);
      break;
    }
    case 0:
      if (!m.messages.empty())
        change_messages(m, [&](std::vector<loose_message>& messages) {
          auto& amounts = any_of(messages).amounts;
          if (!amounts.empty()) flip(any_of(amounts));
        });
      break;
    case 1:
      if (!m.prices.empty()) flip(any_of(m.prices).price);
      break;
    case 2:
      if (!m.messages.empty())
        change_messages(m, [&](std::vector<loose_message>& messages) {
          random.chance(0.5) ? flip(any_of(messages).first) : flip(any_of(messages).second);
        });
      break;
    case 3:
      if (!m.prices.empty()) random.chance(0.5) ? flip(any_of(m.prices).budget) : flip(any_of(m.prices).time);
      break;
    case 4:
      flip(random.chance(0.5) ? m.message_bits : m.price_bits);
      break;
    case 5:
      if (!one.elimination_order.empty() && random.chance(0.5)) {
        flip(any_of(one.elimination_order));
      } else if (one.multipliers) {
        one.cases.empty() || random.chance(0.5) ? flip(*one.multipliers) : flip(one.cases.front());
      } else if (!one.parts.empty()) {
        flip(random.chance(0.5) ? one.vertex : any_of(one.cases));
      }
      break;
    case 6:
      if (!one.multipliers && !one.parts.empty()) std::swap(any_of(one.cases), any_of(one.cases));
      break;
    case 7:
      if (!one.multipliers && !one.parts.empty()) {
        auto& part = any_of(one.parts);
        if (!part.empty()) flip(any_of(part));
      }
      break;
    case 8:
      if (!one.multipliers && !one.parts.empty()) {  // a case is left out
        const std::size_t at = random.below(one.parts.size());
        one.parts.erase(one.parts.begin() + static_cast<std::ptrdiff_t>(at));
        one.cases.erase(one.cases.begin() + static_cast<std::ptrdiff_t>(at));
      }
      break;
    default:
      if (!c.ruled_out.empty()) {
        auto& r = any_of(c.ruled_out);
        random.chance(0.5) ? flip(r.vertex) : r.strategies.empty() ? void() : flip(any_of(r.strategies));
      } else if (m.messages.size() > 1) {
        change_messages(m, [&](std::vector<loose_message>& messages) {
          std::swap(any_of(messages).amounts, any_of(messages).amounts);
        });
      }
  }
}

}  // namespace shardweave_test
