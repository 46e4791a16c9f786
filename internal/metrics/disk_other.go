//go:build !linux && !darwin

package metrics

import "errors"

// diskFree is not known here: the metric is left out.
func diskFree(string) (float64, error) { return 0, errors.ErrUnsupported }
