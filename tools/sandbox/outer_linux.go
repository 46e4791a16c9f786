//go:build amd64 || arm64

package sandbox

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// An outer stage gives the worker its namespaces.
type outer interface {
	name() string
	// plain reports whether all workers start alike, and build the view of their job.
	plain() bool
	// command starts the worker. The caller adds outputs and pipes.
	command(j *job) (*exec.Cmd, error)
}

func outers() []outer { return []outer{namespaces{}, bubblewrap{}} }

// Inside, a program has this user, and the same number as its group.
const insideID = 1000

// Where the engine is root, the program has this user on the host: limits of processes do
// not hold for root.
const nobody = 65534

// systemPaths are what every program may read. No file of /etc names a user or a machine.
func systemPaths() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
	}
}

func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
}

// deviceBehind is the device of the host that has the name inside. /dev/full reads as /dev/zero does; /dev/zero
// itself would give shared memory that nobody can count (package filter).
func deviceBehind(name string) string {
	if name == "/dev/zero" {
		return "/dev/full"
	}
	return name
}

// terminal is the name by which a program opens its controlling terminal.
const terminal = "/dev/tty"

func (j *job) devices() []string {
	if j.Terminal {
		return append(devices(), terminal)
	}
	return devices()
}

// namespaces asks the kernel itself. The worker builds the view of files.
type namespaces struct{}

func (namespaces) name() string { return "namespaces" }

func (namespaces) plain() bool { return true }

func (namespaces) command(*job) (*exec.Cmd, error) {
	uid, gid := hostIDs()
	c := exec.Command("/proc/self/exe") // also if the file was replaced since
	c.Args = []string{"simd", reexecName}
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:                 unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings:                []syscall.SysProcIDMap{{ContainerID: insideID, HostID: uid, Size: 1}},
		GidMappings:                []syscall.SysProcIDMap{{ContainerID: insideID, HostID: gid, Size: 1}},
		GidMappingsEnableSetgroups: switches(),
		AmbientCaps:                []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SETUID, unix.CAP_SETGID},
		Setsid:                     true,
	}
	return c, nil
}

// links are the symbolic links of /dev: what each points to, and where it is.
func links() [][2]string {
	return [][2]string{
		{"/tmp", "/dev/shm"}, {"/proc/self/fd", "/dev/fd"},
		{"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"},
	}
}

// HostIDs are the user and group that a program has on the host.
func HostIDs() (uid, gid int) { return hostIDs() }

// hostIDs are the engine's own, but for root those of nobody, if the engine's namespace has them.
func hostIDs() (uid, gid int) {
	uid, gid = os.Geteuid(), os.Getegid()
	if uid == 0 && mapped("/proc/self/uid_map") && mapped("/proc/self/gid_map") {
		return nobody, nobody
	}
	return uid, gid
}

// switches reports whether the worker is root of the host, and leaves that user.
func switches() bool {
	uid, _ := hostIDs()
	return uid != os.Geteuid()
}

// mapped reports whether a map of ids has nobody.
func mapped(file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 {
			from, _ := strconv.ParseInt(f[0], 10, 64)
			size, _ := strconv.ParseInt(f[2], 10, 64)
			if from <= nobody && nobody < from+size {
				return true
			}
		}
	}
	return false
}

// bubblewrap is for systems that let this program alone make no namespaces. It builds
// the view; the worker has no rights from the start.
type bubblewrap struct {
	self string // the file of this program; "" = where it was started
}

func (bubblewrap) name() string { return "bubblewrap" }

func (bubblewrap) plain() bool { return false }

func (w bubblewrap) command(j *job) (*exec.Cmd, error) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, err
	}
	self := w.self
	if self == "" {
		if self, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	id := strconv.Itoa(insideID)
	args := []string{
		"--unshare-all", "--unshare-user", "--uid", id, "--gid", id, "--hostname", hostname, "--cap-drop", "ALL",
		"--die-with-parent", "--as-pid-1", "--new-session", "--proc", "/proc", "--dir", "/dev",
	}
	for _, l := range links() {
		args = append(args, "--symlink", l[0], l[1])
	}
	for _, d := range j.devices() {
		args = append(args, "--dev-bind", deviceBehind(d), d)
	}
	for _, dir := range []string{"/tmp", Work} {
		args = append(args, "--size", strconv.FormatInt(j.Limits.Disk, 10), "--tmpfs", dir)
	}
	args = append(args, bind{Source: self, Target: selfPath}.bwrap()...)
	args = append(args, "--size", strconv.Itoa(2*MaxFiles), "--tmpfs", Files) // the worker writes there, the program cannot
	for _, b := range j.Binds {
		if b.Target != selfPath {
			args = append(args, b.bwrap()...)
		}
	}
	c := exec.Command(program, append(args, "--remount-ro", "/", "--chdir", "/", "--", selfPath, reexecName)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if uid, gid := hostIDs(); uid != os.Geteuid() {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return c, nil
}

// bwrap gives the arguments for one mount.
func (b bind) bwrap() []string {
	how := "--ro-bind"
	switch link, err := os.Readlink(b.Source); {
	case b.System && err == nil:
		return []string{"--symlink", link, b.Target}
	case b.System:
		how = "--ro-bind-try" // another system has other folders
	case b.Write:
		how = "--bind"
	}
	return []string{how, b.Source, b.Target}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
