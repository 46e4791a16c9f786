package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"tavernsim/protocol"
)

// Report is what Check found.
type Report struct {
	Files []string `json:"files"` // oldest first
	First int64    `json:"first"` // number of the first line; more than 1: older files were deleted
	Last  int64    `json:"last"`
	Head  string   `json:"head"` // hash of the last line
	Calls int64    `json:"calls"`
	// Open are calls without a result: they go on, or were killed. The newest, of so many.
	Open      []int64 `json:"open"`
	OpenCalls int64   `json:"open_calls"`
	// Torn: behind the last line is a part of one.
	Torn bool `json:"torn"`
	// Found: some line has the hash that was looked for.
	Found bool `json:"found"`
}

// String says it in words, of a chain that holds.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the chain holds: lines %d to %d, calls %d\nhead %s\n", r.First, r.Last, r.Calls, r.Head)
	if r.First > 1 {
		b.WriteString("older files were deleted\n")
	}
	if len(r.Open) > 0 {
		fmt.Fprintf(&b, "calls without a result, which go on or were killed: %s", strings.Trim(fmt.Sprint(r.Open), "[]"))
		if older := r.OpenCalls - int64(len(r.Open)); older > 0 {
			fmt.Fprintf(&b, " and %d older ones", older)
		}
		b.WriteString("\n")
	}
	if r.Torn {
		b.WriteString("behind the last line is a part of one, which a kill left\n")
	}
	return b.String()
}

// maxOpen bounds the calls without a result that are named.
const maxOpen = 100

// Broken is where a chain breaks.
type Broken struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
	Why  string `json:"why"`
}

func (b *Broken) Error() string { return fmt.Sprintf("%s:%d: %s", b.File, b.Line, b.Why) }

// Check reads the files of a log. The error is a [Broken] if the chain does not hold. head
// is a hash that some line must have, "" = none.
func Check(file, head string) (*Report, error) {
	files, err := aside(file)
	if err != nil {
		return nil, protocol.Errorf(protocol.KindNotFound, "audit: %w", err)
	}
	if _, err := os.Stat(file); err == nil {
		files = append(files, file)
	} else if !errors.Is(err, fs.ErrNotExist) || len(files) == 0 {
		return nil, protocol.Errorf(protocol.KindNotFound, "audit: %w", err)
	}
	c := &checking{Report: Report{Files: files, Open: []int64{}}, want: head}
	for i, name := range files {
		if err := c.file(name, i == len(files)-1); err != nil {
			return &c.Report, err
		}
	}
	if c.Head = c.prev; head != "" && !c.Found {
		return &c.Report, &Broken{files[len(files)-1], c.line, "no line has the hash " + head + ": lines were taken off the end, or the whole log was written anew"}
	}
	return &c.Report, nil
}

type checking struct {
	Report
	want, prev string
	line       int // of the file
}

func (c *checking) file(name string, newest bool) error {
	f, err := os.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, fmt.Errorf("%s is no regular file", name))
	}
	in := bufio.NewReaderSize(f, MaxLine+1)
	for c.line = 1; ; c.line++ {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil
		case errors.Is(err, io.EOF) && newest:
			c.Torn = true
			return nil
		case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull):
			return c.broken(name, "the line has no end")
		case err != nil:
			return err
		}
		if why := c.next(line[:len(line)-1]); why != "" {
			return c.broken(name, why)
		}
	}
}

func (c *checking) broken(file, why string) error { return &Broken{file, c.line, why} }

// next checks a line against the one before it.
func (c *checking) next(line []byte) (why string) {
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil || e.Seq < 1 {
		return "it is no line of an audit"
	}
	switch {
	case c.Last == 0 && e.Seq == 1 && e.Prev != Hash(nil):
		return "it is the first line, and names another one before it"
	case c.Last == 0:
		c.First = e.Seq
	case e.Prev != c.prev:
		return fmt.Sprintf("it follows a line with the hash %s, and line %d before it has %s: one of them was changed, or lines were taken out or put in", e.Prev, c.Last, c.prev)
	case e.Seq != c.Last+1:
		return fmt.Sprintf("it has the number %d; want %d", e.Seq, c.Last+1)
	}
	c.Last, c.prev = e.Seq, Hash(line)
	c.Found = c.Found || c.prev == c.want
	switch i := slices.Index(c.Open, e.Of); {
	case e.What == whatCall:
		c.Calls++
		c.OpenCalls++
		if c.Open = append(c.Open, e.Seq); len(c.Open) > maxOpen {
			c.Open = c.Open[1:]
		}
	case i >= 0:
		c.Open = slices.Delete(c.Open, i, i+1)
		c.OpenCalls--
	case e.Of >= c.First: // one of the older ones
		c.OpenCalls--
	}
	return ""
}
