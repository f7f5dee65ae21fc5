"""The disk of the machine: this machine's own distribution, bare but for tests/kernels/packages, so that what was built
here runs there."""

import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MEGABYTES = 4096  # the file has holes: only what is used takes room

MAKE = """
trap 'rm -rf --one-file-system "$1/root"' EXIT
TMPDIR=$1 mmdebstrap --variant=apt --mode=root --format=directory --include="$2" "$3" "$1/root" "$4"
mke2fs -q -t ext4 -O ^has_journal -d "$1/root" "$1/system.img" "$5"
chown "$6" "$1/system.img"
"""


def listed_packages():
    lines = (HERE / "packages").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def release_here():
    """The archive and the name of the release that this machine is installed from."""
    listing = subprocess.run(["apt-get", "indextargets", "--format", "$(CREATED_BY) $(ORIGIN) $(REPO_URI) $(CODENAME)"],
                             capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        created_by, origin, archive, name = (line.split(" ") + [""] * 4)[:4]
        if created_by == "Packages" and origin in ("Debian", "Ubuntu") and "-" not in name:
            return archive, name
    raise RuntimeError("apt knows no archive of Debian or Ubuntu here: apt-get update")


def system_image(place):
    """Path of the image, made if there is none of these packages yet."""
    archive, release = release_here()
    packages = listed_packages()
    image, made_of = place / "system.img", place / "system.made-of"
    wanted = "\n".join([archive, release, *packages, ""])
    if image.is_file() and made_of.is_file() and made_of.read_text(encoding="utf-8") == wanted:
        return image
    print(f"kernels: making the image of a bare {release} (a minute or two)", flush=True)
    made_of.unlink(missing_ok=True)
    image.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        # Files of root's are made by root.
        done = subprocess.run([*([] if os.geteuid() == 0 else ["sudo"]), "sh", "-euc", MAKE, "sh", scratch,
                               ",".join(packages), release, archive, f"{MEGABYTES}M", str(os.geteuid())],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError("there is no image:\n" + "\n".join(done.stderr.splitlines()[-20:]))
        os.replace(f"{scratch}/system.img", image)
    made_of.write_text(wanted, encoding="utf-8")
    return image
