import os

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class ShardweaveConan(ConanFile):
    name = "shardweave"
    version = "0.1.0"
    description = "Plans distributed execution of computation graphs"
    license = "Apache-2.0 WITH LLVM-exception"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {component: [True, False] for component in ("compiled", "io", "glpk", "clp", "cbc", "highs")}
    default_options = {component: False for component in options}
    no_copy_source = True

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "include/*", "docs/packaging/cmake/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def configure(self):
        if self.options.compiled:
            self.package_type = "static-library"

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("boost/1.83.0")
        self.requires("eigen/3.4.0")
        if self.options.io:
            self.requires("zlib/[>=1.2.11 <2]")
        # glpk, clp, cbc, highs: the system's

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["SHARDWEAVE_BUILD_TESTS"] = False
        toolchain.cache_variables["SHARDWEAVE_BUILD_EXAMPLES"] = False
        for component, wanted in self.options.items():
            toolchain.cache_variables[f"SHARDWEAVE_WITH_{component.upper()}"] = wanted == "True"
        for component in ("MPI", "NCCL", "CUBLAS"):  # whatever is on the machine
            toolchain.cache_variables[f"SHARDWEAVE_WITH_{component}"] = False
        toolchain.generate()

    def package(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()
        cmake.install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.bindirs = []
        if self.options.compiled:
            self.cpp_info.libs = ["shardweave_compiled"]
            self.cpp_info.defines = ["SHARDWEAVE_COMPILED"]
        else:
            self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_target_name", "shardweave::shardweave")
        self.cpp_info.requires = ["boost::headers", "eigen::eigen"]
        if self.options.io:
            self.cpp_info.requires += ["boost::json", "zlib::zlib"]
