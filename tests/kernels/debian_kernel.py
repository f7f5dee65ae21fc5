"""Kernels as Debian packs them: the newest of a series that the package lists know, unpacked, with an initramfs
(tests/kernels/early) that has what it takes to reach a disk."""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NAME = r"linux-image-({series}\.[0-9][^-]*(?:-[0-9]+)?-cloud-amd64)"  # small, and with all that a virtual machine has
TO_REACH_A_DISK = ("virtio_pci", "virtio_blk", "ext4")


def run(*words, **keywords):
    return subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL, **keywords)


def newest(series):
    """The version of the newest such kernel, or None."""
    names = run("apt-cache", "pkgnames", f"linux-image-{series}", capture_output=True, text=True).stdout.split()
    pattern = re.compile(NAME.format(series=re.escape(series)))
    versions = [match[1] for match in map(pattern.fullmatch, names) if match]
    return max(versions, key=lambda version: [int(number) for number in re.findall(r"\d+", version)], default=None)


def fetch(package, into):
    """Downloads it and unpacks it, installing nothing."""
    with tempfile.TemporaryDirectory(dir=into.parent) as scratch:
        done = subprocess.run(["apt-get", "-q", "download", package], cwd=scratch, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        found = list(pathlib.Path(scratch).glob("*.deb"))
        if done.returncode != 0 or not found:
            raise RuntimeError(f"cannot download {package} (are the package lists old? apt-get update):\n{done.stderr}")
        run("dpkg-deb", "--extract", found[0], into)


def busybox(place):
    """A shell and what it calls in one static program; not this machine's, where another one may be installed."""
    unpacked = place / "busybox"
    if not unpacked.is_dir():
        fetch("busybox-static", unpacked)
    return next(unpacked.glob("**/bin/busybox"))


class Kernel:
    """One kernel, unpacked in a directory of its own."""

    def __init__(self, series, version, place):
        self.series, self.version = series, version
        self.place = place / f"linux-{version}"
        self.image = self.place / "boot" / f"vmlinuz-{version}"
        self.initramfs = self.place / "initramfs"

    @property
    def modules(self):
        base = self.place / "usr/lib/modules" / self.version
        return base if base.is_dir() else self.place / "lib/modules" / self.version

    def modules_to_reach_a_disk(self):
        for wanted in TO_REACH_A_DISK:
            listing = run("modprobe", "--dirname", self.modules.parents[2], "--set-version", self.version,
                          "--show-depends", wanted, capture_output=True, text=True).stdout
            yield from (pathlib.Path(line.split()[1]) for line in listing.splitlines() if line.startswith("insmod"))

    def make_initramfs(self):
        with tempfile.TemporaryDirectory(dir=self.place) as scratch:
            tree = pathlib.Path(scratch, "tree")
            for directory in ("bin", "dev", "modules", "system"):
                (tree / directory).mkdir(parents=True)
            shutil.copy(busybox(self.place.parent), tree / "bin")
            shutil.copy(HERE / "early", tree / "init")
            for number, module in enumerate(dict.fromkeys(self.modules_to_reach_a_disk())):
                plain = tree / "modules" / f"{number:02}-{module.name.partition('.')[0]}"
                if module.suffix == ".xz":
                    with plain.open("wb") as file:
                        run("xz", "--decompress", "--stdout", module, stdout=file)
                else:
                    shutil.copy(module, plain)
            names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
            archive = subprocess.run(["cpio", "--quiet", "--create", "--format=newc", "--owner=0:0"], cwd=tree,
                                     input=names.encode(), capture_output=True, check=True).stdout
            pathlib.Path(scratch, "initramfs").write_bytes(gzip.compress(archive, 1))
            os.replace(pathlib.Path(scratch, "initramfs"), self.initramfs)

    def prepare(self):
        if not self.image.is_file():
            print(f"kernels: fetching Linux {self.version}", flush=True)
            for older in self.place.parent.glob(f"linux-{self.series}.*"):
                shutil.rmtree(older)
            fetch(f"linux-image-{self.version}", self.place)
            run("depmod", "--basedir", self.modules.parents[2], self.version)
        # Quickly done, and `early` may have changed.
        self.make_initramfs()
