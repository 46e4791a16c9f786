//go:build amd64 || arm64

package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// prober tries, inside, what nobody may do.
type prober struct {
	Task
	tries []Try
}

// Run tries everything and writes the tries as JSON. task is a Task as JSON.
func Run(out io.Writer, task string) (code int) {
	signal.Ignore(syscall.SIGXFSZ, syscall.SIGSYS)
	var p prober
	if err := json.Unmarshal([]byte(task), &p.Task); err != nil {
		return 1
	}
	p.files()
	p.sockets()
	p.processes()
	p.environment()
	p.privileges()
	p.resources()
	p.lifetime()
	p.descriptors()
	p.forks()
	if json.NewEncoder(out).Encode(p.tries) != nil {
		return 1
	}
	return 0
}

// refused notes a try that had to fail.
func (p *prober) refused(g Guarantee, what string, err error) {
	t := Try{Guarantee: g, What: what, Refused: err != nil, How: "reached"}
	if err != nil {
		t.How = err.Error()
	}
	p.tries = append(p.tries, t)
}

// holds notes a condition.
func (p *prober) holds(g Guarantee, what string, ok bool, how string) {
	p.tries = append(p.tries, Try{Guarantee: g, What: what, Refused: ok, How: how})
}

func (p *prober) files() {
	for _, path := range p.Hidden {
		_, err := os.Lstat(path)
		p.refused(Files, "see "+path, err)
	}
	for _, path := range []string{"/proc/1/root/etc", "/proc/1/cwd/etc", "/proc/1/mem", "/proc/1/fd/3", "/proc/kcore", "/proc/self/root/../../etc/shadow", "/dev/kmsg", "/dev/mem", "/dev/sda", "/dev/vda"} {
		p.refused(Files, "read "+path, readErr(path))
	}
	p.refused(Files, "keep something beside a file", unix.Setxattr(p.Work, "user.simd", []byte("x"), 0))
	p.flags()
	p.lock()
	p.watch()
	for _, path := range []string{"/usr/x", "/etc/x", "/x", "/dev/x", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/1/oom_score_adj"} {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			f.Close()
		}
		p.refused(Files, "write "+path, err)
	}
	p.refused(Files, "replace "+p.Self, os.Remove(p.Self))
	p.refused(Files, "a device", unix.Mknod(p.Work+"/disk", unix.S_IFBLK|0o600, 8<<8))
	p.refused(Files, "a hard link of a program", os.Link("/usr/bin/env", p.Work+"/env"))
	_ = os.Symlink("/root", p.Work+"/root")
	p.refused(Files, "through a symbolic link", readErr(p.Work+"/root/.profile"))
}

// lock tries to take one that belongs to an open file: the list of locks does not say whose it is.
func (p *prober) lock() {
	f, err := os.Create(p.Work + "/lock")
	if err != nil {
		p.holds(Resources, "make a file", false, err.Error())
		return
	}
	defer f.Close()
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Len: 1})
	p.refused(Resources, "lock an open file", err)
}

// watch tries to be told what others do with files.
func (p *prober) watch() {
	p.refused(Files, "watch files (inotify)", call(unix.SYS_INOTIFY_INIT1, 0, 0, 0, 0))
	fd, err := unix.Open("/usr", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		p.holds(Files, "open a system folder", false, err.Error())
		return
	}
	defer unix.Close(fd)
	const made = 4 // DN_CREATE
	_, err = unix.FcntlInt(uintptr(fd), unix.F_NOTIFY, made)
	p.refused(Files, "watch a folder (F_NOTIFY)", err)
	own, err := unix.Open(p.Work+"/leased", unix.O_CREAT|unix.O_RDONLY, 0o600)
	if err != nil {
		p.holds(Files, "make a file", false, err.Error())
		return
	}
	defer unix.Close(own)
	_, err = unix.FcntlInt(uintptr(own), unix.F_SETLEASE, unix.F_RDLCK)
	p.refused(Files, "watch a file (F_SETLEASE)", err)
}

// flags tries to give a folder flags that stay with it, and that no reader of files looks at.
func (p *prober) flags() {
	fd, err := unix.Open(p.Work, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		p.holds(Files, "open the folder", false, err.Error())
		return
	}
	defer unix.Close(fd)
	const setAttributes = 0x401c5820 // FS_IOC_FSSETXATTR
	none := [128]byte{}
	for _, c := range []struct {
		what    string
		request uintptr
	}{{"flags", unix.FS_IOC_SETFLAGS}, {"attributes", setAttributes}, {"a seal", unix.FS_IOC_ENABLE_VERITY}, {"a key", unix.FS_IOC_SET_ENCRYPTION_POLICY}} {
		p.refused(Files, "give a folder "+c.what, call(unix.SYS_IOCTL, uintptr(fd), c.request, uintptr(unsafe.Pointer(&none)), 0))
	}
	p.refused(Files, "give a folder attributes by a call", call(unix.SYS_FILE_SETATTR, uintptr(fd), 0, 0, 0))
}

func readErr(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil
	}
	_, err = f.Read(make([]byte, 1))
	return err
}

func (p *prober) sockets() {
	for _, f := range []struct {
		name           string
		domain, kind   int
		protocolNumber int
	}{
		{"TCP", unix.AF_INET, unix.SOCK_STREAM, 0},
		{"MPTCP", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP},
		{"SCTP", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP},
		{"TCP over IPv6", unix.AF_INET6, unix.SOCK_STREAM, 0},
		{"UDP", unix.AF_INET, unix.SOCK_DGRAM, 0},
		{"raw", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
		{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0},
		{"netlink", unix.AF_NETLINK, unix.SOCK_RAW, 0},
		{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{"Unix", unix.AF_UNIX, unix.SOCK_STREAM, 0},
		{"Unix datagram", unix.AF_UNIX, unix.SOCK_DGRAM, 0},
		{"kernel crypto", unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{"Bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 0},
		{"CAN", unix.AF_CAN, unix.SOCK_RAW, 1},
	} {
		if f.name == "TCP" && p.Proxy != "" {
			continue
		}
		fd, err := unix.Socket(f.domain, f.kind, f.protocolNumber)
		if err == nil {
			unix.Close(fd)
		}
		p.refused(Network, "a socket: "+f.name, err)
	}
	if p.Proxy != "" {
		p.connections()
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		unix.Close(pair[0])
		unix.Close(pair[1])
	}
	p.refused(Network, "a pair of datagram sockets", err)
	links, err := os.ReadFile("/proc/net/dev")
	p.holds(Network, "see interfaces", err != nil || strings.Count(string(links), ":") <= 1, fmt.Sprintf("%d interfaces", strings.Count(string(links), ":")))
}

// connections tries what a program may do that has TCP to one address.
func (p *prober) connections() {
	c, err := net.DialTimeout("tcp4", p.Proxy, proxyTime)
	if err == nil {
		err = greeted(c)
		_ = c.Close()
	}
	p.holds(Network, "reach the proxy", err == nil, fmt.Sprint(err))
	for _, address := range []string{"127.0.0.1:80", "127.0.0.2:3128", "0.0.0.0:53", "1.1.1.1:443", "1.1.1.1:3128", "10.0.0.1:80", "169.254.169.254:80", "192.168.0.1:3128"} {
		c, err := net.DialTimeout("tcp4", address, dialTime)
		if err == nil {
			_ = c.Close()
		}
		p.refused(Network, "connect to "+address, err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		p.holds(Network, "make a socket of TCP", false, err.Error())
		return
	}
	defer unix.Close(fd)
	p.refused(Network, "bind a socket", unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	p.refused(Network, "listen", unix.Listen(fd, 1))
	// A connection that begins with its first bytes passes by the rules about connections.
	p.refused(Network, "connect with the first bytes", unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: 443, Addr: [4]byte{1, 1, 1, 1}}))
}

// greeted reads what the proxy of a probe says.
func greeted(c net.Conn) error {
	_ = c.SetDeadline(time.Now().Add(proxyTime))
	said := make([]byte, len(Greeting))
	if _, err := io.ReadFull(c, said); err != nil {
		return err
	}
	if string(said) != Greeting {
		return fmt.Errorf("it says %q", said)
	}
	return nil
}

const (
	// proxyTime bounds the wait for the proxy. It is long because the engine answers as soon as the machine lets
	// it, and because a probe that gives up refuses, for a whole run, every tool that reaches a server.
	proxyTime = 5 * time.Second
	// dialTime bounds a connection that has to fail.
	dialTime = 500 * time.Millisecond
)

func (p *prober) processes() {
	entries, err := os.ReadDir("/proc")
	n := 0
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			n++
		}
	}
	p.holds(Processes, "see processes", err == nil && n <= 2, fmt.Sprintf("%d processes", n))
	p.refused(Processes, "trace process 1", call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1, 0, 0))
	p.refused(Processes, "read the memory of process 1", call(unix.SYS_PROCESS_VM_READV, 1, 0, 0, 0))
	p.refused(Processes, "take a descriptor of process 1", call(unix.SYS_PIDFD_GETFD, ^uintptr(0), 3, 0, 0))
	p.refused(Processes, "System V memory", call(unix.SYS_SHMGET, 0, 4096, unix.IPC_CREAT|0o600, 0))
	p.refused(Processes, "see open files of process 1", readErr("/proc/1/fd"))
	p.rule()
}

// rule tries to say how others run: a process 1 that is slow, or may open nothing, looks too late
// at what all have together.
func (p *prober) rule() {
	same, param, all := [1]uint64{}, [2]uint64{}, [128]byte{}
	for i := range all {
		all[i] = 0xff
	}
	for _, c := range []struct {
		what       string
		number     uintptr
		a, b, c, d uintptr
	}{
		{"limits of process 1", unix.SYS_PRLIMIT64, 1, unix.RLIMIT_NOFILE, 0, 0},
		{"nice of process 1", unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 1, 0, 0},
		{"nice of this user", unix.SYS_SETPRIORITY, unix.PRIO_USER, 0, 0, 0},
		{"disk class of process 1", unix.SYS_IOPRIO_SET, 1, 1, 0, 0},
		{"disk class of this user", unix.SYS_IOPRIO_SET, 3, 0, 0, 0},
		{"scheduler of process 1", unix.SYS_SCHED_SETSCHEDULER, 1, 0, uintptr(unsafe.Pointer(&same)), 0},
		{"scheduler parameters of process 1", unix.SYS_SCHED_SETPARAM, 1, uintptr(unsafe.Pointer(&param)), 0, 0},
		{"scheduler attributes of process 1", unix.SYS_SCHED_SETATTR, 1, 0, 0, 0},
		{"processors of process 1", unix.SYS_SCHED_SETAFFINITY, 1, uintptr(len(all)), uintptr(unsafe.Pointer(&all)), 0},
	} {
		p.refused(Processes, "set the "+c.what, call(c.number, c.a, c.b, c.c, c.d))
	}
}

func (p *prober) environment() {
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "PATH", "HOME", "TMPDIR", "LANG":
		case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "NODE_USE_ENV_PROXY":
			p.holds(Environment, "see "+name, p.Proxy != "", "reached")
		default:
			p.holds(Environment, "see "+name, false, "reached")
		}
	}
	name, err := os.Hostname()
	p.holds(Environment, "see the name of the machine", err == nil && name == "sandbox", name)
	p.holds(Environment, "see own environment", true, fmt.Sprintf("%d variables", len(os.Environ())))
	for _, pid := range []string{"1", strconv.Itoa(os.Getppid())} {
		text, err := os.ReadFile("/proc/" + pid + "/environ")
		how := fmt.Sprintf("%d bytes", len(text))
		if err != nil {
			how = err.Error()
		}
		p.holds(Environment, "read /proc/"+pid+"/environ", err != nil || len(text) == 0, how)
	}
}

// call makes a system call that has to fail because it is denied, not because its
// arguments are wrong: whatever else the kernel says counts as reached.
func call(n uintptr, a, b, c, d uintptr) error {
	_, _, no := unix.Syscall6(n, a, b, c, d, 0, 0)
	if no == unix.EPERM || no == unix.ENOSYS || no == unix.EACCES {
		return no
	}
	return nil
}

func (p *prober) privileges() {
	for _, c := range []struct {
		what       string
		number     uintptr
		a, b, c, d uintptr
	}{
		{"mount", unix.SYS_MOUNT, 0, 0, 0, 0},
		{"umount", unix.SYS_UMOUNT2, 0, 0, 0, 0},
		{"pivot_root", unix.SYS_PIVOT_ROOT, 0, 0, 0, 0},
		{"chroot", unix.SYS_CHROOT, 0, 0, 0, 0},
		{"fsopen", unix.SYS_FSOPEN, 0, 0, 0, 0},
		{"open_tree", unix.SYS_OPEN_TREE, 0, 0, 0, 0},
		{"move_mount", unix.SYS_MOVE_MOUNT, 0, 0, 0, 0},
		{"a user namespace", unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0, 0, 0},
		{"clone3", unix.SYS_CLONE3, 0, 0, 0, 0},
		{"setns", unix.SYS_SETNS, ^uintptr(0), 0, 0, 0},
		{"ptrace", unix.SYS_PTRACE, unix.PTRACE_ATTACH, ^uintptr(0), 0, 0},
		{"bpf", unix.SYS_BPF, 0, 0, 0, 0},
		{"keyctl", unix.SYS_KEYCTL, 0, ^uintptr(2), 0, 0},
		{"add_key", unix.SYS_ADD_KEY, 0, 0, 0, 0},
		{"io_uring", unix.SYS_IO_URING_SETUP, 1, 0, 0, 0},
		{"perf", unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0},
		{"userfaultfd", unix.SYS_USERFAULTFD, 0, 0, 0, 0},
		{"a module", unix.SYS_INIT_MODULE, 0, 0, 0, 0},
		{"kexec", unix.SYS_KEXEC_LOAD, 0, 0, 0, 0},
		{"files by handle", unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0, 0},
		{"memory without a limit", unix.SYS_MEMFD_CREATE, 0, 0, 0, 0},
		{"rules without a limit", unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 0, 0},
		{"the clock", unix.SYS_CLOCK_SETTIME, 0, 0, 0, 0},
		{"the host name", unix.SYS_SETHOSTNAME, 0, 0, 0, 0},
	} {
		p.refused(Privileges, c.what, call(c.number, c.a, c.b, c.c, c.d))
	}
	p.foreign()
	pid, _, no := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if no == 0 && pid == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
	var err error
	if no != 0 {
		err = no
	}
	p.refused(Privileges, "a child in a user namespace", err)
	p.refused(Privileges, "user 0", syscall.Setuid(0))
	p.refused(Privileges, "group 0", syscall.Setgid(0))
	p.rights()
}

// foreign tries to make files that others run with the rights of their owner.
func (p *prober) foreign() {
	const mode = 0o755 | unix.S_ISUID
	file := p.Work + "/foreign"
	fd, err := unix.Open(file, unix.O_CREAT|unix.O_RDWR, 0o755)
	if err != nil {
		p.holds(Privileges, "make a file", false, err.Error())
		return
	}
	defer unix.Close(fd)
	p.refused(Privileges, "setuid by chmod", unix.Chmod(file, mode))
	p.refused(Privileges, "setuid by fchmod", unix.Fchmod(fd, mode))
	p.refused(Privileges, "setgid by fchmodat", unix.Fchmodat(unix.AT_FDCWD, file, 0o755|unix.S_ISGID, 0))
	p.refused(Privileges, "setuid by mknod", unix.Mknod(file+"1", unix.S_IFREG|mode, 0))
	fd, err = unix.Open(file+"2", unix.O_CREAT|unix.O_WRONLY, mode)
	if err == nil {
		unix.Close(fd)
	}
	p.refused(Privileges, "setuid by open", err)
	p.refused(Privileges, "open with flags in memory", call(unix.SYS_OPENAT2, 0, 0, 0, 0))
}

// rights reads what the kernel says of this process.
func (p *prober) rights() {
	text, err := os.ReadFile("/proc/self/status")
	want := map[string]string{"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000", "CapAmb": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if w, known := want[name]; known {
			value = strings.TrimSpace(value)
			p.holds(Privileges, name, value == w, value)
			delete(want, name)
		}
	}
	p.holds(Privileges, "rights are known", err == nil && len(want) == 0, fmt.Sprint(len(want), " unknown"))
}

// buffers tries to have sockets hold more than they begin with.
func (p *prober) buffers() {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		p.holds(Resources, "make a pair of streams", false, err.Error())
		return
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	for what, option := range map[string]int{"sent": unix.SO_SNDBUF, "received": unix.SO_RCVBUF} {
		had, _ := unix.GetsockoptInt(pair[0], unix.SOL_SOCKET, option)
		_ = unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, option, 2*had)
		has, err := unix.GetsockoptInt(pair[0], unix.SOL_SOCKET, option)
		p.holds(Resources, "enlarge the buffer of what is "+what, err == nil && had > 0 && has == had, fmt.Sprint(had, " and ", has, " bytes"))
	}
}
