package persistence

import (
	"errors"
	"os"
	"syscall"

	"tavernsim/protocol"
)

// ioKind classes an error of the file system.
func ioKind(err error) protocol.ErrorKind {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return protocol.KindLimit
	case errors.Is(err, os.ErrPermission):
		return protocol.KindDenied
	case errors.Is(err, os.ErrNotExist):
		return protocol.KindNotFound
	}
	return protocol.KindTransient
}
