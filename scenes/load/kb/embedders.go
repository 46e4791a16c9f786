package kb

import (
	"slices"

	"tavernsim/internal/source"
)

// Embedders are the names of the models that give vectors, of model files by their paths.
func Embedders(files map[string][]byte) (names []string) {
	for file, data := range files {
		doc := source.Parse(file, data, source.Limits{}, &source.Report{})
		if doc == nil {
			continue
		}
		kind, _ := doc.Root.Find("kind")
		switch kind.Value() {
		case "embedder", "static":
			names = append(names, source.Stem(file))
		}
	}
	slices.Sort(names)
	return names
}
