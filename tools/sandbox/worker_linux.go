//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tavernsim/tools/sandbox/door"
	"tavernsim/tools/sandbox/filter"
	"tavernsim/tools/sandbox/launch"
	"tavernsim/tools/sandbox/probe"
	"tavernsim/tools/sandbox/remains"
	"tavernsim/tools/sandbox/wasm"
)

// reexecName is the argument by which this program becomes a worker.
const reexecName = "__worker"

// moduleName is the argument by which it runs a module of WebAssembly.
const moduleName = "wasm"

// selfPath is where a worker's own file is, if it is needed inside. The last name is the
// one by which this program is started.
const selfPath = "/.self/simd"

// Reexec makes this program a worker if its arguments say so. The main function calls it
// first and exits with the code.
func Reexec(args []string) (code int, worker bool) {
	if len(args) < 2 || args[1] != reexecName {
		return 0, false
	}
	if len(args) == 4 && args[2] == "probe" {
		return probe.Run(os.Stdout, args[3]), true
	}
	if len(args) >= 4 && args[2] == moduleName {
		return wasm.Run(args[3], args[4:]), true
	}
	return work(), true
}

// work is the life of a worker. It does everything on one thread, and the program
// inherits what that thread may do.
func work() int {
	runtime.LockOSThread()
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1) // a collection starts threads, which the limit of processes may refuse
	signal.Notify(make(chan os.Signal, 1))
	ignoreUnhandled()
	if err := unix.CloseRange(controlFD, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		fmt.Fprintln(os.Stderr, "simd:", reexecName, "is started by simd itself:", err)
		return 2
	}
	j, err := readJob()
	if err != nil {
		fmt.Fprintln(os.Stderr, "simd:", reexecName, "is started by simd itself:", err)
		return 2
	}
	s := j.serve()
	text, err := json.Marshal(s)
	if err == nil {
		_, err = unix.Write(statusFD, text)
	}
	if err != nil {
		return 1
	}
	return 0
}

// ignoreUnhandled ignores the signals for which Go installs no handler. Of a signal without one the first
// process of a namespace dies if its main thread blocks it at that moment, as Go's does when it starts
// threads.
func ignoreUnhandled() {
	action := struct{ handler, flags, restorer, mask uintptr }{handler: 1} // SIG_IGN
	for _, sig := range []uintptr{32, 34} {                                // 33 is Go's own, between its threads
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	}
}

// collect sends the files that the program left in Work. Nothing else runs any more.
func (j *job) collect() (left int) {
	_ = unix.Kill(-1, unix.SIGKILL)
	for {
		if _, err := unix.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	out := os.NewFile(filesFD, "files")
	defer out.Close()
	return remains.Send(out, Work, j.Keep, func(path string, data []byte) bool {
		return slices.ContainsFunc(j.Files, func(f File) bool { return f.Work && f.Path == path && bytes.Equal(f.Data, data) })
	})
}

func readJob() (*job, error) {
	control := os.NewFile(controlFD, "control")
	var head [4]byte
	if _, err := io.ReadFull(control, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > 2*MaxFiles+8*maxCommand {
		return nil, fmt.Errorf("a job of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(control, body); err != nil {
		return nil, err
	}
	runtime.KeepAlive(control)
	j := new(job)
	return j, json.Unmarshal(body, j)
}

// stageError is a stage that failed, and what is lost with it.
type stageError struct {
	lost probe.Guarantee
	err  error
}

func (e *stageError) Error() string { return e.err.Error() }

func lost(g probe.Guarantee, format string, args ...any) error {
	return &stageError{g, fmt.Errorf(format, args...)}
}

// failed is the status of a stage that failed, or of another error.
func failed(err error, other status) status {
	if e, ok := errors.AsType[*stageError](err); ok {
		return status{Failed: e.lost, Error: e.Error()}
	}
	return other
}

func (j *job) serve() status {
	if err := j.confine(); err != nil {
		return failed(err, status{Failed: probe.Privileges, Error: err.Error()})
	}
	pid, err := j.exec()
	if err != nil {
		return failed(err, status{Start: true, Error: err.Error()})
	}
	s := j.watch(pid)
	if j.Keep.Files > 0 && s.End == "" && s.Signal == "" {
		s.Left = j.collect()
	}
	return s
}

func (j *job) confine() error {
	// Nobody else with this user may look into the memory of process 1.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return lost(probe.Processes, "not dumpable: %w", err)
	}
	if j.Net {
		if err := door.Listen(doorFD, j.View); err != nil {
			return lost(probe.Network, "a proxy: %w", err)
		}
	}
	if j.View {
		if err := j.view(); err != nil {
			return err
		}
	}
	if err := j.writeFiles(); err != nil {
		return lost(probe.Files, "write the files of the command: %w", err)
	}
	if err := dropRights(); err != nil {
		return err
	}
	startThreads()
	if err := j.Limits.set(); err != nil {
		return err
	}
	if err := j.landlock(); err != nil {
		return err
	}
	if err := filter.Apply(j.Net); err != nil {
		return lost(probe.Privileges, "seccomp: %w", err)
	}
	return nil
}

// startThreads starts the threads that the runtime may want while the worker waits: below the
// limit of processes, which the program may exhaust, a thread that cannot be started ends the
// worker.
func startThreads() {
	const spare = 4
	var started sync.WaitGroup
	rest := make(chan struct{})
	for range spare {
		started.Add(1)
		go func() {
			runtime.LockOSThread() // a thread of its own, which is idle later
			defer runtime.UnlockOSThread()
			started.Done()
			<-rest
		}()
	}
	started.Wait()
	close(rest)
}

// begins is what the worker writes before its status once the program may have begun: JSON may begin with it.
const begins = "\n"

// exec starts the program. Its terminal, if it has one, is its output.
func (j *job) exec() (int, error) {
	file, err := j.lookUp()
	if err != nil {
		return 0, err
	}
	cpu, err := atMost(unix.RLIMIT_CPU, uint64(math.Ceil(j.Limits.CPU.Seconds())))
	if err != nil {
		return 0, lost(probe.Resources, "processor time: %w", err)
	}
	if _, err := unix.Write(statusFD, []byte(begins)); err != nil {
		return 0, lost(probe.Processes, "say that the program begins: %w", err)
	}
	p := launch.Program{File: file, Dir: j.Dir, Argv: j.Argv, Env: j.Env, Terminal: j.Terminal, CPU: cpu}
	return p.Start()
}

func (j *job) lookUp() (string, error) {
	if strings.Contains(j.Argv[0], "/") {
		return j.Argv[0], nil
	}
	for dir := range strings.SplitSeq(Path, ":") {
		if unix.Access(dir+"/"+j.Argv[0], unix.X_OK) == nil {
			return dir + "/" + j.Argv[0], nil
		}
	}
	return "", syscall.ENOENT
}
