"""Filters of system calls: what students' code needs nowhere, and what reaches the kernel's depths.

A filter is a program of classic BPF as in linux/filter.h: 8 bytes an instruction, which the kernel
runs before each system call with its number, architecture and arguments (seccomp(2)).
"""

import errno
import platform
import struct
import sys
from collections.abc import Iterable, Sequence

# By machine: the number in linux/audit.h, and of each pair of numbers below the one that counts.
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}
DENIED = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "fanotify_init": (300, 262),
    "syslog": (103, 116),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    # memory and objects that no process holds, and so no watch of processes sees
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    # whose share of the processors is smaller, also of processes that are not one's own
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}
SOCKET = (41, 198)
FAMILIES = (1, 2, 10, 16)  # of this machine, IPv4, IPv6, netlink; a network's namespace holds these
CLONE, CLONE3 = (56, 220), (435, 435)
NAMESPACES = 0x7E020000  # all of CLONE_NEW*
X32 = 0x40000000  # numbers of x86-64's other table
NUMBER, MACHINE, FIRST = 0, 4, 16  # in struct seccomp_data, low halves
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000


def _packed(program: Iterable[Sequence[int]]) -> bytes:
    return b"".join(struct.pack("=HBBI", *line) for line in program)


def _refuse(code: int = errno.EPERM) -> tuple[int, int, int, int]:
    return (RETURN, 0, 0, ERROR | code)


def _begun() -> tuple[list[tuple], int]:
    """A program's first lines, which end what comes from another architecture, and the column."""
    number, column = MACHINES[platform.machine()]
    program = [(LOAD, 0, 0, MACHINE), (EQUAL, 1, 0, number), (RETURN, 0, 0, KILL)]
    program.append((LOAD, 0, 0, NUMBER))
    if platform.machine() == "x86_64":
        program += [(AT_LEAST, 0, 1, X32), _refuse()]
    return program, column


def is_supported() -> bool:
    """Whether there are filters for this machine."""
    return sys.platform == "linux" and platform.machine() in MACHINES


def sandbox_filter() -> bytes:
    """The filter of a whole sandbox: no namespaces, keys, mounts, traces, or hidden memory, and no
    sockets that leave it, as those to the host of a virtual machine (vsock) do.

    clone3 takes its flags by a pointer, which no filter can follow; who is told that there is no
    such call uses clone, as the C library does.
    """
    program, column = _begun()
    for numbers in DENIED.values():
        program += [(EQUAL, 0, 1, numbers[column]), _refuse()]
    program += [(EQUAL, 0, 1, CLONE3[column]), _refuse(errno.ENOSYS)]
    program += [(EQUAL, 0, len(FAMILIES) + 3, SOCKET[column]), (LOAD, 0, 0, FIRST)]
    program += [(EQUAL, len(FAMILIES) - at, 0, family) for at, family in enumerate(FAMILIES)]
    program += [_refuse(errno.EAFNOSUPPORT), (RETURN, 0, 0, ALLOW)]
    program += [(EQUAL, 0, 3, CLONE[column]), (LOAD, 0, 0, FIRST)]
    program += [(ANY_BIT, 0, 1, NAMESPACES), _refuse(), (RETURN, 0, 0, ALLOW)]
    return _packed(program)
