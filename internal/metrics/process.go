package metrics

import (
	"runtime"
	"runtime/debug"

	"tavernsim/protocol"
)

func (s *Set) makeProcess() {
	s.area = "process"
	version := s.opts.version
	if version == "" {
		version = "unknown"
	}
	s.gauge("build_info", "1, with what is running in the labels.", "version", "revision", "goversion").
		WithLabelValues(version, revision(), runtime.Version()).Set(1)
	s.computed("ready", "1 when the process does what it was started for, 0 before and while it replays or stops.", func() float64 {
		if s.ready.why() == nil {
			return 1
		}
		return 0
	})
}

// revision is the commit the program was built from, as far as the build knows.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, kv := range info.Settings {
		if kv.Key == "vcs.revision" {
			return kv.Value
		}
	}
	return "unknown"
}

// Ready makes simd_ready 1 and /readyz answer 200, if no run is in the way.
func (s *Set) Ready() { s.ready.set("", "") }

// NotReady makes simd_ready 0; why is what /readyz says.
func (s *Set) NotReady(why string) { s.ready.set("", why) }

// DeadLetter counts an envelope that no mailbox took.
func (s *Set) DeadLetter(k protocol.Kind) { s.agents.deadLetters.inc(k.String()) }
