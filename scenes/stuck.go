package scenes

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"tavernsim/actors"
	"tavernsim/internal/metrics"
)

// StuckAfter is how long an actor of a scene may be at one message. What takes
// longer in good order (a model, an import) waits outside of its actor.
const StuckAfter = 30 * time.Second

// Stuck says in the log and in metrics that an actor does not return from a
// message: code of the project or of the program around the scene (a node kind, a
// middleware) loops, or a disk hangs. Nobody can take its worker away; the process
// has to be ended, and the run resumed without that code.
func Stuck(set *metrics.Set, log *slog.Logger) func(actors.Stuck) (free func()) {
	return func(x actors.Stuck) func() {
		scene, actor, _ := strings.Cut(x.Receiver, "/")
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
