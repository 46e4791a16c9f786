package kb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tavernsim/cmd/simd/cli"
	"tavernsim/engine/knowledge"
	"tavernsim/engine/knowledge/criteria"
	"tavernsim/engine/knowledge/vector"
	"tavernsim/engine/template"
	"tavernsim/internal/show"
	"tavernsim/internal/terminal"
	"tavernsim/protocol"
)

type activateOptions struct {
	events, tags, heard, history, goals, observations, roles []string
	agent, profile, place, purpose, self, world, more        string
	active                                                   map[string]string
	seed, turn                                               uint64
	all, json                                                bool
}

func newActivate(e *cli.Env) *cobra.Command {
	var o activateOptions
	c := &cobra.Command{
		Use:   "activate PROJECT BASE WORDS...",
		Short: "Show which entries a situation activates, and why",
		Long: `Print of every entry with activation criteria, and of every lesson that the words bring
to mind, whether it is active (+) in a situation with these words, and why. Entries of
which no keyword occurs are shown with --all. Expressions of condition see the world and
self of --world and --self; scans read these, --heard, --history, --goal and --observation,
whose lines may be "who: text".

Exit codes: 0 shown, 2 usage, 3 the project has faults, 4 no such project or base.`,
		Example: "  simd kb activate my-project lore we cross the ford --event travel.begun\n" +
			"  simd kb activate my-project lore good evening --turn 7 --active toll=5",
		Args: cobra.MinimumNArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			return o.show(e, args[0], args[1], strings.Join(args[2:], " "))
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.events, "event", nil, "event `TYPES` that are perceived")
	f.StringSliceVar(&o.tags, "tag", nil, "tags of the situation")
	f.Uint64Var(&o.seed, "seed", 1, "`SEED` of chances and groups")
	f.BoolVar(&o.all, "all", false, "also the entries of which no keyword occurs")
	f.BoolVar(&o.json, "json", false, "print a list of {id, in, why}")
	f.StringArrayVar(&o.heard, "heard", nil, "`LINE` that is heard in this turn; again for more")
	f.StringArrayVar(&o.history, "history", nil, "`LINE` of the interaction history, the oldest first")
	f.StringArrayVar(&o.goals, "goal", nil, "`TEXT` of an open goal")
	f.StringArrayVar(&o.observations, "observation", nil, "`TEXT` of an observation")
	f.StringVar(&o.self, "self", "{}", "private state, a `JSON` object")
	f.StringVar(&o.world, "world", "{}", "world, a `JSON` object")
	f.StringVar(&o.agent, "agent", "", "`INSTANCE` whose prompt it is")
	f.StringVar(&o.profile, "profile", "", "its profile, by `ID`")
	f.StringSliceVar(&o.roles, "role", nil, "its `ROLES`")
	f.StringVar(&o.place, "place", "", "`PLACE` in which it is")
	f.StringVar(&o.purpose, "purpose", "", "`PURPOSE` of the workflow: deliberate, reflect, skill")
	f.Uint64Var(&o.turn, "turn", 0, "`NUMBER` of the agent's turn; 0: delay, sticky and cooldown do not count")
	f.StringToStringVar(&o.active, "active", nil, "`ENTRY=TURN` in which an entry became active before")
	cli.PluginsFlag(f, &o.more)
	return c
}

func (o *activateOptions) show(e *cli.Env, dir, id, text string) error {
	def, err := baseOf(dir, o.more, id)
	if err != nil {
		return err
	}
	base, err := knowledge.New(*def)
	if err != nil {
		return err
	}
	situation, err := o.situation(base, text)
	if err != nil {
		return err
	}
	base, words, err := seen(e, dir, o.more, base)
	if err != nil {
		return err
	}
	if words != nil {
		situation.Vector = vector.New(words.Of(vector.Text(situation.Text)))
	}
	list := []map[string]any{}
	for _, t := range base.Trace(situation) {
		if !o.all && t.Unheard() {
			continue
		}
		if o.json {
			list = append(list, map[string]any{"id": t.Entry.ID, "in": t.In, "why": t.Why})
			continue
		}
		mark := " "
		if t.In {
			mark = "+"
		}
		fmt.Fprintf(e.Out, "%s %-32s %s\n", mark, terminal.Plain(t.Entry.ID), terminal.Plain(t.Why))
	}
	if o.json {
		return show.JSON(e.Out, list)
	}
	return nil
}

// situation is what the flags say.
func (o *activateOptions) situation(base *knowledge.Base, text string) (*criteria.Situation, error) {
	self, err := objectOf("self", o.self)
	if err != nil {
		return nil, err
	}
	world, err := objectOf("world", o.world)
	if err != nil {
		return nil, err
	}
	if o.purpose != "" && !slices.Contains(criteria.Purposes(), o.purpose) {
		return nil, cli.Usagef("--purpose %q: want one of %s", o.purpose, strings.Join(criteria.Purposes(), ", "))
	}
	at := func(v map[string]any) func(string) string {
		return func(path string) string {
			found, ok := knowledge.Descend(v, path)
			if !ok || found == nil {
				return ""
			}
			return string(template.AppendText(nil, found))
		}
	}
	s := &criteria.Situation{
		Text: text, EventTypes: o.events, Tags: slices.Clone(o.tags), World: world, Self: self, Draw: protocol.NewDraw(o.seed), Turn: o.turn, Purpose: o.purpose,
		Who:     criteria.Who{Instance: o.agent, Profile: o.profile, Roles: o.roles},
		Sources: &criteria.Sources{Events: linesOf(append([]string{text}, o.heard...)), History: linesOf(o.history), Goals: linesOf(o.goals), Observations: linesOf(o.observations), Self: at(self), World: at(world)},
	}
	for _, list := range [][]string{o.heard, o.goals} {
		if len(list) > 0 {
			s.Text += "\n" + strings.Join(list, "\n")
		}
	}
	if o.place != "" {
		s.Who.Places = []string{o.place}
	}
	for _, tag := range []string{o.profile, o.place} {
		if tag != "" {
			s.Tags = append(s.Tags, tag)
		}
	}
	for _, id := range protocol.SortedKeys(o.active) {
		turn, err := strconv.ParseUint(o.active[id], 10, 32)
		e, ok := base.Get(id)
		switch {
		case err != nil:
			return nil, cli.Usagef("--active %s=%s: want the number of a turn, such as %s=3", id, o.active[id], id)
		case !ok || e.ActivationCriteria == nil || !e.ActivationCriteria.Timed():
			return nil, cli.Usagef("--active %s: the base has no such entry with sticky or cooldown", id)
		}
		s.Kept = s.Kept.With(e.ActivationCriteria.Begin(base.ID(), id, turn))
	}
	return s, nil
}

// linesOf reads "who: text".
func linesOf(list []string) (out []criteria.Line) {
	for _, text := range list {
		line := criteria.Line{Text: text}
		if who, rest, ok := strings.Cut(text, ": "); ok && !strings.ContainsRune(who, ' ') {
			line = criteria.Line{Who: who, Text: rest}
		}
		out = append(out, line)
	}
	return out
}

func objectOf(flag, text string) (map[string]any, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, cli.Usagef("--%s: %v", flag, err)
	}
	v, err := protocol.Normalize(v)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, cli.Usagef("--%s: want a JSON object", flag)
	}
	return m, nil
}
