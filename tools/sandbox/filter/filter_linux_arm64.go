package filter

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// deniedHere are calls that this architecture alone has.
func deniedHere() []uint32 { return []uint32{unix.SYS_KEXEC_FILE_LOAD} }

// watches are the calls with which a process begins to watch files.
func watches() []uint32 { return []uint32{unix.SYS_INOTIFY_INIT1} }

func modesHere() []at { return nil }

func opensHere() []at { return nil }
