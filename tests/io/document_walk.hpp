#pragma once

#include "io/refused.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Changes a good document in every place, one at a time, by means of another parser, and looks at how a reader
/// takes it.

/// What the file format says of a document.
struct document_rules {
  /// Fields that an object must have, by the object's place without indices: "" is the whole, "vertices[]" each vertex.
  std::map<std::string, std::set<std::string>> required = {};
  /// Fields without which this document does not fit together: "overlap.edges[].direction".
  std::set<std::string> needed = {};
  /// Fields that may hold anything, and objects whose fields have free names.
  std::set<std::string> free = {};
};

/// One object of a document.
struct document_place {
  std::string text;                                            ///< as messages name it: "vertices[2]"
  std::string pattern;                                         ///< without indices: "vertices[]"
  std::function<boost::json::value&(boost::json::value&)> in;  ///< the object in a copy of the document
};

inline void collect_places(const boost::json::value& at, document_place place, const document_rules& rules,
                           std::vector<document_place>& found) {
  if (rules.free.count(place.pattern)) return;
  if (const auto* list = at.if_array()) {
    for (std::size_t i = 0; i < list->size(); ++i)
      collect_places((*list)[i],
                     {place.text + "[" + std::to_string(i) + "]", place.pattern + "[]",
                      [in = place.in, i](boost::json::value& v) -> boost::json::value& { return in(v).as_array()[i]; }},
                     rules, found);
  } else if (const auto* object = at.if_object()) {
    found.push_back(place);
    for (const auto& field : *object) {
      const std::string name(field.key());
      const std::string dot = place.text.empty() ? "" : ".";
      collect_places(
          field.value(),
          {place.text + dot + name, place.pattern + dot + name,
           [in = place.in, name](boost::json::value& v) -> boost::json::value& { return in(v).as_object().at(name); }},
          rules, found);
    }
  }
}

/// \param read  reads a text as "T" and gives what a writer makes of it; strict or not
inline void check_reader_in_every_place(const std::string& good, const document_rules& rules,
                                        const std::function<std::string(const std::string&, bool strict)>& read) {
  const boost::json::value document = boost::json::parse(good);
  const std::string same = read(good, true);
  CHECK(read(boost::json::serialize(document), true) == same);
  std::vector<document_place> places;
  collect_places(document, {"", "", [](boost::json::value& v) -> boost::json::value& { return v; }}, rules, places);
  const auto message = [&](const std::string& text) { return refused([&] { return read(text, true); }); };

  for (const document_place& place : places) {
    CAPTURE(place.text);
    const std::string who = place.text.empty() ? "the text" : place.text;
    const std::string dot = place.text.empty() ? "" : ".";

    // a field that nobody knows
    boost::json::value strange = document;
    place.in(strange).as_object()["zzz"] = boost::json::parse("[1, {\"deep\": null}]");
    const std::string text = boost::json::serialize(strange);
    CHECK(message(text) ==
          "T: line 1, byte " + std::to_string(text.find("\"zzz\"") + 5) + ": " + who + " has the unknown field 'zzz'");
    CHECK(read(text, false) == same);

    boost::json::value original = document;
    const boost::json::object fields = place.in(original).as_object();
    for (const auto& field : fields) {
      const std::string name(field.key());
      CAPTURE(name);
      const std::string pattern = place.pattern + dot + name;

      // one field less
      boost::json::value less = document;
      auto& object = place.in(less).as_object();
      object.clear();
      for (const auto& other : fields)
        if (other.key() != field.key()) object.insert(other);
      const std::string missing = message(boost::json::serialize(less));
      const auto required = rules.required.find(place.pattern);
      if (required != rules.required.end() && required->second.count(name)) {
        CHECK(missing.starts_with("T: line 1, byte "));
        CHECK(missing.ends_with(": " + who + " has no field '" + name + "'"));
      } else if (rules.needed.count(pattern)) {
        CHECK(is_one_line(missing));
      } else {
        CHECK(missing == "");
      }

      // a value of another type
      if (rules.free.count(pattern)) continue;
      boost::json::value wrong = document;
      place.in(wrong).as_object()[name] = field.value().is_object() ? boost::json::value(7) : boost::json::parse("{}");
      const std::string refusal = message(boost::json::serialize(wrong));
      CHECK(refusal.starts_with("T: line 1, byte "));
      CHECK_MESSAGE(
          refusal.find(": " + place.text + dot + name + (field.value().is_object() ? " is 7, " : " is an object, ") +
                       "expected ") != std::string::npos,
          refusal);
    }
  }
}
