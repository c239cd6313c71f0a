#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <string>

#ifndef SHARDWEAVE_PROGRAM_DIR
#define SHARDWEAVE_PROGRAM_DIR "."
#endif

/// How a program ended and what it wrote.
struct program_run {
  int status = -1;
  std::string out;
  std::string err;
};

/// Runs one of the example programs through the shell.
inline program_run run_program(const std::string& name, const std::string& arguments,
                               const std::filesystem::path& folder) {
  const std::filesystem::path errors = folder / "standard-error";
  const std::string command =
      (std::filesystem::path(SHARDWEAVE_PROGRAM_DIR) / name).string() + " " + arguments + " 2>" + errors.string();
  const auto all_of = [](std::FILE* file) {
    std::string text;
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, n);
    return text;
  };
  program_run run;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return run;
  run.out = all_of(pipe);
  const int status = pclose(pipe);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (std::FILE* file = std::fopen(errors.c_str(), "r")) {
    run.err = all_of(file);
    std::fclose(file);
  }
  return run;
}
