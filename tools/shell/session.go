package shell

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools"
	"tavernsim/tools/mount"
	"tavernsim/tools/sandbox"
	"tavernsim/tools/shell/folders"
	"tavernsim/tools/shell/screen"
)

// Where a session has its folders. The agent's own is the one that it begins in.
const (
	agentDir   = mount.Inside + mount.Agent
	privateDir = "/session"
)

// The shell reads its commands from a pipe, so that nothing which programs leave unread in
// the terminal becomes a command. The terminal is what a script gets as its three
// descriptors; what the shell itself says goes nowhere, and so does what set -x and the traps ERR
// and DEBUG say of the line that runs the script.
//
// When errexit ends the shell, bash takes back the redirections of a builtin before the trap EXIT
// runs, and what the trap says would go nowhere, too; those of a group it leaves. In a group that line is
// heard as well, so there is one only for a script that may be the last before such a trap. The shell says into a
// file in memory whether it has one: to read it from a substitution takes a process, which is most of what a short
// command costs. Where the file cannot be written there may be a trap.
//
// A script finds in $? how the one before it ended. Without a process only a file that is sourced gives any number, and
// only as a condition it sets off neither errexit nor the trap ERR.
//
// Scripts can give the name . to a function or an alias. So the file with the number also sets a variable to a text that
// nobody knew before; without it the script is not run, and that is the end that the shell tells.
const (
	firstLines = "exec 7>&1 1>/dev/null 2>&1\nset +o history +H\nunset HISTFILE\n"
	runScript  = "if . %[1]s/status; then " + direct + "; else " + direct + "; fi"
	runInGroup = "if . %[1]s/status; then " + inGroup + "; else " + inGroup + "; fi"
	direct     = ". %[1]s/%[2]s <&7 >&7 2>&7 7>&-"
	inGroup    = "{ . %[1]s/%[2]s; } <&7 >&7 2>&7 7>&-"
	runEither  = "if ! builtin trap -p EXIT >|/tmp/.trap || [[ -s /tmp/.trap ]]; then " + runInGroup + "; else " + runScript + "; fi"
	ifRead     = "if . %[1]s/status; [[ ${" + wasRead + "-} == %[3]s ]]; then "
	orSay      = `; else builtin printf '\n%%s%%s 256\n' '%[4]s' '%[5]s' >&7; fi` + "\n"
	wasRead    = "__simd_read"
	sayEnd     = `builtin printf '\n%%s%%s %%d\n' '%s' '%s' "$?" >&7` + "\n"
)

// notRead is the exit code that orSay tells; no command has it.
const notRead = 256

// lineFor is the line for a script. Nobody can ask the shell for a trap that the script itself sets, so its text says.
func lineFor(script string) string {
	if strings.Contains(script, "trap") && (strings.Contains(strings.ToUpper(script), "EXIT") || strings.Contains(script, " 0")) {
		return ifRead + runInGroup + orSay
	}
	return ifRead + runEither + orSay
}

// session is a shell in its sandbox.
type session struct {
	opt     *Options
	trust   *trust
	owner   string
	term    *terminal
	pipe    *os.File         // commands for the shell
	private *folders.Private // scripts
	bounds  []string         // folders of the host whose sizes are bounded
	began   bool             // its first answer has been given
	once    sync.Once
	again   bool   // there was a session before
	lost    string // why that one ended between two calls; "" = it did not
	scripts int
	before  string // the end of what it has answered, which a secret may begin in
	look    looker
	loan    tools.Loan // of the command that runs; nil = no file has a value
	begun   time.Time
	swept   time.Time // files that changed since may have a secret; zero = it has looked at none
	names   []string  // of the secrets that were here
	clean   bool      // it has ended, and what it left was swept

	sweeping sync.Mutex // guards loan, swept, names and clean

	after   <-chan struct{} // cleaned of the session before; nil = there was none
	cleaned chan struct{}   // closed with clean

	calls   chan struct{} // holds the one call that may be under way
	stop    context.CancelFunc
	changed chan struct{} // something came; holds one
	drained chan struct{} // closed when all that was written is read
	gone    chan struct{} // closed then, when no process is left

	bounding sync.Mutex   // guards the following fields
	size     folders.Size // of bounds
	nextLook time.Time
	full     string // why the session ends for what is in its folders

	mu      sync.Mutex // guards the following fields
	first   int        // process of the host
	pending []byte     // that may be a part of an end marker
	told    int        // bytes of pending that were shown
	marker  []byte     // of the command that runs; nil = none does
	script  string     // its file
	exit    int        // of the last command
	screen  screen.Screen
	last    time.Time // when something came
	ended   *ending   // of the session
}

// ending is how a session ended.
type ending struct {
	result sandbox.Result
	err    error
	why    string // "" = its program did
}

// start starts a session for an agent.
func start(opt *Options, t *trust, c *tools.Call) (*session, error) {
	s := &session{opt: opt, trust: t, begun: folders.Moment(), owner: c.Owner, calls: make(chan struct{}, 1), changed: make(chan struct{}, 1), drained: make(chan struct{}), gone: make(chan struct{}), cleaned: make(chan struct{})}
	mounts, err := s.folders(c)
	if err == nil {
		err = s.begin()
	}
	if err == nil {
		s.term, err = openTerminal()
	}
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, s.term.close(), s.remove())
	}
	s.pipe, s.look.device = ours, s.term.device
	ctx, stop := context.WithCancel(context.Background()) // it outlives the call
	s.stop = stop
	dir := sandbox.Work
	for _, m := range mounts {
		if m.Inside == agentDir {
			dir = agentDir
		}
	}
	cmd := sandbox.Command{
		Argv: []string{"bash", "--noprofile", "--norc", "--noediting", "-i"}, Dir: dir, In: theirs, Terminal: s.term.slave, Mounts: mounts, Hard: true, Limits: limits(),
		Env: []string{"TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat", "NO_COLOR=1", "PS1=", "PS2=", "PROMPT_COMMAND="},
		Started: func(pid int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.first = pid
		},
	}
	go s.read()
	go s.watch()
	go func() {
		r, err := opt.Sandbox.Run(ctx, cmd)
		_ = theirs.Close()
		s.over(&ending{result: r, err: err})
	}()
	_ = s.shellReads(firstLines) // the command that follows says why it could not
	return s, nil
}

// errGone: nobody reads what the shell is told.
var errGone = errors.New("its shell has left")

// shellReads gives the shell lines. It has left with errGone, and so has the session.
func (s *session) shellReads(lines string) error {
	if _, err := s.pipe.WriteString(lines); err == nil {
		return nil
	}
	s.stop()
	<-s.gone
	return errGone
}

// limits are those of a session: its programs live long.
func limits() sandbox.Limits {
	return sandbox.Limits{Time: 10_000 * time.Hour, CPU: 10 * time.Minute}
}

// folders makes the folders of a session, and gives what its programs see of them.
func (s *session) folders(c *tools.Call) (mounts []sandbox.Mount, err error) {
	if s.private, err = folders.NewPrivate(folders.ForShell); err != nil {
		return nil, err
	}
	uid, gid := sandbox.HostIDs()
	if uid != os.Geteuid() {
		if err := os.Chown(s.private.Path, uid, gid); err != nil {
			return nil, err
		}
	}
	mounts = append(mounts, sandbox.Mount{Host: s.private.Path, Inside: privateDir})
	if c.Files == nil {
		return mounts, nil
	}
	for _, name := range protocol.SortedKeys(c.Files.Folders) {
		m, err := folders.Ready(name, c.Files.Folders[name], maxFiles)
		if err != nil {
			return nil, err
		}
		if m.Host == "" {
			continue
		}
		if mounts = append(mounts, m); m.Write {
			s.bounds = append(s.bounds, m.Host)
		}
	}
	return mounts, nil
}

// over notes the end of the session, once no process is left.
func (s *session) over(e *ending) {
	s.mu.Lock()
	if s.ended == nil {
		s.ended = e
	} else {
		s.ended.result, s.ended.err = e.result, errors.Join(s.ended.err, e.err)
	}
	s.mu.Unlock()
	_ = s.pipe.Close()
	_ = s.term.slave.Close() // now the reader sees the end
	<-s.drained
	close(s.gone)
	s.signal()
}

// end ends the session; it returns when no process is left, and what they left was looked at.
func (s *session) end(why string) {
	s.halt(why)
	finish(s)
}

// halt ends the programs of the session; it returns when none is left, and no file has a secret for them.
func (s *session) halt(why string) {
	s.mu.Lock()
	if s.ended == nil {
		s.ended = &ending{why: why}
	}
	s.mu.Unlock()
	s.stop()
	<-s.gone
	_ = s.term.master.Close()
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	s.takeBack()
}

// follows waits until the session before was cleaned. Both sweep the folders of one agent: the end of the other would
// remove what was lent to this one.
func (s *session) follows(ctx context.Context) bool {
	if s.after == nil {
		return true
	}
	select {
	case <-s.after:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *session) remove() error { return s.private.Remove() }

func (s *session) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// read reads what the programs write, until the end. It never lets them wait for long.
func (s *session) read() {
	defer close(s.drained)
	b := make([]byte, 32<<10)
	for {
		n, err := s.term.master.Read(b)
		s.mu.Lock()
		s.feed(b[:n])
		s.last = time.Now()
		flood := s.screen.Dropped() > maxFlood
		s.mu.Unlock()
		s.signal()
		if err != nil {
			return
		}
		if flood {
			<-time.After(time.Millisecond) // what nobody will see is not worth a processor
		}
	}
}

// maxFlood is how much is dropped at full speed, in bytes.
const maxFlood = 16 << 20

// feed takes what came, and finds the end of the command in it. The end marker stands on a
// line of its own, for which a line break was put before it.
func (s *session) feed(b []byte) {
	s.pending = append(s.pending, b...)
	for {
		if len(s.marker) == 0 {
			s.show(len(s.pending))
			return
		}
		i := bytes.Index(s.pending, s.marker)
		if i < 0 {
			s.show(len(s.pending) - overlap(s.pending, s.marker))
			return
		}
		line := s.pending[i+len(s.marker):]
		end := bytes.IndexByte(line, '\n')
		if end < 0 && len(line) < maxCode {
			return // its rest is not there yet
		}
		code, err := strconv.Atoi(strings.TrimSuffix(string(line[:max(end, 0)]), "\r"))
		if err != nil || end < 0 || end >= maxCode { // no digits follow: it is none
			s.show(i + len(s.marker))
			continue
		}
		n := len(s.marker) + end + 1
		s.show(i)
		s.pending, s.marker, s.told, s.exit = s.pending[n:], nil, 0, code
		s.screen.ToEnd() // the line break is the marker's
	}
}

// show takes the first bytes of what is pending as output. Some may have been shown already.
func (s *session) show(n int) {
	if s.told < n {
		s.screen.Write(s.pending[s.told:n])
	}
	s.told = max(s.told-n, 0)
	s.pending = append(s.pending[:0], s.pending[n:]...)
}

// tell shows a line break that is pending, which may begin an end marker.
func (s *session) tell() {
	if string(s.pending) == "\n" && s.told == 0 {
		s.screen.Write(s.pending)
		s.told = len(s.pending)
	}
}

const maxCode = 8 // bytes of an exit code and its line break

// overlap is how many bytes at the end of a text may begin a marker.
func overlap(b, marker []byte) int {
	n := min(len(b), len(marker)-1)
	for ; n > 0 && !bytes.HasPrefix(marker, b[len(b)-n:]); n-- {
	}
	return n
}

// write writes a file that the shell sources.
func (s *session) write(name, script string) (file string, err error) {
	file = filepath.Join(s.private.Path, name)
	if err := os.WriteFile(file, []byte(script+"\n"), 0o600); err != nil {
		return "", err
	}
	if uid, gid := sandbox.HostIDs(); uid != os.Geteuid() {
		err = os.Chown(file, uid, gid)
	}
	return file, err
}

// command gives the shell a script. secrets are variables for it alone.
func (s *session) command(script string, secrets map[string]string) error {
	s.scripts++
	name := strconv.Itoa(s.scripts)
	s.mu.Lock()
	exit := s.exit
	s.mu.Unlock()
	one, two, read := rand.Text(), rand.Text(), rand.Text()
	if _, err := s.write("status", wasRead+"="+read+"\nreturn "+strconv.Itoa(exit)); err != nil {
		return err
	}
	file, err := s.write(name, script)
	if err != nil {
		return err
	}
	_ = s.term.reset() // the modes that a program left are no reason to do nothing
	var b strings.Builder
	for _, v := range protocol.SortedKeys(secrets) {
		fmt.Fprintf(&b, "%s='%s'\n", v, strings.ReplaceAll(secrets[v], "'", `'\''`))
	}
	fmt.Fprintf(&b, lineFor(script), privateDir, name, read, one, two)
	fmt.Fprintf(&b, sayEnd, one, two)
	for _, v := range append(protocol.SortedKeys(secrets), wasRead) {
		fmt.Fprintf(&b, "unset %s\n", v)
	}
	s.mu.Lock()
	s.marker, s.script, s.last = []byte("\n"+one+two+" "), file, time.Now()
	s.mu.Unlock()
	return s.shellReads(b.String())
}

// keys writes to the terminal, as keys that are pressed.
func (s *session) keys(ctx context.Context, b []byte) error {
	end, ok := ctx.Deadline()
	if !ok || time.Until(end) > maxKeys {
		end = time.Now().Add(maxKeys)
	}
	_ = s.term.master.SetWriteDeadline(end)
	_, err := s.term.master.Write(b)
	s.mu.Lock()
	s.last = time.Now()
	s.mu.Unlock()
	return err
}

// maxKeys is how long a terminal may not take what is typed.
const maxKeys = 2 * time.Second

// trusted notes that programs of the session have secrets, before they do.
func (s *session) trusted(secrets map[string]string) error {
	if err := s.trust.given(s, secrets); err != nil {
		return err
	}
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	for _, name := range protocol.SortedKeys(secrets) {
		if !slices.Contains(s.names, name) {
			s.names = append(s.names, name)
		}
	}
	return nil
}

// quiet reports whether nothing is told of what programs of the session write: one was given a
// secret that a variable or a file may still hold.
func (s *session) quiet() bool {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	return s.opt.Withheld != nil && s.opt.Withheld(s.names...)
}

// lend lets files have secrets until the command ends.
func (s *session) lend(loan tools.Loan) (note string, err error) {
	if loan == nil {
		return "", nil
	}
	if err := s.trusted(loan.Values()); err != nil {
		return "", err
	}
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	if s.clean {
		return "", nil // nobody would take it back
	}
	s.loan = loan
	return strings.Join(loan.Lend(), "; "), nil
}

// running reports whether a command has not ended.
func (s *session) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.marker != nil && s.ended == nil
}

func (s *session) isOver() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}
