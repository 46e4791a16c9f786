package mask

// Any reports whether there was anything.
func (f *Found) Any() bool { return len(f.Plain) > 0 || f.Withhold != "" }
