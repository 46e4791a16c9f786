package artifacts

import (
	"strings"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/tool"
	"tavernsim/persistence"
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

// Edit is what a call did to a file: the ids of the texts before and after it; Before "" = it made
// the file.
type Edit struct{ File, Before, After string }

// Edits are what a call of the tool edit did, by the artifacts that it left.
func Edits(left []tool.Artifact) (list []Edit) {
	before := map[string]string{}
	for i := range left {
		if file, ok := strings.CutPrefix(left[i].Name, files.Before); ok {
			before[file] = left[i].ID
		} else if file, ok := strings.CutPrefix(left[i].Name, files.After); ok {
			list = append(list, Edit{file, before[file], left[i].ID})
		}
	}
	return list
}

// History hands over the changes of files of a scene, in the order of the journal.
func History(s *inspect.Scene, agent string, yield func(Change) error) error {
	if err := s.Known(agent); err != nil {
		return err
	}
	return s.Scan(persistence.Query{Actor: agent, Kinds: []string{agentfact.FactCallAnswered}}, func(r protocol.Record) error {
		fact, err := s.Fact(r)
		if err != nil {
			return err
		}
		for _, e := range Edits(fact.(*agentfact.CallAnswered).Artifacts) { //nolint:forcetypeassert // the kind says it
			if err := yield(Change{r.Seq, r.Time.String(), r.Actor, e.File, e.Before, e.After}); err != nil {
				return err
			}
		}
		return nil
	})
}

// FindChange finds the change of a file by the fact of its call. file may be "" if the call
// changed one only.
func FindChange(runDir string, s *inspect.Scene, seq uint64, file string) (found Change, err error) {
	n := 0
	err = History(s, "", func(c Change) error {
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
