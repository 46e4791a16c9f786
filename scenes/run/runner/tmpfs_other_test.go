//go:build !linux

package runner

func onSmallDisk(string) error { return nil }
