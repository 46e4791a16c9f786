package scenes

import (
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	"tavernsim/actors"
	"tavernsim/internal/metrics"
)

// StuckAfter is how long an actor of a scene may handle one message. Work that may
// take longer (a model, an import) does not run in an actor.
const StuckAfter = 30 * time.Second

// Stuck reports, in the log and in metrics, an actor that does not return from a
// message. Code of the embedding program (a node kind, a middleware) loops, or a disk
// hangs. Its worker is lost until the code returns; if it does not, the process must
// be ended and the run resumed without that code.
func Stuck(set *metrics.Set, log *slog.Logger) func(actors.Stuck) (free func()) {
	return func(x actors.Stuck) func() {
		scene, actor := path.Dir(x.Receiver), path.Base(x.Receiver) // in a host of several runs the run's directory stands before the scene
		kind, given := kindNames()[x.Kind], strings.TrimSpace(fmt.Sprint(x.Envelope.Kind, " ", x.Envelope.Type))
		log.Error("an actor does not return from a message; its worker is lost until it does",
			"scene", scene, "agent", actor, "given", given, "event", x.Envelope.ID, "wave", x.Envelope.Wave, "for", x.For.String())
		free := set.Stuck(kind, fmt.Sprintf("scene %s: %s does not return from %s", scene, actor, given))
		return func() {
			log.Warn("an actor returned after all", "scene", scene, "agent", actor, "given", given)
			free()
		}
	}
}
