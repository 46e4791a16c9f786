package filter

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// deniedHere are calls that this architecture alone has.
func deniedHere() []uint32 {
	return []uint32{
		unix.SYS_KEXEC_FILE_LOAD, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS,
		unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
	}
}

// watches are the calls with which a process begins to watch files.
func watches() []uint32 { return []uint32{unix.SYS_INOTIFY_INIT, unix.SYS_INOTIFY_INIT1} }

func modesHere() []at {
	return []at{{unix.SYS_CHMOD, offArg1}, {unix.SYS_CREAT, offArg1}, {unix.SYS_MKNOD, offArg1}}
}

func opensHere() []at { return []at{{unix.SYS_OPEN, offArg1}} }
