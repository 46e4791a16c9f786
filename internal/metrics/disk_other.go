//go:build !linux && !darwin

package metrics

import "errors"

// DiskFree is not known here.
func DiskFree(string) (float64, error) { return 0, errors.ErrUnsupported }
