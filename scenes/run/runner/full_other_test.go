//go:build !linux

package runner

import "errors"

func fillDisk(string) error { return errors.New("only on Linux") }
