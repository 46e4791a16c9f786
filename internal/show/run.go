package show

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"tavernsim/engine/budget"
	"tavernsim/internal/terminal"
	"tavernsim/llm/price"
	"tavernsim/scenes/history"
	"tavernsim/scenes/run/rundir"
)

// Run writes what a run came to; compact: its totals alone.
func Run(w io.Writer, s *rundir.Summary, compact bool) error {
	var b strings.Builder
	list := s.Scenes
	if s.SceneSummary != nil {
		list = []*rundir.SceneSummary{s.SceneSummary}
	}
	for _, scene := range list {
		writeScene(&b, scene, s.WallSeconds, compact)
	}
	fmt.Fprintf(&b, "  run directory: %s\n", s.RunDir)
	return terminal.Print(w, terminal.FillOn(w, b.String(), "        "))
}

func writeScene(b *strings.Builder, s *rundir.SceneSummary, wall float64, compact bool) {
	speed := ""
	if wall > 0 {
		speed = fmt.Sprintf(" (×%s)", terminal.Short(s.SceneSeconds/wall))
	}
	fmt.Fprintf(b, "%s  seed %d  %s clock  %s in %.2fs%s  stopped by %s\n", s.Scene, s.Seed, s.Clock, terminal.Span(s.SceneSeconds), wall, speed, s.StoppedBy)
	fmt.Fprintf(b, "  digest %s\n", s.Digest)
	if s.Error != "" {
		fmt.Fprintf(b, "  ERROR %s\n", strings.ReplaceAll(s.Error, "\n", "\n    "))
	}
	if o := s.Outcome; o != nil {
		fmt.Fprintf(b, "  outcome %s\n", outcomeOf(o))
	}
	row := func(name, format string, args ...any) {
		fmt.Fprintf(b, "    %s: %s\n", name+strings.Repeat(".", max(0, 22-len(name))), fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(b, "  █ TOTALS\n")
	row("agents", "%s%s", terminal.Thousands(s.Agents), note(s.GivenUp, "%d given up"))
	row("deliberations", "%s  %s/s  p50=%s p99=%s max=%s%s", terminal.Thousands(s.Deliberations), terminal.Short(float64(s.Deliberations)/max(wall, 1e-9)),
		terminal.Brief(s.Latency.P50), terminal.Brief(s.Latency.P99), terminal.Brief(s.Latency.Max), note(s.Failed, "%d failed"))
	row("events", "%s routed to %s receivers%s", terminal.Thousands(s.Events.Routed), terminal.Thousands(s.Events.Delivered), note(s.Events.Refused, "%d refused"))
	row("world", "version %s  %s%s%s", terminal.Thousands(s.World.Version), terminal.Plural(s.World.Changes, "change"), note(s.World.Refused, "%d refused"), note(s.World.Conflicts, "%d of them conflicts"))
	row("model", "%s calls  tokens in=%s out=%s%s", terminal.Thousands(s.Model.Calls), terminal.Short(float64(s.Model.Tokens.Input)), terminal.Short(float64(s.Model.Tokens.Output)), note(s.Model.Failed, "%d failed"))
	if n := cutAnswers(s.Model.ByModel); n > 0 {
		row("cut", "%s cut at max_tokens; set max_tokens of the model file higher", terminal.Plural(n, "answer"))
	}
	if a := s.Model.Answers; a != nil {
		row("answers", "%s reused%s%s, %s asked, %s%s", terminal.Thousands(a.Reused), said(strings.TrimSpace(note(a.Stored, "(%d out of the store)")), " %s"), said(strings.TrimSpace(note(a.Shared, "%d shared")), ", %s"), terminal.Thousands(a.Asked), paid(a), said(saved(a.Saved), "  %s saved"))
		if a.Missed > 0 {
			row("not recorded", "%s; the first: simd inspect DIR deliberation %s --against ANSWERS", terminal.Plural(a.Missed, "question"), a.First)
		}
	}
	for _, l := range s.Budgets[:min(len(s.Budgets), maxRows)] {
		row("budget "+l.Ledger, "%s", budgetText(&l))
	}
	if lost := s.Model.Lost; lost != (rundir.Spent{}) {
		row("unanswered", "up to %s for requests that failed or were cut off, and all requests of turns that were abandoned\n      budgets count them; the provider may have charged less", budget.Amount(lost))
	}
	if c := s.Critical; c != nil && c.Critical >= 1 {
		row("critical path", "%s", criticalLine(c))
	}
	writeSchedule(b, row, s.Schedule)
	row("calls", "%s of tools and skills%s", terminal.Thousands(s.Tools.Calls), note(s.Tools.Failed, "%d failed"))
	if t := s.Tools; t.Replayed+t.Missed > 0 {
		row("recorded calls", "%s got their recorded answers%s", terminal.Thousands(t.Replayed), note(t.Missed, "%d are not recorded"))
	}
	row("journal", "%s facts  %s in %s waves  durability %s", terminal.Thousands(s.Journal.Facts), terminal.Size(float64(s.Journal.Bytes)), terminal.Thousands(s.Journal.Waves), s.Journal.Durability)
	if s.Restarts+s.DeadLetters > 0 {
		row("trouble", "%d restarts  %d dead letters", s.Restarts, s.DeadLetters)
	}
	for _, trouble := range s.Troubles {
		fmt.Fprintf(b, "      ! %s\n", strings.ReplaceAll(trouble, "\n", "\n        "))
	}
	if compact {
		return
	}
	writeWho(b, s)
	writeReport(b, s)
}

func cutAnswers(models []history.ModelUse) (n int64) {
	for i := range models {
		n += models[i].Length
	}
	return n
}

// writeSchedule says what came of the turns that ran ahead.
func writeSchedule(b *strings.Builder, row func(name, format string, args ...any), s *rundir.Schedule) {
	if s == nil {
		return
	}
	speed := ""
	if s.WallSeconds > 0 && s.BarrierSeconds > 0 {
		speed = fmt.Sprintf("; the barrier would have waited about %s for models, all took %s", terminal.Span(s.BarrierSeconds), terminal.Span(s.WallSeconds))
	}
	row("schedule "+s.Name, "%s ran ahead, %s used%s; of their %s %s used%s%s", terminal.Plural(s.Turns, "turn"), terminal.Thousands(s.Used), note(s.Undone, "set back %d times"),
		terminal.Plural(s.Calls, "call"), terminal.Thousands(s.CallsUsed), note(s.CallsWasted, "%d wasted")+note(s.CallsAhead, "%d ahead when it stopped")+unused(s.PaidUnused), speed)
	if s.GaveUp != "" {
		fmt.Fprintf(b, "      ! it gave up, and the scene went on by the barrier: %s\n", s.GaveUp)
	}
	for _, line := range s.Advice {
		fmt.Fprintf(b, "      %s\n", line)
	}
}

// unused says what was paid for answers that no turn has used.
func unused(a rundir.Spent) string {
	switch {
	case a.Nano > 0:
		return fmt.Sprintf(", %s tokens and %s paid for answers that no turn has used", terminal.Thousands(a.Tokens), price.Dollars(a.Nano))
	case a.Tokens > 0:
		return fmt.Sprintf(", %s tokens for answers that no turn has used", terminal.Thousands(a.Tokens))
	}
	return ""
}

// paid says what the answers of endpoints cost since the run was last started.
func paid(a *rundir.Answers) string {
	if a.Unpriced > 0 {
		return fmt.Sprintf("%s and %s without a price", price.Dollars(a.Paid), terminal.Plural(a.Unpriced, "answer"))
	}
	return price.Dollars(a.Paid)
}

func saved(nano int64) string {
	if nano == 0 {
		return ""
	}
	return price.Dollars(nano)
}

// modelLine says what came of one model at an endpoint.
func modelLine(u *history.ModelUse) string {
	return fmt.Sprintf("%12s  %s %s  tokens in=%s out=%s cached=%s%s%s", terminal.Thousands(u.Answers), u.Endpoint, cmp.Or(u.Model, "?"), terminal.Short(float64(u.Input)), terminal.Short(float64(u.Output)), terminal.Short(float64(u.Cached)),
		said(u.Price(), "  %s"), note(u.Failed, "%d failed"))
}

// writeWho says who did what.
func writeWho(b *strings.Builder, s *rundir.SceneSummary) {
	section := func(title string, list []rundir.Count) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintf(b, "  █ %s\n", title)
		for i, c := range list {
			if i == maxRows {
				fmt.Fprintf(b, "    … and %d more (summary.json has all)\n", len(list)-maxRows)
				break
			}
			fmt.Fprintf(b, "    %12s  %s\n", terminal.Thousands(c.Count), c.Name)
		}
	}
	if len(s.ByAgent) > 0 {
		section("DELIBERATIONS BY AGENT", s.ByAgent)
	} else {
		section("DELIBERATIONS BY PROFILE", s.ByProfile)
	}
	if len(s.Model.ByModel) > 0 {
		fmt.Fprintf(b, "  █ ANSWERS BY MODEL\n")
		for i := range s.Model.ByModel {
			fmt.Fprintf(b, "    %s\n", modelLine(&s.Model.ByModel[i]))
		}
	}
	section("CALLS", s.Tools.ByTool)
	section("EVENTS", s.Events.ByType)
	var refused []rundir.Count
	for _, r := range s.Refusals {
		refused = append(refused, rundir.Count{Name: r.What + " " + r.Reason + said(r.Setting, " (%s)"), Count: r.Count})
	}
	section("REFUSED", refused)
	if s.Reflections+s.Knowledge > 0 {
		fmt.Fprintf(b, "  █ LEARNING\n    %12s  reflections\n    %12s  knowledge entries written\n", terminal.Thousands(s.Reflections), terminal.Thousands(s.Knowledge))
	}
}

// maxRows bounds a list of the summary.
const maxRows = 12

// maxCharts bounds the pictures of reported values.
const maxCharts = 8

// writeReport shows the reported world values, each that moved with a picture of
// its own: what one path is counted in says nothing of another.
func writeReport(b *strings.Builder, s *rundir.SceneSummary) {
	if len(s.Report) == 0 {
		return
	}
	fmt.Fprintf(b, "  █ WORLD\n")
	drawn := 0
	for i := range s.Report {
		v := &s.Report[i]
		fmt.Fprintf(b, "    %s = %s\n", v.Path, valueText(v.Value))
		if chart := terminal.Chart(v.Seconds, v.Series); chart != "" {
			if drawn++; drawn <= maxCharts {
				b.WriteString(chart)
			}
		}
	}
	if drawn > maxCharts {
		fmt.Fprintf(b, "    … %s moved too: simd export DIR --what world\n", terminal.Plural(drawn-maxCharts, "value"))
	}
}

// valueText shows a value of the world: text as it is, line by line, a list of
// texts one below the other, anything else as JSON.
func valueText(v any) string {
	switch x := v.(type) {
	case string:
		return strings.ReplaceAll(x, "\n", "\n      ")
	case []any:
		var lines []string
		for _, e := range x {
			s, ok := e.(string)
			if !ok {
				return asJSON(v)
			}
			lines = append(lines, "\n      "+s)
		}
		return strings.Join(lines, "")
	}
	return asJSON(v)
}

// budgetText says what became of a budget: "98,400 of 100,000 tokens used, 3 refused".
func budgetText(l *rundir.Budget) string {
	form, end := "%s of %s%s", " used"
	if l.Window == rundir.WindowWallDay { // agents are charged for answers that they share, and the day is that of all runs
		form, end = "%s charged to agents, %s%s a day", ""
	}
	var parts []string
	for _, u := range []struct {
		used, limit int64
		text        func(int64) string
		unit        string
	}{
		{l.Used.Tokens, l.Limit.Tokens, terminal.Thousands[int64], " tokens"},
		{l.Used.Nano, l.Limit.Nano, price.Dollars, ""},
		{l.Used.Calls, l.Limit.Calls, terminal.Thousands[int64], " calls"},
		{l.Used.Micro, l.Limit.Micro, micros, ""},
		{l.Used.Bytes, l.Limit.Bytes, terminal.Thousands[int64], " bytes"},
	} {
		if u.limit > 0 {
			parts = append(parts, fmt.Sprintf(form, u.text(u.used), u.text(u.limit), u.unit))
		}
	}
	text := strings.Join(parts, ", ") + end
	if l.Window == budget.WindowDay {
		text += " today"
	}
	if l.Exceeded() {
		text += ", EXCEEDED"
	}
	if saved := budget.Amount(l.Saved); saved != (budget.Amount{}) {
		text += fmt.Sprintf(", %s saved", saved)
	}
	return text + note(l.Refused, "%d refused") + note(l.Degraded, "%d degraded")
}
