//go:build !linux && !darwin

package disk

import "errors"

// Free is not known here.
func Free(string) (float64, error) { return 0, errors.ErrUnsupported }
