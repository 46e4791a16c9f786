package shadows

import (
	"fmt"
	"slices"

	"tavernsim/engine/agent"
	"tavernsim/engine/agent/agentfact"
	"tavernsim/engine/bus"
	"tavernsim/engine/schedule"
	"tavernsim/engine/schedule/chain"
	"tavernsim/engine/script"
	"tavernsim/engine/space"
	"tavernsim/engine/space/ground"
	"tavernsim/engine/world"
	"tavernsim/scenes/load/setup"
	"tavernsim/scenes/shadows/heard"
)

// class is what agents of one profile read and write, and whether their turns can be foretold.
type class struct {
	agent.Reach
	subscriptions []bus.Subscription
	space         *schedule.Space
	never         string // why no turn of it is foretold; "" = they are
	wakeable      bool   // tracked: events of others may wake it, so it has a turn each tick
	roused        bool   // events alone wake it, and it reaches others: bets do not know when
	scripted      bool   // what the script does may reach it
}

// An event that names its receiver is heard without a subscription. For the rule of dependencies both
// ways are types of their own: "type T" is what whoever subscribed to T hears, and "to K" what reaches
// agents of the class K by their names. "report" is what comes of a task: who asked for one hears it, and who reads tasks sees it.
const (
	typed    = "type "
	direct   = "to "
	reported = "report"
)

func directed(class int) string { return fmt.Sprintf("%s%d.", direct, class) }

// classesOf reads what the definitions of a scene say. Each entry of Definitions is a class.
func classesOf(sc *setup.Scene) ([]class, []schedule.Class) {
	list, out := make([]class, len(sc.Definitions)), make([]schedule.Class, len(sc.Definitions))
	for o := range sc.Len() {
		k := sc.Class[o]
		list[k].subscriptions = union(list[k].subscriptions, sc.Subscriptions(uint32(o)))
	}
	own := sc.Class[sc.OwnOrdinal()]
	roams := nowhere(sc, list)
	near := []schedule.Publish{} // what is heard only near who publishes it
	for k := range list {
		c, d := &list[k], sc.Definitions[k]
		c.Reach = d.Reach()
		c.inSpace(sc.Space)
		c.scripted = acts(sc.Script) || sc.Script != nil && (c.World || c.hearsOf("", &heard.Publication{Kind: bus.TypeWorldUpdated}))
		switch {
		case k == int(own):
			c.never = "it is the scene's own agent"
			if len(d.OnEvent) == 0 { // it acts between the waves only
				out[k] = schedule.Class{Perceives: []string{}, Writes: []string{}, Hears: []string{}, Publishes: []schedule.Publish{}, Consults: []string{}, Edits: []string{}}
				continue
			}
		case c.Version:
			c.never = "its prompts may name world_version"
		case c.space == nil && c.Surroundings && sc.Space != nil:
			c.never = "some of its agents are nowhere in space"
		case sc.Timings[k].Interrupt:
			c.never = "events interrupt it"
		case d.Pace != nil:
			c.never = "it rests at its ceilings, or longer while it does nothing"
		}
		everywhere, bounded := c.publishes(sc, roams)
		near = append(near, bounded...)
		out[k] = schedule.Class{Space: c.space, Perceives: c.perceives(d), Writes: c.writes(sc, d), Hears: c.hears(k), Publishes: everywhere, Consults: c.consults(), Edits: nil}
		if len(d.Knowledge) == 0 {
			out[k].Edits = []string{}
		}
	}
	for k := range list {
		if sc.Blocks && list[k].never == "" && list[k].fills(sc, out, roams) {
			list[k].never = "full lanes of those who hear it make it wait (policy block of an inbox)"
		}
		alone := sc.Timings[k].Period == 0
		list[k].roused = alone && wakeable(out[k], out) && slices.ContainsFunc(out, func(of schedule.Class) bool { return through(of, out[k]) != 0 })
		list[k].wakeable = wakeable(out[k], out) || list[k].space != nil && wakeable(out[k], []schedule.Class{{Publishes: near}})
	}
	return list, out
}

// fills reports whether events of the class may come to a lane that blocks its publishers.
func (c *class) fills(sc *setup.Scene, all []schedule.Class, roams bool) bool {
	everywhere, near := c.publishes(sc, roams)
	by := []schedule.Class{{Publishes: append(everywhere, near...)}}
	for k := range all {
		if sc.Timings[k].Blocks != nil && wakeable(all[k], by) {
			return true
		}
	}
	return false
}

// Paths begins the chains of a scene's calls, without turns.
func Paths(sc *setup.Scene) (*chain.Paths, error) {
	_, of := classesOf(sc)
	return chain.New(of)
}

func union(a, b []bus.Subscription) []bus.Subscription {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// perceives: a class that reads the world may read all of it, unless its profile says which parts.
func (c *class) perceives(d *agent.Definition) []string {
	switch {
	case !c.World:
		return []string{}
	case c.Part:
		return append([]string{}, texts(d.Perceives)...)
	}
	return nil
}

// writes are the patterns that the permissions of the profile allow.
func (c *class) writes(sc *setup.Scene, d *agent.Definition) []string {
	if !c.Writes {
		return []string{}
	}
	p := sc.Def.Permissions
	if p == nil {
		return nil
	}
	rules, ok := p.Profiles[d.Profile]
	if !ok {
		rules = p.Default
	}
	return texts(rules.Allow)
}

func texts(list []world.Pattern) (out []string) {
	for _, p := range list {
		out = append(out, p.String())
	}
	return out
}

func (c *class) hears(k int) []string {
	out := []string{directed(k)}
	if c.Assigns || c.Tasks {
		out = append(out, reported)
	}
	if c.Listens {
		return append(out, typed+"*")
	}
	for _, s := range c.subscriptions {
		out = append(out, typed+s.Type)
	}
	return out
}

// publishes: what reaches only who is near is a matter of space, unless somebody is nowhere.
func (c *class) publishes(sc *setup.Scene, roams bool) (everywhere, near []schedule.Publish) {
	everywhere = c.names(sc)
	if c.Publishes.Types == nil {
		everywhere = append(everywhere, schedule.Publish{Type: typed + "*"})
	}
	types := append([]string{agentfact.EventSaid}, c.Publishes.Types...)
	if c.Writes {
		types = append(types, bus.TypeWorldUpdated)
	}
	if sc.Space != nil && c.Walks {
		types = append(types, space.TypeLeft, space.TypeEntered)
	}
	for _, t := range types {
		p := schedule.Publish{Type: typed + t}
		if roams || c.space == nil || !sc.Space.Bounded(t) {
			everywhere = append(everywhere, p)
		} else {
			near = append(near, p)
		}
	}
	return everywhere, near
}

// names are the classes of which its events, or what it does as a director, may name an agent.
func (c *class) names(sc *setup.Scene) []schedule.Publish {
	out := []schedule.Publish{}
	if c.Reports {
		out = append(out, schedule.Publish{Type: reported})
	}
	if c.Publishes.To == nil || c.Directs {
		return append(out, schedule.Publish{Type: direct + "*"})
	}
	seen := make([]bool, len(sc.Definitions))
	for o := 0; o < sc.Len() && len(c.Publishes.To) > 0; o++ {
		if k := sc.Class[o]; !seen[k] && c.Publishes.Reaches(sc.Name(uint32(o))) {
			seen[k] = true
			out = append(out, schedule.Publish{Type: directed(int(k))})
		}
	}
	return out
}

// nowhere notes the classes of which all agents are in space, and reports whether some agent is not.
func nowhere(sc *setup.Scene, list []class) (roams bool) {
	if sc.Space == nil || sc.Space.Joined() {
		return true
	}
	for k := range list {
		list[k].space = &schedule.Space{}
	}
	for o := range sc.Len() {
		if o >= len(sc.Starts) || sc.Starts[o] == 0 {
			list[sc.Class[o]].space, roams = nil, roams || o != sc.OwnOrdinal()
		}
	}
	return roams
}

// inSpace says how far agents of the class see, speak and walk: words carry as far as one sees.
func (c *class) inSpace(m *ground.Map) {
	if c.space != nil {
		c.space.Reach, c.space.Speed = int32(m.Radius), int32(m.Speed)
	}
}

func (c *class) consults() []string {
	if c.Bases {
		return nil
	}
	return []string{}
}

// acts reports whether a script does more than to change the world: what it collects, it asks for, and what agents
// know of it follows its state.
func acts(p *script.Program) bool {
	return p != nil && (p.Beyond || len(p.States) > 1 || len(p.Types) > 0)
}

// wakeable reports whether events of some class may wake agents of another.
func wakeable(of schedule.Class, by []schedule.Class) bool {
	return slices.ContainsFunc(by, func(by schedule.Class) bool { return through(of, by)&schedule.Event != 0 })
}

// through is how one class reaches another. Patterns of permissions have been read before.
func through(of, by schedule.Class) schedule.Resource {
	r, err := schedule.Through(of, by)
	if err != nil {
		return schedule.World | schedule.Event | schedule.Base
	}
	return r
}

// hearsOf reports whether an agent of the class may hear an event.
func (c *class) hearsOf(name string, p *heard.Publication) bool {
	if slices.Contains(p.Targets, name) || len(p.Targets) == 0 && c.Listens {
		return true
	}
	return len(p.Targets) == 0 && slices.ContainsFunc(c.subscriptions, func(s bus.Subscription) bool { return s.Means(p.Kind) })
}

// advice says why a scene does not run ahead, one line a profile, and what would help; at most 8.
func advice(sc *setup.Scene, list []class, of []schedule.Class) (lines []string) {
	for k := range list {
		c, d := &list[k], sc.Definitions[k]
		if k == int(sc.Class[sc.OwnOrdinal()]) {
			continue
		}
		say := func(format string, args ...any) {
			line := fmt.Sprintf("profile %s: %s", d.Profile, fmt.Sprintf(format, args...))
			if len(lines) < maxAdvice && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		if c.never != "" {
			say("its turns are not foretold, for %s", c.never)
			continue
		}
		for b := range of {
			by, r := sc.Definitions[b].Profile, through(of[k], of[b])
			switch {
			case r&schedule.Event != 0 && list[b].Publishes.Types == nil && list[b].Publishes.To == nil:
				say("waits for every agent of %s, which has PublishEventTool in tool_ids_inventory and may tell it anything: publishes, publishes_to", by)
			case r&schedule.Event != 0 && list[b].Directs:
				say("waits for every agent of %s, which has tools of a director in tool_ids_inventory and may change it", by)
			case r&schedule.Event != 0 && list[b].Reports && (c.Assigns || c.Tasks):
				say("waits for every agent of %s, which may report on its tasks (ReportTaskTool)", by)
			case r&schedule.Event != 0:
				say("waits for every agent of %s, of which it hears (event_subscriptions)", by)
			case r&schedule.World != 0 && len(of[b].Writes) == 0:
				say("reads the world (world_state or ReadWorldStateTool), and %s may change all of it: world_write_permissions", by)
			case r&schedule.World != 0 && !c.Part:
				say("reads all of the world (world_state or ReadWorldStateTool), of which %s may change a part: perceives", by)
			case r&schedule.World != 0:
				say("perceives a part of the world that %s may change", by)
			case r&schedule.Base != 0:
				say("reads knowledge bases that %s may write", by)
			default:
				continue
			}
			break
		}
	}
	return lines
}

const maxAdvice = 8
