// Any bytes are read as a file, packed or not, of whatever kind it says it is, or refused with an error that names it:
// a task graph, a placement problem, a model's config, a certificate. What is read of the file is read of the same
// bytes packed.
#include <shardweave/core/error.hpp>
#include <shardweave/io/model_config.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/placement_file.hpp>
#include <shardweave/io/task_file.hpp>
#include <shardweave/io/text_input.hpp>

#include <support/temporary_folder.hpp>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace sw = shardweave;

namespace files_fuzz {
namespace {

/// The refusal, or "read".
template <class Read>
std::string outcome(const std::filesystem::path& path, const Read& read) {
  try {
    (void)read(path);
    return "read";
  } catch (const sw::error& e) {
    const std::string what = e.what();
    if (what.find(path.filename().string()) == std::string::npos) std::abort();
    return what.substr(what.find(path.filename().string()) + path.filename().string().size());
  }
}

template <class Read>
void try_both(const std::filesystem::path& plain, const std::filesystem::path& packed, const Read& read) {
  if (outcome(plain, read) != outcome(packed, read)) std::abort();
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  static const temporary_folder folder;
  const auto plain = folder.write("plain", {reinterpret_cast<const char*>(data), size}), packed = folder / "packed.gz";
  const gzFile to = gzopen(packed.c_str(), "wb1");
  if (to == nullptr || gzwrite(to, data, static_cast<unsigned>(size)) != static_cast<int>(size)) std::abort();
  if (gzclose(to) != Z_OK) std::abort();
  const bool is_packed = size > 1 && data[0] == 0x1f && data[1] == 0x8b;  // by itself: packed once more it is no text
  const auto try_as = [&](const auto& read) {
    if (is_packed) {
      (void)outcome(plain, read);
    } else {
      try_both(plain, packed, read);
    }
  };
  try_as([](const std::filesystem::path& path) { return sw::read_any_task_graph(path, {.name = "graph"}); });
  try_as([](const std::filesystem::path& path) { return sw::read_any_placement(path); });
  try_as([](const std::filesystem::path& path) { return sw::read_model_config(path); });
  try_as([](const std::filesystem::path& path) {
    sw::text_input input(path);
    return sw::certificate_subject(input);
  });
  return 0;
}

}  // namespace files_fuzz
