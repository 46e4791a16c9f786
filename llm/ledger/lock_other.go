//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package ledger

import (
	"errors"
	"os"
)

func lock(*os.File) error {
	return errors.New("this system has no locks that processes share; take window: run for the budget")
}

func unlock(*os.File) error { return nil }
