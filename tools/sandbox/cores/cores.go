// Package cores keeps a process from leaving a core file.
package cores

import (
	"fmt"
	"syscall"
)

// Limit is the limit of a core, in bytes. One byte is too little for a core in a file. Where the kernel hands cores
// to a program (/proc/sys/kernel/core_pattern begins with a bar), 0 would be no limit: there one byte is
// what the kernel itself gives to a process that must leave no core.
const Limit = 1

// None lets this process, and all that it starts, leave no core: values of secrets are in its
// memory. It cannot be taken back. The main function calls it first.
func None() error {
	var old syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_CORE, &old)
	if err == nil {
		most := min(Limit, old.Max)
		err = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: most, Max: most})
	}
	if err != nil {
		return fmt.Errorf("limit of cores: %w", err)
	}
	return nil
}
