"""Gives the classes of an archive that were moved below a prefix their names back.

    unshade.py FROM.jar PREFIX TO.jar

`TO.jar` gets what is below `PREFIX` (a path, such as `org/example/shaded`) and nothing else. For
`tests/releases/run`, since some releases of ZooKeeper are on PyPI in that form only.
"""

import struct
import sys
import zipfile

UTF8 = 1
# The length of what follows the tag of each other kind of constant (JVM specification, table 4.4-A).
LENGTHS = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4}
LENGTHS |= {15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
LONG_AND_DOUBLE = (5, 6)  # each counts as two constants


def renamed(class_file, prefixes):
    """The class file without these prefixes in its constants."""
    (count,) = struct.unpack_from(">H", class_file, 8)
    parts, start, constant = [class_file[:10]], 10, 1
    while constant < count:
        tag = class_file[start]
        if tag == UTF8:
            (length,) = struct.unpack_from(">H", class_file, start + 1)
            end = start + 3 + length
            text = class_file[start + 3 : end]
            for prefix in prefixes:
                text = text.replace(prefix, b"")
            parts += [struct.pack(">BH", tag, len(text)), text]
        else:
            end = start + 1 + LENGTHS[tag]
            parts.append(class_file[start:end])
        start = end
        constant += 2 if tag in LONG_AND_DOUBLE else 1
    return b"".join([*parts, class_file[start:]])


def main(source, prefix, target):
    prefixes = [f"{prefix}/".encode(), f"{prefix}/".replace("/", ".").encode()]
    with zipfile.ZipFile(source) as shaded, zipfile.ZipFile(target, "w") as jar:
        for entry in shaded.namelist():
            if not entry.startswith(f"{prefix}/") or entry.endswith("/"):
                continue
            content = shaded.read(entry)
            if entry.endswith(".class"):
                content = renamed(content, prefixes)
            jar.writestr(entry.removeprefix(f"{prefix}/"), content)


main(*sys.argv[1:])
