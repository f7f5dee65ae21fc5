"""A virtual machine that runs tests under one kernel and is gone: its disks are copies that end with it, it has no
network, and no file of it is outside the directory it is given."""

import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
PROCESSORS = 2
MEMORY = 3072  # megabytes
TREE_MEGABYTES = 1024
OUTCOME_MEGABYTES = 64
# On a busy host the emulated timer is late, which the kernel would take for a broken one.
SETTINGS = "console=ttyS0 quiet panic=-1 no_timer_check"
BUILT = ("cloche", "libcloche.a", "libcloche.so.1.0.0", "tests/attack/attacker", "tests/attack/race")


def fill_tree(tree):
    """The project's files, tracked or about to be, and what is built of them."""
    listing = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-co", "-z", "--exclude-standard"], cwd=TOP,
                             capture_output=True, text=True, check=True).stdout
    for name in [*listing.split("\0"), *(f"build/{name}" for name in BUILT)]:
        if (TOP / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, tree / name)
    for name in ("srt", "codex-linux-sandbox"):
        (tree / "build" / name).symlink_to("cloche")


def accelerator():
    """What runs the machine, and how much slower than this one it may be. Emulation works everywhere."""
    if os.environ.get("ACCELERATOR") == "kvm":
        return ["-accel", "kvm", "-cpu", "host"], 1
    return ["-accel", "tcg,thread=multi", "-cpu", "max"], 8


def make_disk(scratch, kernel, arguments, slowness):
    content = scratch / "content"
    fill_tree(content / "tree")
    shutil.copy(HERE / "inside", content)
    shutil.copytree(kernel.modules, content / "modules")
    (content / "outcome").mkdir()
    (content / "arguments").write_bytes(b"\0".join(word.encode() for word in arguments))
    (content / "slowness").write_text(str(slowness), encoding="utf-8")
    disk = scratch / "tree.img"
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-E", "root_owner=0:0", "-d", content, disk,
                    f"{TREE_MEGABYTES}M"], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(content)
    return disk


def run_tests(kernel, system, place, arguments, seconds):
    """True if the machine came to its end. In `place` are then report.xml, output, kernel (its messages) and console."""
    if place.is_dir():
        shutil.rmtree(place)
    place.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=place) as name:
        scratch = pathlib.Path(name)
        acceleration, slowness = accelerator()
        disk = make_disk(scratch, kernel, arguments, slowness)
        outcome = scratch / "outcome.img"
        with outcome.open("wb") as file:
            file.truncate(OUTCOME_MEGABYTES << 20)
        words = ["qemu-system-x86_64", *acceleration, "-smp", PROCESSORS, "-m", MEMORY, "-no-reboot", "-nodefaults",
                 "-display", "none", "-serial", f"file:{place / 'console'}", "-kernel", kernel.image,
                 "-initrd", kernel.initramfs, "-append", SETTINGS,
                 "-drive", f"file={system},format=raw,if=virtio,snapshot=on",
                 "-drive", f"file={disk},format=raw,if=virtio,cache=unsafe",
                 "-drive", f"file={outcome},format=raw,if=virtio,cache=unsafe"]
        try:
            subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, check=True, timeout=seconds,
                           env={**os.environ, "TMPDIR": str(scratch)})
        except subprocess.TimeoutExpired:
            return False
        try:
            with tarfile.open(outcome) as archive:
                archive.extractall(scratch)
        except tarfile.TarError:
            return False
        for file in scratch.glob("outcome/*"):
            shutil.move(file, place / file.name)
    return (place / "output").is_file()
