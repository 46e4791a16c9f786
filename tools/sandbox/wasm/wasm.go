// Package wasm runs a WebAssembly module (WASI preview 1) as a program: arguments, environment,
// standard input and outputs, exit code. [Run] is the main function of a process that the worker of a
// sandbox starts in the profile strict.
//
// # Promises
//
//  1. The module sees the folders that exist among [Folders] and no other name: a path or link that leads out of the
//     one that it begins in is EPERM. It has no network.
//  2. Its memory has at most [MaxMemory] bytes.
//
// # Not here
//
// Time-outs, and bounds of everything else (tools/sandbox).
package wasm

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// Folder is one that a module may see, under the same name.
type Folder struct {
	Path  string
	Write bool
}

// Folders are those of a call.
func Folders() []Folder {
	return []Folder{{"/work", true}, {"/tmp", true}, {"/tool", false}, {"/uri", false}}
}

const (
	pages = 2048 // of 64 KiB

	// MaxMemory bounds the memory of a module, in bytes.
	MaxMemory = pages << 16
	// MaxModule bounds its file, in bytes.
	MaxModule = 4 << 20
)

// failed is the exit code of a module that cannot be run, or that traps.
const failed = 70

// Run runs the module in a file, with arguments. It returns the exit code.
func Run(file string, args []string) int {
	debug.SetMemoryLimit(2 * MaxMemory) // of this process: copies of memory that grew are collected in time
	code, err := run(context.Background(), file, args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", path.Base(file), err)
		return failed
	}
	return code
}

func run(ctx context.Context, file string, args []string) (code int, err error) {
	module, err := read(file)
	if err != nil {
		return 0, err
	}
	// Most modules run for a moment: to compile one of some MiB takes longer than to interpret it.
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithMemoryLimitPages(pages))
	defer func() { err = errors.Join(err, r.Close(ctx)) }()
	wasi_snapshot_preview1.MustInstantiate(ctx, r) // its imports are constants
	compiled, err := r.CompileModule(ctx, module)
	if err != nil {
		return 0, fmt.Errorf("it is no WebAssembly module: %w", err)
	}
	if _, ok := compiled.ExportedFunctions()["_start"]; !ok {
		return 0, errors.New("it has no function _start: want a program for WASI preview 1")
	}
	_, err = r.InstantiateModule(ctx, compiled, config(file, args))
	if exit, ok := errors.AsType[*sys.ExitError](err); ok {
		return int(exit.ExitCode()), nil
	}
	return 0, err
}

func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxModule+1))
	if err == nil && len(data) > MaxModule {
		err = fmt.Errorf("it has more than %d bytes, which is the limit", MaxModule)
	}
	return data, err
}

func config(file string, args []string) wazero.ModuleConfig {
	c := wazero.NewModuleConfig().WithName("").WithArgs(append([]string{path.Base(file)}, args...)...).
		WithStdin(os.Stdin).WithStdout(os.Stdout).WithStderr(os.Stderr).
		WithSysWalltime().WithSysNanotime().WithSysNanosleep().WithRandSource(rand.Reader)
	for _, v := range os.Environ() { // the sandbox has made it
		if name, value, ok := strings.Cut(v, "="); ok && name != "PATH" {
			c = c.WithEnv(name, value)
		}
	}
	fs := wazero.NewFSConfig()
	for _, f := range Folders() {
		if in, err := open(f); err == nil { // else it is not there
			fs = fs.(sysfs.FSConfig).WithSysFSMount(in, f.Path)
		}
	}
	return c.WithFSConfig(fs)
}
