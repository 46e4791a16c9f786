package artifacts

import (
	"io"
	"strings"

	"tavernsim/engine/agent/tool"
	"tavernsim/protocol"
	"tavernsim/scenes/view/inspect"
	"tavernsim/tools/files"
)

// Change is one change of a file by the tool edit: the texts before and after are
// artifacts.
type Change struct {
	Seq    uint64 `json:"seq"` // of the fact of the call
	Time   string `json:"time"`
	Agent  string `json:"agent"`
	File   string `json:"file"`             // URI
	Before string `json:"before,omitempty"` // id; none = the file was made
	After  string `json:"after"`
}

// History hands over the changes of files of a scene, in the order of the journal.
func History(runDir string, s *inspect.Scene, q Query, yield func(Change) error) error {
	before := map[string]string{} // by agent and file
	most, n := q.Limit, 0
	q.Limit = 0
	return List(runDir, s, q, func(l Line) error {
		id := strings.TrimPrefix(l.URI, tool.ArtifactScheme)
		if file, ok := strings.CutPrefix(l.Name, files.Before); ok {
			before[l.Agent+"\x00"+file] = id
			return nil
		}
		file, ok := strings.CutPrefix(l.Name, files.After)
		if !ok {
			return nil
		}
		c := Change{Seq: l.Seq, Time: l.Time, Agent: l.Agent, File: file, Before: before[l.Agent+"\x00"+file], After: id}
		delete(before, l.Agent+"\x00"+file)
		if n++; most > 0 && n > most {
			return io.EOF
		}
		return yield(c)
	})
}

// FindChange finds the change of a file by the fact of its call. file may be "" if the call
// changed one only.
func FindChange(runDir string, s *inspect.Scene, seq uint64, file string) (found Change, err error) {
	n := 0
	err = History(runDir, s, Query{}, func(c Change) error {
		if c.Seq == seq && (file == "" || c.File == file || strings.HasSuffix(c.File, "/"+file)) {
			found, n = c, n+1
		}
		return nil
	})
	switch {
	case err != nil:
		return found, err
	case n == 0:
		return found, protocol.Errorf(protocol.KindNotFound, "there is no change %d of a file; simd files log %s lists them", seq, runDir)
	case n > 1:
		return found, protocol.Errorf(protocol.KindInvalid, "the call at %d changed %d files; name one", seq, n)
	}
	return found, nil
}
