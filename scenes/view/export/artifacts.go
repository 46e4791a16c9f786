package export

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tavernsim/engine/agent/tool"
	"tavernsim/internal/newfile"
	"tavernsim/protocol"
	"tavernsim/scenes/view/artifacts"
	"tavernsim/scenes/view/inspect"
)

func (e *exporter) artifacts() error {
	return e.options.eachArtifact(e.scene, func(a artifacts.Line) error {
		at, err := time.Parse(time.RFC3339Nano, a.Time)
		if err != nil {
			return err
		}
		return e.row(int64(a.Seq), int64(a.Wave), protocol.Time(at.UnixNano()), at.UnixNano(), a.Agent, a.Tool, a.URI, a.Size, a.Type, a.Name, a.There)
	})
}

func (o *Options) eachArtifact(s *inspect.Scene, yield func(artifacts.Line) error) error {
	return artifacts.List(o.RunDir, s, artifacts.Query{Span: o.Span, Agent: only(o.Agents)}, func(a artifacts.Line) error {
		if !among(o.Agents, a.Agent) {
			return nil
		}
		return yield(a)
	})
}

// Files copies the artifacts that o chooses into a folder, each under its id, and counts
// them. What is not there is left out.
func Files(s *inspect.Scene, o Options, folder string, replace bool) (n int, err error) {
	seen := map[string]bool{}
	err = o.eachArtifact(s, func(a artifacts.Line) error {
		if !a.There || seen[a.URI] {
			return nil
		}
		seen[a.URI] = true
		data, err := artifacts.Read(o.RunDir, a.URI)
		if err != nil {
			return err
		}
		n++
		return write(filepath.Join(folder, strings.TrimPrefix(a.URI, tool.ArtifactScheme)), data, replace)
	})
	return n, err
}

func write(name string, data []byte, replace bool) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return newfile.Error(name, err)
	}
	return newfile.Write(name, replace, func(to io.Writer) error {
		if _, err := to.Write(data); err != nil {
			return newfile.Error(name, err)
		}
		return nil
	})
}
