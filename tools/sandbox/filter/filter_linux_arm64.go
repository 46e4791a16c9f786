package filter

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// deniedHere are calls that this architecture alone has.
func deniedHere() []uint32 { return []uint32{unix.SYS_KEXEC_FILE_LOAD} }

func modesHere() []at { return nil }

func opensHere() []at { return nil }
