//go:build !linux

package seats

import "os"

// punch leaves the room with the file, which writes there again.
func punch(*os.File, int64, int64) {}
