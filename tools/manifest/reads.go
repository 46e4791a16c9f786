package manifest

import (
	"strings"

	"tavernsim/engine/glob"
)

// fsRead begins a need that names files of mounts: fs.read:MOUNT/PATTERN.
const fsRead = "fs.read"

// MayRead reports whether references may lead the tool to a file of a mount. What a tool of
// the type http reads leaves the machine, so it must name the files among its needs. Other
// tools may read everything that their agent may, unless they name files.
func (t *Tool) MayRead(mount, name string) bool {
	bounded := t.Implementation.Type == HTTP
	for _, need := range t.Needs {
		pattern, ok := strings.CutPrefix(need, fsRead+":")
		if !ok {
			continue
		}
		if bounded = true; glob.New(pattern).Match(mount + "/" + name) {
			return true
		}
	}
	return !bounded
}
