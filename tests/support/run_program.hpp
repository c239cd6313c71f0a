#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#ifndef SHARDWEAVE_PROGRAM_DIR
#define SHARDWEAVE_PROGRAM_DIR "."
#endif

/// How a program ended and what it wrote.
struct program_run {
  int status = -1;
  std::string out;
  std::string err;

  /// What stands on standard error beside lines of progress, which a program writes that happens to take long.
  [[nodiscard]] std::string complaints() const {
    std::string rest;
    for (std::size_t at = 0; at < err.size();) {
      const std::size_t end = std::min(err.find('\n', at), err.size());
      const std::string line = err.substr(at, end - at), told = line.substr(0, line.find("  best "));
      const std::size_t number = told.rfind("  ");  // "search: step  [====    ]  12.3 s"
      const bool is_progress = number != std::string::npos && told.ends_with(" s") &&
                               told.find_first_of("0123456789", number) != std::string::npos &&
                               told.find_first_not_of("0123456789. s", number) == std::string::npos;
      if (!is_progress) rest += line + "\n";
      at = end + 1;
    }
    return rest;
  }
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

/// Starts a program, sends it signals one right after another once so many seconds have passed, and waits for its end.
/// `status` is minus the signal where one ended it.
inline program_run run_and_signal(const std::string& name, const std::string& arguments,
                                  const std::filesystem::path& folder, double seconds,
                                  const std::vector<int>& signals) {
  const auto text_of = [](const std::filesystem::path& file) {
    std::string text;
    if (std::FILE* in = std::fopen(file.c_str(), "r")) {
      char buffer[4096];
      for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, in)) > 0;) text.append(buffer, n);
      std::fclose(in);
    }
    return text;
  };
  const std::filesystem::path out = folder / "standard-output", errors = folder / "standard-error";
  const std::string command = "exec " + (std::filesystem::path(SHARDWEAVE_PROGRAM_DIR) / name).string() + " " +
                              arguments + " >" + out.string() + " 2>" + errors.string();
  program_run run;
  const pid_t child = fork();
  if (child < 0) return run;
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  for (const int number : signals) kill(child, number);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return run;
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  run.out = text_of(out);
  run.err = text_of(errors);
  return run;
}
