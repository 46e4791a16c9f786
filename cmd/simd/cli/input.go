package cli

import (
	"fmt"
	"io"
	"os"

	"tavernsim/protocol"
	"tavernsim/scenes/view/export"
)

// maxInput bounds what is read from a file or standard input.
const maxInput = 64 << 20

// ReadInput reads the file that args name, or standard input for "-" and for nothing.
func ReadInput(e *Env, args []string) (string, error) {
	in := e.In
	if len(args) == 1 && args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return "", protocol.Errorf(protocol.KindNotFound, "read: %w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return "", fmt.Errorf("read: %w", err)
	}
	if len(b) > maxInput {
		return "", protocol.Errorf(protocol.KindLimit, "read: more than %d bytes", maxInput)
	}
	return string(b), nil
}

// WriteNew writes a new file, which has its name when it is complete, or without a name to the output of the command.
func WriteNew(e *Env, name string, to func(io.Writer) error) error {
	if name == "" {
		return to(e.Out)
	}
	return writeFile(name, false, to)
}

// Replace writes a file, which has its name when it is complete.
func Replace(name string, to func(io.Writer) error) error { return writeFile(name, true, to) }

func writeFile(name string, replace bool, to func(io.Writer) error) error {
	f, err := export.Create(name, replace)
	if err != nil {
		return err
	}
	if err := to(f); err != nil {
		f.Drop()
		return err
	}
	return f.Keep()
}
