package toolreplay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"tavernsim/protocol"
	"tavernsim/tools/artifact"
	"tavernsim/tools/ownfile"
)

// Files of a folder.
const (
	answersFile  = "answers.jsonl"
	artifactsDir = "artifacts"
)

// Save writes the answers into a new folder, with those artifacts that they name and that
// are there.
func (a *Answers) Save(dir string, from *artifact.Store) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, answersFile))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	to := Artifacts(dir)
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err = enc.Encode(header{From: a.From, Answers: a.Len()}); err == nil {
		_, err = w.Write(line.Bytes())
	}
	for _, e := range a.all {
		line.Reset()
		if err = errors.Join(err, enc.Encode(e)); err == nil && line.Len() > MaxLine {
			err = protocol.Errorf(protocol.KindLimit, "an answer of %s to %s has %d bytes as a line; at most %d are read again", e.Tool, e.Agent, line.Len(), MaxLine)
		}
		if err == nil {
			_, err = w.Write(line.Bytes())
			err = errors.Join(err, e.carry(from, to))
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, w.Flush(), f.Sync(), f.Close())
}

// Copy copies a folder, if it is there.
func Copy(from, to string) error {
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return os.CopyFS(to, os.DirFS(from))
}

// header is the first line.
type header struct {
	From    string `json:"from"`
	Answers int    `json:"answers"`
}

// carry copies the artifacts of an answer. What is missing or damaged is missing in the
// copy, too: the answer stands without it.
func (e *Entry) carry(from, to *artifact.Store) error {
	for i := range e.Artifacts {
		err := from.CopyTo(to, e.Artifacts[i].ID)
		if kind := protocol.KindOf(err); err != nil && kind != protocol.KindNotFound && kind != protocol.KindCorrupt {
			return err
		}
	}
	return nil
}

// Artifacts are those of a folder.
func Artifacts(dir string) *artifact.Store {
	return artifact.New(filepath.Join(dir, artifactsDir), artifact.DefaultLimits())
}

// MaxLine bounds the bytes of a line, with its end. Save writes none that Open does not read.
const MaxLine = 32 << 20

// Open reads a folder.
func Open(dir string) (*Answers, error) {
	name := filepath.Join(dir, answersFile)
	f, err := ownfile.Open(name)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "answers of tools: %w", err)
	}
	defer f.Close()
	return read(name, f)
}

func read(name string, r io.Reader) (*Answers, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MaxLine)
	first, a := header{}, &Answers{}
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			if err := decode(lines.Bytes(), &first); err != nil {
				return nil, broken(name, n, err)
			}
			a.From = first.From
			continue
		}
		e := &Entry{}
		if err := e.read(lines.Bytes()); err != nil {
			return nil, broken(name, n, err)
		}
		a.Add(e)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, protocol.Errorf(protocol.KindLimit, "%s: a line has more than %d bytes", name, MaxLine)
	} else if err != nil {
		return nil, protocol.Errorf(protocol.KindCorrupt, "%s: %w", name, err)
	}
	if a.Len() != first.Answers {
		return nil, protocol.Errorf(protocol.KindCorrupt, "%s: %d answers; the first line says %d", name, a.Len(), first.Answers)
	}
	return a, nil
}

func broken(name string, line int, err error) error {
	return protocol.Errorf(protocol.KindCorrupt, "%s:%d: this is no answer of a tool: %w", name, line, err)
}

func (e *Entry) read(line []byte) error {
	if err := decode(line, e); err != nil {
		return err
	}
	if len(e.Question) != 32 || e.Agent == "" || e.Turn == 0 || e.Number <= 0 {
		return errors.New("it has no question, or no place")
	}
	if len(e.Output) == 0 {
		return nil
	}
	if _, err := e.Output.Value(); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

func decode(line []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value")
	}
	return nil
}
