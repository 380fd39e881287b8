"""Builds the package for pip: CMake makes the module and libengram, which go beside it."""

import glob
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent


class Build(build_py):
    def run(self):
        super().run()
        made = ROOT / "build" / "release"
        made.parent.mkdir(exist_ok=True)
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True)
        subprocess.run(["cmake", "--build", made, "--target", "engram_python"], check=True)
        package = Path(self.build_lib) / "engram"
        shutil.copy(made / "python" / "engram" / "_engram.abi3.so", package)
        if (made / "engram_mpi.so").exists():
            shutil.copy(made / "engram_mpi.so", package)
        for library in glob.glob(str(made / "libengram.so.*.*")):
            name = re.match(r"(libengram\.so\.\d+\.\d+)", Path(library).name)[1]
            shutil.copy(library, package / name)


class Binary(Distribution):
    def has_ext_modules(self):
        return True


def version():
    return re.search(r"VERSION (\d[\d.]*)", (ROOT / "CMakeLists.txt").read_text().partition(
        "project(engram")[2])[1]


setup(version=version(), cmdclass={"build_py": Build}, distclass=Binary)
