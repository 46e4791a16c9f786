// Package artifacts lists the artifacts of a scene and reads them: files that calls left
// (tools/artifact), each with the call that left it.
//
// The caller opens the run (scenes/view/inspect). A missing file is listed, and
// reading it is an error.
package artifacts

import (
	"errors"
	"io"
	"strings"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/agent/tool"
	"tavernsim/engine/tooltask"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/artifacts"
	"tavernsim/scenes/view/inspect"
)

// Query chooses artifacts.
type Query struct {
	inspect.Span
	Agent string
	Limit int // 0 = all
}

// Line is one artifact of one call.
type Line struct {
	Seq   uint64 `json:"seq"` // of the fact that names it
	Wave  uint64 `json:"wave"`
	Time  string `json:"time"`
	Agent string `json:"agent"`
	Tool  string `json:"tool"`
	URI   string `json:"uri"`
	Size  int64  `json:"size"`
	Type  string `json:"media_type"`
	Name  string `json:"name"`
	There bool   `json:"there"`
}

// List hands over the artifacts of a scene, in the order of the journal.
func List(runDir string, s *inspect.Scene, q Query, yield func(Line) error) error {
	if err := s.Known(q.Agent); err != nil {
		return err
	}
	query, err := s.Query(q.Span, persistence.Query{Kinds: []string{agentfact.FactCallAnswered, agentfact.FactCallMade, tooltask.FactEnded}})
	if err != nil {
		return err
	}
	files, err := artifacts.Of(runDir).List()
	if err != nil {
		return err
	}
	l := &listing{scene: s, agent: q.Agent, sizes: map[string]int64{}, open: map[string][]Line{}, left: q.Limit, yield: yield}
	for _, f := range files {
		l.sizes[f.ID] = f.Size
	}
	err = s.Scan(query, l.fact)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// listing is a walk over the facts of calls. The call itself follows the answer to it, except
// for that of an asynchronous tool: the end of its task names the artifacts.
type listing struct {
	scene *inspect.Scene
	agent string // "" = all
	sizes map[string]int64
	open  map[string][]Line // by agent: of answers whose call has not come
	wave  uint64
	left  int
	yield func(Line) error
}

func (l *listing) fact(r protocol.Record) error {
	if r.Kind != tooltask.FactEnded && l.agent != "" && r.Actor != l.agent {
		return nil
	}
	if r.Kind == agentfact.FactCallMade {
		lines := l.open[r.Actor]
		if delete(l.open, r.Actor); len(lines) == 0 {
			return nil
		}
		id, _, err := agentfact.ReadCall(r.Data)
		if err != nil {
			return err
		}
		return l.give(lines, id)
	}
	fact, err := l.scene.Fact(r)
	if err != nil {
		return err
	}
	switch f := fact.(type) {
	case *agentfact.CallAnswered:
		lines, err := l.lines(r, r.Actor, f.Artifacts)
		l.open[r.Actor] = append(l.open[r.Actor], lines...)
		return err
	case *tooltask.Ended:
		if l.agent != "" && f.Agent != l.agent {
			return nil
		}
		lines, err := l.lines(r, f.Agent, f.Artifacts)
		if err != nil {
			return err
		}
		return l.give(lines, f.Tool)
	}
	return nil
}

// lines are the artifacts that a fact names.
func (l *listing) lines(r protocol.Record, agent string, named []tool.Artifact) (lines []Line, err error) {
	if len(named) == 0 {
		return nil, nil
	}
	wave, err := l.scene.WaveOf(r.Seq, l.wave)
	if err != nil {
		return nil, err
	}
	l.wave = wave.Number
	for _, a := range named {
		size, there := l.sizes[a.ID]
		lines = append(lines, Line{
			Seq: r.Seq, Wave: wave.Number, Time: r.Time.String(), Agent: agent, URI: a.URI(), Size: a.Size, Type: a.Type, Name: a.Name, There: there && size == a.Size,
		})
	}
	return lines, nil
}

func (l *listing) give(lines []Line, id string) error {
	for _, line := range lines {
		line.Tool = id
		if err := l.yield(line); err != nil {
			return err
		}
		if l.left--; l.left == 0 {
			return io.EOF
		}
	}
	return nil
}

// Find finds the file of a run whose id, or URI, begins so.
func Find(runDir, text string) (id string, err error) {
	begin := strings.TrimPrefix(text, tool.ArtifactScheme)
	if !strings.HasPrefix(begin, "sha256-") {
		begin = "sha256-" + begin
	}
	files, err := artifacts.Of(runDir).List()
	for _, f := range files {
		switch {
		case !strings.HasPrefix(f.ID, begin):
		case id != "":
			return "", protocol.Errorf(protocol.KindInvalid, "several artifacts begin with %s; write more of it", begin)
		default:
			id = f.ID
		}
	}
	if err == nil && id == "" {
		err = protocol.Errorf(protocol.KindNotFound, "the run has no artifact %q; simd inspect %s artifacts lists them", protocol.Short(text, 100), runDir)
	}
	return id, err
}

// Read reads a file whose id, or URI, begins so, and compares it with its hash.
func Read(runDir, text string) ([]byte, error) {
	id, err := Find(runDir, text)
	if err != nil {
		return nil, err
	}
	return artifacts.Of(runDir).Read(id)
}
