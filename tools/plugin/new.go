package plugin

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"tavernsim/internal/source"
	"tavernsim/protocol"
)

//go:embed kinds
var kinds embed.FS

// placeholder stands in the files of kinds for the name of the plugin.
const placeholder = "NAME"

// Kinds are the kinds of plugins that New makes.
func Kinds() (names []string) {
	entries, _ := kinds.ReadDir("kinds") // it is in the program
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// New makes the files of a plugin that works, by path.
func New(name, kind string) (map[string][]byte, error) {
	if !IsName(name) {
		return nil, protocol.Errorf(protocol.KindInvalid, "the name %q is none: want "+NameRule, protocol.Short(name, 80))
	}
	root := path.Join("kinds", kind)
	if _, err := fs.Stat(kinds, root); err != nil || strings.Contains(kind, "/") || kind == "" {
		hint := source.Suggest(kind, Kinds())
		if hint == "" {
			hint = "there are " + strings.Join(Kinds(), ", ")
		}
		return nil, protocol.Errorf(protocol.KindInvalid, "no kind %q of plugins; %s", protocol.Short(kind, 80), hint)
	}
	files := map[string][]byte{}
	err := fs.WalkDir(kinds, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := kinds.ReadFile(p)
		files[strings.ReplaceAll(strings.TrimPrefix(p, root+"/"), placeholder, name)] = bytes.ReplaceAll(data, []byte(placeholder), []byte(name))
		return err
	})
	return files, err
}

// Next says what to do with a plugin that was made in a folder.
func Next(dir, kind string) string {
	name, has := path.Base(filepath.ToSlash(dir)), "with the tool "+path.Base(filepath.ToSlash(dir))+":hello"
	if kind == "override" {
		has = "that answers in the place of models"
	}
	text := fmt.Sprintf("%s is a plugin %s. Next:\n\n  simd plugin validate %s\n", dir, has, dir)
	switch kind {
	case "http":
		text += fmt.Sprintf("  python3 %s &\n  simd plugin grant %s\n", filepath.Join(dir, "server.py"), name)
	case "override":
		return text + fmt.Sprintf("\nA project has it when the folder is in its plugins/, and its project.json lists it: \"plugins\": [\"%s\"]. Then:\n\n  simd plugin grant PROJECT %s\n  simd run PROJECT\n", name, name)
	}
	return text + fmt.Sprintf("  simd tool call %s:hello --params '{\"who\": \"Ada\"}'\n\nA project has it when the folder is in its plugins/, and its project.json lists it: \"plugins\": [\"%s\"]\n", name, name)
}
