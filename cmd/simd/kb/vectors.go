package kb

import (
	"fmt"
	"os"
	"path/filepath"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/internal/source"
	"tavernsim/llm/embed"
	"tavernsim/llm/models"
	"tavernsim/llm/models/modelfile"
	"tavernsim/protocol"
)

// seen gives the entries of a base the vectors of its model, if that is one of words in a file of the project. words
// is nil if words alone rank: a model at an endpoint is not asked, which is said.
func seen(e *cli.Env, dir, more string, base *knowledge.Base) (*knowledge.Base, *embed.Words, error) {
	if base.Embedding() == "" {
		return base, nil, nil
	}
	words, err := wordsOf(dir, more, base.Embedding())
	if err != nil {
		return nil, nil, err
	}
	if words == nil {
		fmt.Fprintf(e.Err, "%s: its vectors come from an endpoint, which this command does not ask; words alone rank\n", base.ID())
		return base, nil, nil
	}
	base, err = dressed(base, words)
	return base, words, err
}

// dressed gives the entries of a base with embedding their vectors.
func dressed(base *knowledge.Base, words *embed.Words) (*knowledge.Base, error) {
	s, err := knowledge.NewState(base)
	if err != nil {
		return nil, err
	}
	for s.Wants(0) > 0 {
		for _, w := range s.Wanted(0) {
			list := make([][]int8, len(w.Texts))
			for i, text := range w.Texts {
				list[i] = words.Of(text)
			}
			for _, f := range knowledge.Decide(s, knowledge.Commit{Requests: []knowledge.Request{{KB: w.KB, Op: knowledge.OpEmbed, Entry: w.Answer(vector.Pack(list), nil)}}}) {
				if x, ok := f.(*knowledge.Embedded); !ok || x.Error != "" {
					return nil, protocol.Errorf(protocol.KindInternal, "base %s: vectors of its model are refused: %+v", base.ID(), f)
				}
				s = knowledge.Apply(s, f)
			}
		}
	}
	base, _ = s.Base(base.ID())
	return base, nil
}

// wordsOf reads the vectors of words of a model; nil = its kind is another.
func wordsOf(dir, more, name string) (*embed.Words, error) {
	p, err := cli.LoadProject(dir, more, true)
	if err != nil {
		return nil, err
	}
	files, _ := p.ModelFiles()
	for _, file := range files {
		if models.NameOf(file) != name {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, protocol.Errorf(protocol.KindNotFound, "%w", err)
		}
		def, _ := modelfile.Read(file, data, &source.Report{})
		static, ok := def.(*modelfile.Static)
		if !ok {
			return nil, nil
		}
		if data, err = os.ReadFile(filepath.Join(dir, static.Words)); err != nil {
			return nil, protocol.Errorf(protocol.KindNotFound, "%w", err)
		}
		return embed.Read(name, static.Words, data)
	}
	return nil, nil
}
