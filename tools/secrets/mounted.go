package secrets

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"tavernsim/tools/ownfile"
)

// Mounted finds the files with the values of secrets that the file of secrets leaves to others:
// those that a container platform mounts.
type Mounted struct {
	Getenv  func(variable string) string // os.Getenv; nil = no variable is set
	Outside func(file string) error      // refuses a file that a project chooses; nil = none is refused
}

const maxValue = 64 << 10 // bytes of a file

// complete gives a grant its value.
func (m Mounted) complete(name string, g *Grant) (err error) {
	variable, file := "SIMD_SECRET_"+name+"_FILE", ""
	if m.Getenv != nil {
		file = m.Getenv(variable)
	}
	switch {
	case file == "" && g.Value == "":
		return fmt.Errorf("the secret has no value: write it here, or name a file that has it in the environment variable %s", variable)
	case file == "":
		return nil
	case g.Value != "":
		return fmt.Errorf("the secret has two values: one is here, and the environment variable %s names a file with another one; take one of them away", variable)
	}
	if g.Value, err = m.read(file); err != nil {
		err = fmt.Errorf("the environment variable %s: %w", variable, err)
	}
	return err
}

// read reads a value. Platforms mount their files readable for all who are in the container; who
// could write one would choose the value.
func (m Mounted) read(file string) (string, error) {
	if m.Outside != nil {
		if err := m.Outside(file); err != nil {
			return "", err
		}
	}
	data, err := ownfile.Read(file, ownfile.Guard{Not: 0o022, Reason: "only its owner may write it", Mend: "go-w", Max: maxValue})
	if err != nil {
		return "", err
	}
	value := strings.TrimSuffix(string(data), "\n")
	if value == "" {
		return "", fmt.Errorf("the file %s is empty", file)
	}
	if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
		return "", fmt.Errorf("the file %s is no text", file)
	}
	return value, nil
}
