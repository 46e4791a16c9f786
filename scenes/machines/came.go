package machines

import (
	"strings"

	"tavernsim/engine/agenda"
	"tavernsim/engine/cast"
	"tavernsim/engine/script"
	"tavernsim/engine/travel"
	"tavernsim/protocol"
	"tavernsim/scenes/machines/span"
)

// A history does not keep what a turn asks for. Verify decides the turn again to know it. Where it cannot, it gives
// the stage, in the place of the requests, the facts that came of them (span.Turn.Came).

// asked is what a director asks of the stage, or for verify a fact that came of it.
type asked struct {
	request protocol.Raw
	came    protocol.Fact
}

// cameOf takes the facts that came of a turn's requests into the wave, each where the stage decides such a request.
func (w *wave) cameOf(t *span.Turn) {
	for _, f := range t.Came {
		if x, refused := f.(*agenda.EffectsRefused); refused {
			w.keep(x)
			continue
		}
		w.asked = append(w.asked, asked{came: f})
	}
}

// takeOver carries out what a fact tells of.
func (c *changes) takeOver(f protocol.Fact) error {
	switch x := f.(type) {
	case *agenda.Removed:
		for _, f := range c.asItIs().Exit(x.Agent, &cast.Request{ID: x.ID, By: x.By, Reason: x.Reason}) {
			if err := c.keepChange(f); err != nil {
				return err
			}
		}
		return nil
	case *travel.Departed: // with the state that its agent gives
		if link, err := c.people().LinkTo(x.To); err == nil {
			c.asItIs().Leave(x.Agent, link, &cast.Request{ID: x.ID, By: x.By, Reason: x.Reason})
		}
		return nil
	case *script.Set: // it follows when the script looks
		v, err := x.Value.Value()
		c.given = append(c.given, script.Given{Set: map[string]any{x.Variable: v}, Why: x.Why})
		return err
	case *script.Entered:
		c.given = append(c.given, script.Given{To: x.State, Why: x.Why})
		return nil
	}
	return c.keepChange(f)
}

// ByDirector is the director that a fact of the script names as its reason; "" = it names none.
func ByDirector(why string) string {
	name, by := strings.CutPrefix(why, whyDirector)
	if !by {
		return ""
	}
	return name
}

const whyDirector = "director "
