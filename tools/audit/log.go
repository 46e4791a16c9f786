package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tavernsim/protocol"
)

// Bounds.
const (
	MaxLine  = 16 << 10 // bytes
	MaxFile  = 64 << 20 // bytes, before the next line goes into a new file
	MaxFiles = 16       // of a log, with the newest

	maxParams = 8 << 10 // bytes of parameters; of more a line has the hash alone
)

// Entry is a line.
type Entry struct {
	Seq  int64     `json:"seq"`  // from 1
	Time time.Time `json:"time"` // of the wall clock
	What string    `json:"what"` // call or result
	Of   int64     `json:"of,omitempty"`

	// Of a call.
	By         string          `json:"by,omitempty"`   // cli or mcp
	User       string          `json:"user,omitempty"` // of the operating system
	Project    string          `json:"project,omitempty"`
	Tool       string          `json:"tool,omitempty"`
	Mode       string          `json:"mode,omitempty"`
	Definition string          `json:"definition,omitempty"` // SHA-256 of the tool's
	Params     json.RawMessage `json:"params,omitempty"`     // masked
	ParamsHash string          `json:"params_sha256,omitempty"`

	// Of a result.
	Status   string            `json:"status,omitempty"`
	Kind     string            `json:"kind,omitempty"` // of the error
	Rule     string            `json:"rule,omitempty"` // of the policy
	Attempts int               `json:"attempts,omitempty"`
	Took     protocol.Duration `json:"took,omitzero"`
	Failed   json.RawMessage   `json:"failed_nodes,omitempty"`  // of the workflow that carried the call out, masked
	Result   string            `json:"result_sha256,omitempty"` // of status, output, error and artifacts

	Hooks     json.RawMessage `json:"hooks,omitempty"` // what hooks of plugins did to the call, masked
	HooksHash string          `json:"hooks_sha256,omitempty"`

	Prev string `json:"prev"` // SHA-256 of the line before, without its end; of the first: of nothing
}

const (
	whatCall   = "call"
	whatResult = "result"
)

// Log is a file of lines. It is safe for concurrent use, also by other processes.
type Log struct {
	file string
	now  func() time.Time
	most int64 // MaxFile
}

// Open makes the folder of a log. The file is made with its first line.
func Open(file string) (*Log, error) {
	file, err := filepath.Abs(file)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.KindInvalid, "audit: %w; name a file that can be written (--audit FILE), or --audit off", err)
	}
	return &Log{file: file, now: time.Now, most: MaxFile}, nil
}

// DefaultFile is where the log of an operator lies: $SIMD_AUDIT, else simd/audit.jsonl of
// the data folder; "" = there is no home.
func DefaultFile(getenv func(string) string) string {
	if file := getenv("SIMD_AUDIT"); file != "" {
		return file
	}
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "simd", "audit.jsonl")
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "simd", "audit.jsonl")
	}
	return ""
}

// Off in the place of a file: nothing is kept.
const Off = "off"

// Begin notes that a call is about to be made, and gives its number.
func (l *Log) Begin(e Entry, params any) (int64, error) {
	e.What = whatCall
	b, err := json.Marshal(params) // keys are sorted
	if err != nil {
		return 0, protocol.Errorf(protocol.KindInternal, "audit: the parameters: %w", err)
	}
	if e.Params = b; len(b) > maxParams {
		e.Params, e.ParamsHash = nil, Hash(b)
	}
	return l.append(e)
}

// End notes what came of a call.
func (l *Log) End(call int64, e Entry) error {
	if e.What, e.Of = whatResult, call; len(e.Hooks) > maxParams {
		e.Hooks, e.HooksHash = nil, Hash(e.Hooks)
	}
	_, err := l.append(e)
	return err
}

// Hash is a SHA-256 in hexadecimal digits.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// append writes a line behind the last one.
func (l *Log) append(e Entry) (int64, error) {
	f, err := l.locked()
	if err != nil {
		return 0, protocol.Errorf(protocol.KindInvalid, "audit: %w", err)
	}
	err = l.write(f, &e)
	if err = errors.Join(err, f.Close()); err != nil { // it gives the lock back, too
		return 0, protocol.Errorf(protocol.KindInvalid, "audit: %w", err)
	}
	return e.Seq, nil
}

// locked opens the file when nobody else writes to it. Whoever waited may have a file that
// was set aside meanwhile.
func (l *Log) locked() (*os.File, error) {
	for {
		f, err := os.OpenFile(l.file, os.O_RDWR|os.O_CREATE|nonblock, 0o600)
		if err != nil {
			return nil, err
		}
		own, err := f.Stat()
		if err == nil && !own.Mode().IsRegular() {
			err = fmt.Errorf("%s has the mode %s; want a regular file", l.file, own.Mode())
		}
		if err == nil {
			err = lock(f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if now, err := os.Stat(l.file); err == nil && os.SameFile(own, now) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

func (l *Log) write(f *os.File, e *Entry) error {
	last, end, err := lastLine(f)
	if err != nil {
		return err
	}
	before := Entry{}
	if last == nil { // perhaps the one before was set aside
		older, err := aside(l.file)
		if err != nil {
			return err
		}
		if len(older) > 0 {
			if last, err = lastOf(older[len(older)-1]); err != nil {
				return err
			}
		}
	}
	if last != nil {
		if err := json.Unmarshal(last, &before); err != nil || before.Seq < 1 {
			return fmt.Errorf("%s: the last line is no line of an audit; simd tool audit %s says where the chain breaks; move the file away to begin a new one", l.file, l.file)
		}
	}
	e.Seq, e.Time, e.Prev = before.Seq+1, l.now().UTC(), Hash(last)
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(line) >= MaxLine {
		return fmt.Errorf("the line has %d bytes; at most %d", len(line), MaxLine)
	}
	if err := f.Truncate(end); err != nil { // what a kill left of a line
		return err
	}
	if _, err := f.WriteAt(append(line, '\n'), end); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || end+int64(len(line))+1 < l.most {
		return err
	}
	return l.setAside(e.Seq)
}

// setAside gives the file the name of its last line, and deletes the oldest.
func (l *Log) setAside(seq int64) error {
	if err := os.Rename(l.file, fmt.Sprintf("%s.%012d", l.file, seq)); err != nil {
		return err
	}
	older, err := aside(l.file)
	for ; err == nil && len(older) >= MaxFiles; older = older[1:] {
		err = os.Remove(older[0])
	}
	return err
}

// aside are the files that were set aside, oldest first.
func aside(file string) (list []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), filepath.Base(file)+".")
		if ok && len(rest) == 12 && strings.Trim(rest, "0123456789") == "" {
			list = append(list, filepath.Join(filepath.Dir(file), e.Name()))
		}
	}
	slices.Sort(list)
	return list, nil
}

// lastLine is the last whole line, without its end, and where it ends; nil = there is none.
func lastLine(f *os.File) (line []byte, end int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	from := max(0, info.Size()-2*MaxLine) // half a line, and a whole one before it
	b := make([]byte, info.Size()-from)
	if _, err := io.ReadFull(io.NewSectionReader(f, from, int64(len(b))), b); err != nil {
		return nil, 0, err
	}
	i := bytes.LastIndexByte(b, '\n')
	if i < 0 && from > 0 {
		return nil, 0, fmt.Errorf("%s: its end has no line; move the file away to begin a new one", f.Name())
	}
	if i < 0 {
		return nil, 0, nil
	}
	return b[bytes.LastIndexByte(b[:i], '\n')+1 : i], from + int64(i) + 1, nil
}

func lastOf(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|nonblock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, _, err := lastLine(f)
	return line, err
}
