package toolsxml

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// Step says when one tool may run. Two tools of which neither waits for the
// other, directly or over third ones, may run at the same time.
type Step struct {
	Index int
	After []int // wait until these have a result, also a bad or a running one
}

// after is the order as a call has it: "none", or "1, 2".
func (s *Step) after() string {
	if len(s.After) == 0 {
		return "none"
	}
	parts := make([]string, len(s.After))
	for i, n := range s.After {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ", ")
}

// Plan gives the order of the executable tools (X14):
//
//  1. command, input and ctrl run one after the other.
//  2. Reads run beside each other.
//  3. Edits run beside other tools unless both name the same file; then document
//     order holds. A directory is the same as everything in it. Paths are
//     compared as text, generously: when they may name the same file they do.
//     Links are not known here; the executor holds a lock on the real path.
//  4. Each of them is a barrier: file tools wait for it and it waits for file
//     tools. An input or ctrl may drive a script that an earlier answer began.
//  5. get_value waits for nothing and nothing waits for it.
//
// What a named tool waits for already may be left out of After.
func Plan(tools []Tool) []Step {
	pl := planner{}
	steps := []Step{}
	for i := range tools {
		if tools[i].Executable {
			steps = append(steps, pl.step(&tools[i]))
		}
	}
	return steps
}

type planner struct {
	pty   int          // index of the last tool of the terminal, 0 for none
	files []*Tool      // behind it
	paths [][]location // of files
}

func (pl *planner) step(t *Tool) Step {
	s := Step{Index: t.Index, After: []int{}}
	switch t.Type {
	case Command, Input, Ctrl:
		if pl.pty > 0 {
			s.After = append(s.After, pl.pty)
		}
		for _, f := range pl.files {
			s.After = append(s.After, f.Index)
		}
		pl.pty, pl.files, pl.paths = t.Index, nil, nil
	case Edit, Read:
		s.After = pl.fileWaits(t)
	}
	return s
}

func (pl *planner) fileWaits(t *Tool) []int {
	after := []int{}
	mine := make([]location, 0, len(t.Files))
	for _, f := range t.Files {
		mine = append(mine, locate(t, f.Src))
	}
	for i, f := range pl.files {
		if (t.Type == Edit || f.Type == Edit) && overlap(mine, pl.paths[i]) {
			after = append(after, f.Index)
		}
	}
	if len(after) == 0 && pl.pty > 0 {
		after = append(after, pl.pty) // any other tool waits for it already
	}
	pl.files, pl.paths = append(pl.files, t), append(pl.paths, mine)
	return after
}

// location is a path for comparison, in lower case, because the file system may
// fold case.
type location struct {
	path   string
	rooted bool // begins at "/"
	up     bool // began with "../", which was taken off
	dir    bool // may be a directory
	any    bool // may be every file
}

func locate(t *Tool, src string) location {
	s := strings.ToLower(strings.ReplaceAll(src, `\`, "/"))
	if strings.Contains(s, "$") || strings.HasPrefix(s, "~") {
		return location{any: true}
	}
	l := location{dir: t.Type == Read}
	s = path.Clean(s)
	for strings.HasPrefix(s, "../") {
		s, l.up = s[3:], true
	}
	if s == "." || s == ".." || s == "/" {
		return location{any: true}
	}
	l.path, l.rooted = strings.Trim(s, "/"), s[0] == '/'
	return l
}

func overlap(a, b []location) bool {
	for _, x := range a {
		if slices.ContainsFunc(b, x.meets) {
			return true
		}
	}
	return false
}

// meets tells whether two paths may name the same file, or one a directory
// around the other. How an absolute path relates to the shell's directory is not
// known here, so paths of different kinds meet when their ends are the same, and
// when one may be a directory around that directory.
func (l location) meets(m location) bool {
	switch {
	case l.any || m.any:
		return true
	case l.rooted == m.rooted && !l.up && !m.up:
		return within(l.path, m.path) || within(m.path, l.path)
	case l.dir || m.dir:
		return true
	}
	return strings.HasSuffix("/"+l.path, "/"+m.path) || strings.HasSuffix("/"+m.path, "/"+l.path)
}

// within tells whether a is b or lies in it.
func within(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/")
}
