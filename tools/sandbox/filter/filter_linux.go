//go:build amd64 || arm64

// Package filter has the list of system calls that a program in the sandbox cannot make. The filter
// applies to the thread that calls [Apply], and to the processes that this thread starts.
//
// # Not here
//
// The other restrictions of the sandbox; the probe of this one (tools/sandbox/probe).
package filter

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// lastCall is the newest system call that was looked at when the list was made
// (Linux 6.18); later ones do not exist for a program.
const lastCall = 470

// deniedCalls give rights, reach what the view hides, or use memory that no limit counts or what all programs share.
// A program gets "operation not permitted".
func deniedCalls() []uint32 {
	return append(deniedHere(),
		// Mounts, namespaces and roots.
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE_ATTR, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_UNSHARE, unix.SYS_SETNS,
		// Other processes, their memory and descriptors.
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
		// Parts of the kernel with a history of faults.
		unix.SYS_BPF, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK, unix.SYS_VMSPLICE,
		// The machine.
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_PERSONALITY, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE,
		unix.SYS_MBIND, unix.SYS_SET_MEMPOLICY, unix.SYS_SET_MEMPOLICY_HOME_NODE, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
		// Flags of files, and their projects.
		unix.SYS_FILE_SETATTR,
		// Files by handle, past every folder.
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
		// Memory that is neither data nor in the two folders.
		unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMDT,
		unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,
		// Asynchronous I/O: all programs of the machine share one number of events (fs.aio-max-nr), and one call can take it.
		unix.SYS_IO_SETUP,
		// Sockets. A pair of streams stays: runtimes speak with their children by it.
		unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	)
}

// besideFiles give names and values beside a file, which nobody looks at who reads it. A program gets the error of a file
// system that keeps none: who copies a mode (cp -p, install, sed -i) tries an access list first, and sets the mode
// alone after this error only.
func besideFiles() []uint32 {
	return []uint32{unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT}
}

// namespaceFlags are those of clone.
const namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// setAttributes is FS_IOC_FSSETXATTR, which gives a file flags and a project.
const setAttributes = 0x401c5820

// leaseOfFolder is F_SETDELEG of Linux 6.19.
const leaseOfFolder = 1040

// Offsets in what a filter sees of a call.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg1   = 24
	offArg2   = 32
	offArg3   = 40
	nextArg   = 8
)

// Apply lets this thread, and what it starts, make no denied call. It may gain no rights
// any more (no_new_privs). With tcp it can make streams of TCP over IPv4 that connect;
// without, pairs of streams alone.
func Apply(tcp bool) error {
	program := filter(tcp)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, no := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); no != 0 {
		return no
	}
	return nil
}

func filter(tcp bool) []unix.SockFilter {
	const (
		kill   = unix.SECCOMP_RET_KILL_PROCESS
		refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

		invalid = unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)
	)
	var f program
	f.load(offArch)
	f.unless(auditArch, kill)
	f.load(offNumber)
	f.when(unix.BPF_JGE, 1<<30, kill) // calls of x32
	f.when(unix.BPF_JGT, lastCall, absent)
	f.when(unix.BPF_JEQ, unix.SYS_CLONE3, absent)  // its flags are in memory; libraries fall back to clone
	f.when(unix.BPF_JEQ, unix.SYS_OPENAT2, absent) // the same, to openat
	// Each set of rules keeps as many as are added, which no limit counts.
	f.when(unix.BPF_JEQ, unix.SYS_LANDLOCK_CREATE_RULESET, absent)
	// A process keeps every filter that it adds, and a descriptor keeps those of a process that has ended. The
	// program gets the errors of a kernel without filters, with which libraries and programs reckon.
	f.when(unix.BPF_JEQ, unix.SYS_SECCOMP, absent)
	// Who watches a system folder sees which programs of the machine start, and all programs of a user share one
	// number of watches. The program gets the error of a kernel that has none, as of F_NOTIFY below.
	for _, n := range watches() {
		f.when(unix.BPF_JEQ, n, absent)
	}
	f.argument(unix.SYS_PRCTL, offArg0, unix.BPF_JEQ, invalid, unix.PR_SET_SECCOMP)
	for _, n := range deniedCalls() {
		f.when(unix.BPF_JEQ, n, refuse)
	}
	for _, n := range besideFiles() {
		f.when(unix.BPF_JEQ, n, unix.SECCOMP_RET_ERRNO|uint32(unix.EOPNOTSUPP))
	}
	f.argument(unix.SYS_CLONE, offArg0, unix.BPF_JSET, refuse, namespaceFlags)
	f.argument(unix.SYS_IOCTL, offArg1, unix.BPF_JEQ, refuse, unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD, unix.TIOCCONS)
	f.argument(unix.SYS_IOCTL, offArg1, unix.BPF_JEQ, refuse, unix.FS_IOC_SETFLAGS, setAttributes, unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY)
	// Such a lock has no process in the list of locks, by which they are counted (tools/sandbox/usage).
	f.argument(unix.SYS_FCNTL, offArg1, unix.BPF_JEQ, invalid, unix.F_OFD_SETLK, unix.F_OFD_SETLKW)
	// Who has a lease of a file, or of a folder, is told who opens it, and lets them wait.
	f.argument(unix.SYS_FCNTL, offArg1, unix.BPF_JEQ, invalid, unix.F_NOTIFY, unix.F_SETLEASE, leaseOfFolder)
	if tcp {
		f.clientsOnly(refuse)
	} else {
		f.when(unix.BPF_JEQ, unix.SYS_SOCKET, refuse)
		f.when(unix.BPF_JEQ, unix.SYS_CONNECT, refuse)
	}
	for _, o := range ownOnly() {
		f.only(o.call, o.arg, o.value, refuse)
	}
	f.sharedHasFile(refuse)
	f.streamsOnly(refuse)
	f.buffersStay()
	f.noForeignRights(refuse)
	return append(f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// program is a filter in the making. Between its steps the number of the call is loaded.
type program []unix.SockFilter

func (f *program) load(offset uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
}

func (f *program) jump(op uint16, k uint32, jt, jf uint8) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jt: jt, Jf: jf, K: k})
}

func (f *program) ret(verdict uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: verdict})
}

func (f *program) when(op uint16, k, verdict uint32) {
	f.jump(op, k, 0, 1)
	f.ret(verdict)
}

func (f *program) unless(k, verdict uint32) {
	f.jump(unix.BPF_JEQ, k, 1, 0)
	f.ret(verdict)
}

// argument refuses a call by one of its arguments, of which it sees the lower half.
func (f *program) argument(call, offset uint32, op uint16, verdict uint32, values ...uint32) {
	f.jump(unix.BPF_JEQ, call, 0, uint8(2+2*len(values)))
	f.load(offset + lowHalf)
	for _, v := range values {
		f.when(op, v, verdict)
	}
	f.load(offNumber)
}

// own is an argument that says who is meant, and its value for whoever calls.
type own struct{ call, arg, value uint32 }

// ownOnly are the calls that say how a process runs. A program says it of itself: process 1 has
// the same user, and must not be slowed down or limited, for it looks at what all have together.
func ownOnly() []own {
	const process = 1 // IOPRIO_WHO_PROCESS
	return []own{
		{unix.SYS_PRLIMIT64, offArg0, 0},
		{unix.SYS_SETPRIORITY, offArg0, unix.PRIO_PROCESS}, {unix.SYS_SETPRIORITY, offArg1, 0},
		{unix.SYS_IOPRIO_SET, offArg0, process}, {unix.SYS_IOPRIO_SET, offArg1, 0},
		{unix.SYS_SCHED_SETSCHEDULER, offArg0, 0}, {unix.SYS_SCHED_SETPARAM, offArg0, 0}, {unix.SYS_SCHED_SETATTR, offArg0, 0}, {unix.SYS_SCHED_SETAFFINITY, offArg0, 0},
	}
}

// only refuses a call whose argument has another value.
func (f *program) only(call, offset, value, verdict uint32) {
	f.jump(unix.BPF_JEQ, call, 0, 4)
	f.load(offset + lowHalf)
	f.unless(value, verdict)
	f.load(offNumber)
}

// sharedHasFile lets memory be shared only where it is a file. Other shared memory stays as a whole while a page
// of it is mapped, resident or not: it is no data by which the kernel limits a process, and nothing that
// others may read says how much it is.
func (f *program) sharedHasFile(verdict uint32) {
	f.jump(unix.BPF_JEQ, unix.SYS_MMAP, 0, 5)
	f.load(offArg3 + lowHalf)
	f.jump(unix.BPF_JSET, unix.MAP_ANONYMOUS, 0, 2)
	f.when(unix.BPF_JSET, unix.MAP_SHARED, verdict)
	f.load(offNumber)
}

// streamsOnly lets a pair of sockets be streams of this machine alone: a pair of
// datagrams can send to any socket that has a name.
func (f *program) streamsOnly(verdict uint32) {
	f.jump(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, 0, 7)
	f.load(offArg0 + lowHalf)
	f.unless(unix.AF_UNIX, verdict)
	f.load(offArg1 + lowHalf)
	*f = append(*f, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf})
	f.unless(unix.SOCK_STREAM, verdict)
	f.load(offNumber)
}

// buffersStay lets sockets have the buffers that they begin with: what is in them is memory that
// no limit counts. The program is told that it was done, as the kernel tells it of a buffer that
// is too large.
func (f *program) buffersStay() {
	const done = unix.SECCOMP_RET_ERRNO
	f.jump(unix.BPF_JEQ, unix.SYS_SETSOCKOPT, 0, 8)
	f.load(offArg1 + lowHalf)
	f.jump(unix.BPF_JEQ, unix.SOL_SOCKET, 0, 5)
	f.load(offArg2 + lowHalf)
	f.when(unix.BPF_JEQ, unix.SO_SNDBUF, done)
	f.when(unix.BPF_JEQ, unix.SO_RCVBUF, done)
	f.load(offNumber)
}

// clientsOnly lets a socket be a stream of TCP over IPv4.
func (f *program) clientsOnly(verdict uint32) {
	f.jump(unix.BPF_JEQ, unix.SYS_SOCKET, 0, 11)
	f.load(offArg0 + lowHalf)
	f.unless(unix.AF_INET, verdict)
	f.load(offArg1 + lowHalf)
	*f = append(*f, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf})
	f.unless(unix.SOCK_STREAM, verdict)
	f.load(offArg2 + lowHalf)
	f.jump(unix.BPF_JEQ, unix.IPPROTO_IP, 2, 0)
	f.unless(unix.IPPROTO_TCP, verdict)
	f.load(offNumber)
}

// at is an argument of a system call.
type at struct{ call, arg uint32 }

// modes are the calls that give a file a mode.
func modes() []at {
	return append(modesHere(), at{unix.SYS_FCHMOD, offArg1}, at{unix.SYS_FCHMODAT, offArg2}, at{unix.SYS_FCHMODAT2, offArg2}, at{unix.SYS_MKNODAT, offArg2})
}

// opens are the calls that may make a file, with their flags; the mode follows them.
func opens() []at { return append(opensHere(), at{unix.SYS_OPENAT, offArg2}) }

// noForeignRights lets no file get a mode by which others run it with the rights of its
// owner (setuid, setgid): in a folder of the host that would be the engine's user.
func (f *program) noForeignRights(verdict uint32) {
	const foreign, makes = unix.S_ISUID | unix.S_ISGID, unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	for _, m := range modes() {
		f.argument(m.call, m.arg, unix.BPF_JSET, verdict, foreign)
	}
	for _, o := range opens() {
		f.jump(unix.BPF_JEQ, o.call, 0, 6)
		f.load(o.arg + lowHalf)
		f.jump(unix.BPF_JSET, makes, 0, 3) // else the mode is whatever the register held
		f.load(o.arg + nextArg + lowHalf)
		f.when(unix.BPF_JSET, foreign, verdict)
		f.load(offNumber)
	}
}

// Both architectures have the lower half of an argument first.
const lowHalf = 0
