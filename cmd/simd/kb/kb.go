// Package kb has simd kb, which searches, measures, imports, exports and reviews knowledge
// bases of projects and runs.
package kb

import (
	"cmp"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/knowledge"
	"tavernsim/protocol"
)

// New is `simd kb`.
func New(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "kb",
		Short: "Knowledge bases",
		Long: `Search knowledge bases, measure how well they are searched, read them from files of
other programs, and write out what a run has learnt (docs/formats/knowledge_base.md).`,
	}
	c.AddCommand(newSearch(e), newActivate(e), newBench(e), newImport(e), newExport(e), newReview(e))
	return c
}

// baseOf finds a knowledge base of a project.
func baseOf(dir, more, id string) (*knowledge.KnowledgeBase, error) {
	p, err := cli.LoadProject(dir, more, true)
	if err != nil {
		return nil, err
	}
	if def, ok := p.KnowledgeBase(id); ok {
		return def, nil
	}
	return nil, protocol.Errorf(protocol.KindNotFound, "no knowledge base %q; there are %s", id, cmp.Or(strings.Join(p.KnowledgeBaseIDs(), ", "), "none"))
}

// readBounded reads a file of at most so many bytes.
func readBounded(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, protocol.Errorf(protocol.KindNotFound, "%w", err)
	case !info.Mode().IsRegular():
		return nil, protocol.Errorf(protocol.KindInvalid, "%s: no regular file", path)
	case info.Size() > most:
		return nil, protocol.Errorf(protocol.KindLimit, "%s: %d bytes; the limit is %d", path, info.Size(), most)
	}
	return os.ReadFile(path)
}
