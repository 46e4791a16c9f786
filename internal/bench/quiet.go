package bench

import (
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

func quietLogger(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }

// silent is a database logger that says nothing; a fatal error still ends the
// program, for there is nothing left to measure.
type silent struct{}

func (silent) Infof(string, ...any)  {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatalf(format string, args ...any) {
	panic("bench: database: " + format)
}
