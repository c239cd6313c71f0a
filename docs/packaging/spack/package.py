from spack.package import *


class Shardweave(CMakePackage):
    """Plans distributed execution of computation graphs: shardings, buckets, schedules, memory, with proofs."""

    license("Apache-2.0 WITH LLVM-exception")

    # A registry names a release and its hash here; `spack dev-build` takes the sources of the tree.
    version("0.1.0")

    variant("io", default=True, description="Files of problems, graphs, devices and plans")
    variant("compiled", default=False, description="The solvers, compiled once")
    variant("glpk", default=False, description="GLPK as integer and linear backend (GPL-3)")
    variant("mpi", default=False, description="Replay on MPI ranks")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("boost@1.74:", type=("build", "link"))
    depends_on("boost@1.81: +json", type=("build", "link"), when="+io")
    depends_on("eigen@3.4", type=("build", "link"))
    depends_on("zlib-api", when="+io")
    depends_on("glpk", when="+glpk")
    depends_on("mpi", when="+mpi")
    conflicts("%gcc@:11", msg="C++20 as of g++ 12 is needed")
    conflicts("%clang@:15", msg="C++20 as of clang++ 16 is needed")

    def cmake_args(self):
        return [
            self.define("SHARDWEAVE_BUILD_TESTS", False),
            self.define("SHARDWEAVE_BUILD_EXAMPLES", False),
            *(self.define_from_variant(f"SHARDWEAVE_WITH_{name.upper()}", name) for name in ("io", "compiled", "glpk", "mpi")),
            # whatever is on the machine
            *(self.define(f"SHARDWEAVE_WITH_{name}", False) for name in ("CLP", "CBC", "HIGHS", "NCCL", "CUBLAS")),
        ]
