//go:build !unix

package pebbledb

import "os"

// isHeld takes every failure to lock that is not about permission for a lock
// that is held: that is what it nearly always is, and the cause is in the text.
func isHeld(err error) bool { return !os.IsPermission(err) && !os.IsNotExist(err) }

// isLocked: other systems do not tell without taking the lock.
func isLocked(string) bool { return false }
