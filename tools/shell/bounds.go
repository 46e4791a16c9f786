package shell

import (
	"fmt"
	"time"

	"tavernsim/protocol"
	"tavernsim/tools/shell/folders"
)

// Bounds of what is in the folders that a session writes to.
const (
	maxFiles = 10_000
	maxBytes = 256 << 20
	countTo  = 2 * tooFar * maxFiles
	tooFar   = 4 // times the bounds: no session starts there, not even to delete
)

// Pauses between two looks at the folders: a look that takes long comes less often.
const (
	sizeEvery = 250 * time.Millisecond
	sizeMost  = 2 * time.Second
	sizeShare = 50 // times that a look took
)

func beyond(z folders.Size, times int) bool {
	return z.Files > times*maxFiles || z.Bytes > int64(times)*maxBytes
}

// watch ends the session when its folders have too much, whether or not a call is under way.
func (s *session) watch() {
	for {
		s.bounding.Lock()
		pause := time.NewTimer(time.Until(s.nextLook))
		s.bounding.Unlock()
		select {
		case <-s.gone:
			pause.Stop()
			return
		case <-pause.C:
		}
		if why := s.tooLarge(); why != "" {
			s.mu.Lock()
			if s.ended == nil {
				s.ended = &ending{why: why}
			}
			s.mu.Unlock()
			s.stop()
			return
		}
	}
}

// tooLarge says that the folders have more than they may, and more than before: what only
// deletes goes on. "" = they have not, or it was looked just now.
func (s *session) tooLarge() string {
	s.bounding.Lock()
	defer s.bounding.Unlock()
	begun := time.Now()
	if s.full != "" || begun.Before(s.nextLook) {
		return s.full
	}
	was := s.size
	s.size = folders.Measure(s.bounds, countTo, false)
	s.nextLook = time.Now().Add(min(max(sizeEvery, sizeShare*time.Since(begun)), sizeMost))
	switch is := s.size; {
	case folders.OfMachine(is.Hidden): // it is looked at again
		s.size = was
	case is.Hidden != nil:
		s.full = fmt.Sprintf("its folders have what cannot be counted: %v", is.Hidden)
	case beyond(is, 1) && (is.Files > was.Files || is.Bytes > was.Bytes):
		s.full = fmt.Sprintf("its folders have more than %d files, or %d MiB; delete some", maxFiles, maxBytes>>20)
	}
	return s.full
}

// whyFull says why the folders ended the session; "" = they did not.
func (s *session) whyFull() string {
	s.bounding.Lock()
	full := s.full
	s.bounding.Unlock()
	if full != "" && s.quiet() {
		return "its folders have too much, or what cannot be counted" // without names that programs chose
	}
	return full
}

// begin looks at the folders before programs may write to them. What an earlier session left
// there that cannot be counted is removed.
func (s *session) begin() error {
	switch s.size = folders.Measure(s.bounds, countTo, true); {
	case folders.OfMachine(s.size.Hidden):
		return protocol.Errorf(protocol.KindTransient, "its folders could not be looked at: %w", s.size.Hidden)
	case s.size.Hidden != nil:
		return protocol.Errorf(protocol.KindLimit, "its folders cannot be counted: %w", s.size.Hidden)
	case beyond(s.size, tooFar):
		return protocol.Errorf(protocol.KindLimit, "its folders have more than %d files, or %d MiB; somebody must delete some in the run directory", tooFar*maxFiles, tooFar*maxBytes>>20)
	}
	s.nextLook = time.Now().Add(sizeEvery)
	return nil
}
