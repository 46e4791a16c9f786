package cli

import (
	"fmt"
	"io"
	"os"

	"tavernsim/internal/newfile"
	"tavernsim/protocol"
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
	return newfile.Write(name, false, to)
}
