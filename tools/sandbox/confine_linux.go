//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tavernsim/tools/sandbox/cores"
	"tavernsim/tools/sandbox/door"
	"tavernsim/tools/sandbox/probe"
)

// dropRights gives up every capability of this thread, for good.
func dropRights() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return lost(probe.Privileges, "no_new_privs: %w", err)
	}
	for c := uintptr(0); unix.Prctl(unix.PR_CAPBSET_READ, c, 0, 0, 0) == nil; c++ {
		// Without the right to drop one there is nothing to drop: no_new_privs keeps it so.
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return lost(probe.Privileges, "ambient capabilities: %w", err)
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return lost(probe.Privileges, "capabilities: %w", err)
	}
	return nil
}

// set sets the limits of the worker, which the program inherits and cannot raise. The worker lives
// below them as long as the program does: none may be used up by time. The limit of processor time would be, by its
// looks, and the program alone has it (tools/sandbox/launch).
func (l Limits) set() error {
	for _, r := range []struct {
		what  string
		which int
		value uint64
	}{
		{"processes", unix.RLIMIT_NPROC, uint64(l.Processes)},
		{"data", unix.RLIMIT_DATA, uint64(l.Memory)},
		{"file size", unix.RLIMIT_FSIZE, uint64(l.FileSize)},
		{"descriptors", unix.RLIMIT_NOFILE, uint64(l.Open)},
		{"core", unix.RLIMIT_CORE, cores.Limit},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"timers", unix.RLIMIT_SIGPENDING, probe.Timers}, // all programs of the user share one number
		{"locked memory", unix.RLIMIT_MEMLOCK, 64 << 10},
	} {
		most, err := atMost(r.which, r.value)
		if err == nil {
			err = syscall.Setrlimit(r.which, &most)
		}
		if err != nil {
			return lost(probe.Resources, "limit of %s: %w", r.what, err)
		}
	}
	return nil
}

// atMost is a limit; the engine's own may be lower.
func atMost(which int, value uint64) (syscall.Rlimit, error) {
	var old syscall.Rlimit
	err := syscall.Getrlimit(which, &old)
	most := min(value, old.Max)
	return syscall.Rlimit{Cur: most, Max: most}, err
}

// minLandlock is the first version that knows every way to change a file: creating,
// moving between folders, truncating. It is in Linux since 6.2.
const minLandlock = 3

// ruleNetPort is LANDLOCK_RULE_NET_PORT.
const ruleNetPort = 2

const (
	landRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	landWrite = landFile | landRead | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REFER
	landAll = landWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
)

// landlock is the second wall around the files, beside the view. Every right that the
// kernel's version knows is taken away, and given back below what is listed.
func (j *job) landlock() error {
	version, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case no != 0:
		return lost(probe.Files, "Landlock is not in this kernel, or off: %w", no)
	case version < minLandlock:
		return lost(probe.Files, "Landlock has version %d; %d is the first that is enough (Linux 6.2)", version, minLandlock)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: landAll}
	if version >= 4 {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	rules, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if no != 0 {
		return lost(probe.Files, "Landlock: %w", no)
	}
	defer unix.Close(int(rules))
	if j.Net && version >= 4 {
		port := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, door.Port}
		if _, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, ruleNetPort, uintptr(unsafe.Pointer(&port)), 0, 0, 0); no != 0 {
			return lost(probe.Network, "Landlock: %w", no)
		}
	}
	if err := j.allow(int(rules), attr.Handled_access_fs&unix.LANDLOCK_ACCESS_FS_IOCTL_DEV); err != nil {
		return lost(probe.Files, "Landlock: %w", err)
	}
	if _, _, no := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); no != 0 {
		return lost(probe.Files, "Landlock: %w", no)
	}
	return nil
}

// allow gives rights back. ioctl is the right to control a device, 0 if the kernel knows none.
func (j *job) allow(rules int, ioctl uint64) error {
	// What the view has may be listed, not read.
	if err := beneath(rules, "/", unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
		return err
	}
	if err := beneath(rules, "/proc", landRead); err != nil {
		return err
	}
	if err := beneath(rules, Files, landRead); err != nil {
		return err
	}
	for _, dir := range []string{Work, "/tmp"} {
		if err := beneath(rules, dir, landWrite); err != nil {
			return err
		}
	}
	for _, d := range devices() {
		if err := beneath(rules, d, landFile); err != nil {
			return err
		}
	}
	if j.Terminal {
		if err := beneath(rules, terminal, landFile|ioctl); err != nil {
			return err
		}
	}
	for _, b := range j.Binds {
		access := uint64(landRead)
		if b.Write {
			access = landWrite
		}
		if err := beneath(rules, b.Target, access); err != nil && (!b.System || exists(b.Target)) {
			return fmt.Errorf("%s: %w", b.Target, err)
		}
	}
	return nil
}

func beneath(rules int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= landFile | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); no != 0 {
		return no
	}
	return nil
}
