// Package estimate estimates the cost of a run before it starts. [Run] plays a sample of
// the agents with scripts instead of models, in a directory that it removes, and
// computes calls, tokens and dollars of the whole run. It opens no connection.
//
// # Promises
//
//  1. The sample of each profile represents all agents of the profile: 1 % of the
//     agents, at least 20 and at most 2,000, all of a smaller scene.
//  2. The expected cost is that of the real prompts, and of answers as long as the
//     script's. Low and High are two standard errors of the sample away from it.
//  3. Worst is the cost of the same calls with the most tokens that prompts of this size can
//     have, answers of max_tokens and nothing from a cache.
//  4. A budget suffices if Worst does not exceed it, in every unit; it is too small if the
//     expected cost does.
//  5. Nothing of the run stays: no directory, no metric.
//
// # Not here
//
// The tokens of scripts, which budgets count, too; fallbacks of routes, because nothing fails;
// the number of requests with other answers, because a script decides otherwise than a model.
package estimate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tavernsim/engine/agenda"
	"tavernsim/engine/budget"
	"tavernsim/llm/models"
	"tavernsim/llm/price"
	"tavernsim/persistence"
	"tavernsim/scenes/load/project"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/tooling"
)

// Bounds of the agents that are played.
const (
	least = 20
	most  = 2000
)

// Report is what a run would cost.
type Report struct {
	Scenes  []Scene  `json:"scenes"`
	Cost    int64    `json:"cost"`           // nano-dollars, expected
	Worst   int64    `json:"worst"`          // nano-dollars
	Unknown []string `json:"unknown_prices"` // models at endpoints that have no price; they are not in Cost and Worst
	Assumed []string `json:"assumed"`        // sentences
	Budgets []Budget `json:"budgets,omitempty"`
}

// Scene is the part of one scene.
type Scene struct {
	Scene         string  `json:"scene"`
	Agents        int     `json:"agents"`
	Played        int     `json:"agents_played"`
	Seconds       float64 `json:"scene_seconds"` // that the figures are for
	PlayedSeconds float64 `json:"scene_seconds_played"`
	StoppedBy     string  `json:"stopped_by"` // of what was played
	Models        []Model `json:"models"`
}

// Model is what one model would cost. Tokens are estimated.
type Model struct {
	Model     string `json:"model"`    // file
	Endpoint  string `json:"endpoint"` // its name
	Asked     string `json:"asked"`    // the model as the endpoint calls it
	Price     string `json:"price"`    // in words
	Priced    bool   `json:"priced"`   // false: the figures in dollars are 0
	Calls     int64  `json:"calls"`
	Input     int64  `json:"tokens_in"`
	Output    int64  `json:"tokens_out"`
	MaxInput  int64  `json:"max_tokens_in"`
	MaxOutput int64  `json:"max_tokens_out"`
	Cost      int64  `json:"cost"` // nano-dollars, expected
	Low       int64  `json:"low"`
	High      int64  `json:"high"`
	Worst     int64  `json:"worst"`
}

// Run plays a part of each scene for at most wall, and computes the whole.
func Run(ctx context.Context, p *project.Project, opt runner.Options, wall time.Duration) (*Report, error) {
	ids := opt.Scenes
	if len(ids) == 0 {
		ids = []string{""}
	}
	r := &Report{Scenes: []Scene{}, Unknown: []string{}, Assumed: []string{
		"scripts answered in the place of models; answers are as long as theirs, and agents do what they say",
		"nothing comes from a cache or a record, and nothing is sent again after a failure",
	}}
	if opt.Endpoints == nil {
		r.Assumed = append(r.Assumed, "there is no file of endpoints (--providers): prices are those of the services that the models' kinds are named after")
	}
	for _, id := range ids {
		def, err := p.Scene(id)
		if err != nil {
			return nil, err
		}
		one, err := play(ctx, p, def, opt, wall, r)
		if err != nil {
			return nil, err
		}
		r.Scenes = append(r.Scenes, *one)
		for _, m := range one.Models {
			r.Cost, r.Worst = price.Sum(r.Cost, m.Cost), price.Sum(r.Worst, m.Worst)
			if !m.Priced {
				r.Unknown = append(r.Unknown, m.Model)
			}
		}
	}
	if err := r.judge(&opt); err != nil {
		return nil, err
	}
	slices.Sort(r.Unknown)
	r.Unknown = slices.Compact(r.Unknown)
	return r, nil
}

// play plays a part of a scene.
func play(ctx context.Context, p *project.Project, def *project.Scene, opt runner.Options, wall time.Duration, r *Report) (*Scene, error) {
	opt.Tools = still(p)
	all, err := def.Agents(opt.Agents)
	if err != nil {
		return nil, err
	}
	some := part(def, all, &opt)
	gathered := &models.Estimate{}
	sum, err := run(ctx, p, def, opt, wall, gathered)
	if err != nil {
		return nil, err
	}
	s := &Scene{Scene: sum.Scene, Agents: all.Len(), Played: some.Len(), PlayedSeconds: sum.SceneSeconds, Seconds: sum.SceneSeconds, StoppedBy: sum.StoppedBy}
	longer := 1.0
	if sum.StoppedBy == agenda.StoppedByInterrupt {
		if planned := planned(def, opt); planned > 0 && sum.SceneSeconds > 0 {
			longer, s.Seconds = planned/sum.SceneSeconds, planned
		} else {
			r.Assumed = append(r.Assumed, fmt.Sprintf("%s was played for %s and has no end by time: the figures are for that time", s.Scene, time.Duration(sum.SceneSeconds*1e9)))
		}
	}
	if sum.StoppedBy == agenda.StoppedByBudget {
		r.Assumed = append(r.Assumed, s.Scene+" ended by its budget: the figures are for what was played until then, and its agents would not get more than the budget")
	}
	whole := profiles(all)
	others := "the others do as often what theirs do"
	if sharedEnd(sum) {
		whole, others = profiles(some), "it ends by what all of them do together, so that more agents do no more"
	}
	if some.Len() < all.Len() {
		r.Assumed = append(r.Assumed, fmt.Sprintf("%d of the %d agents of %s were played; %s", some.Len(), all.Len(), s.Scene, others))
	}
	s.Models = total(gathered.Played(), whole, profiles(some), longer)
	if !sharedEnd(sum) { // else what was played came to its end
		more := float64(all.Len()) / float64(some.Len()) * longer
		if end := s.cut(def.Definition.Simulation.Stop, def.Definition.Budget, float64(sum.Deliberations)*more, float64(sum.Events.Routed)*more); end != "" {
			r.Assumed = append(r.Assumed, fmt.Sprintf("%s would end by its %s: the figures are for what is expected until then", s.Scene, end))
		}
	}
	return s, nil
}

// sharedEnd reports whether the scene ended by what all agents do together.
func sharedEnd(sum *rundir.SceneSummary) bool {
	switch sum.StoppedBy {
	case agenda.StoppedByDeliberations, agenda.StoppedByEvents, agenda.StoppedByTokens:
		return true
	case agenda.StoppedByBudget:
		return slices.ContainsFunc(sum.Budgets, func(b rundir.Budget) bool {
			return b.Refused > 0 && b.OnExhausted == budget.End && budget.Kind(b.Ledger)+":" != budget.OfAgent
		})
	}
	return false
}

// cut lowers the figures to those of a scene that ends by what all its agents do, and says by what; "" = less is
// expected than its bounds.
func (s *Scene) cut(stop agenda.Stop, b *budget.Budget, deliberations, events float64) (end string) {
	var calls, tokens, cost float64
	for i := range s.Models {
		m := &s.Models[i]
		calls, tokens, cost = calls+float64(m.Calls), tokens+float64(m.Input+m.Output), cost+float64(m.Cost)
	}
	share := 1.0
	bound := func(name string, most, expected float64) {
		if most > 0 && most < share*expected {
			share, end = most/expected, name
		}
	}
	bound("stop.deliberations", float64(stop.Deliberations), deliberations)
	bound("stop.events", float64(stop.Events), events)
	bound("stop.tokens", float64(stop.Tokens), tokens)
	bound("stop.dollars", stop.Dollars*budget.Dollar, cost)
	if b != nil && (b.OnExhausted == "" || b.OnExhausted == budget.End) && (b.Window == "" || b.Window == budget.WindowRun) {
		bound("budget", float64(b.Tokens), tokens)
		bound("budget", float64(b.Calls), calls)
		bound("budget", b.Dollars*budget.Dollar, cost)
	}
	s.Seconds *= share
	for i := range s.Models {
		m := &s.Models[i]
		for _, n := range []*int64{&m.Calls, &m.Input, &m.Output, &m.MaxInput, &m.MaxOutput, &m.Cost, &m.Low, &m.High, &m.Worst} {
			*n = whole64(float64(*n) * share)
		}
	}
	return end
}

// still is the mode in which no tool is carried out.
func still(p *project.Project) tooling.Mode {
	if p.ToolMock() != nil {
		return tooling.Mock
	}
	return tooling.Off
}

// part chooses how many agents are played, and gives them.
func part(def *project.Scene, all *project.Agents, opt *runner.Options) *project.Agents {
	for n := min(max(all.Len()/100, least), most); n < all.Len(); n *= 2 { // an entry with a count has one agent at least
		if some, err := def.Agents(n); err == nil && some.Len() < all.Len() {
			opt.Agents = n
			return some
		}
	}
	return all
}

func profiles(a *project.Agents) map[string]int {
	n := map[string]int{}
	for i := range a.Len() {
		n[a.At(i).Profile.Definition.ID]++
	}
	return n
}

// run plays in a directory that it removes.
func run(ctx context.Context, p *project.Project, def *project.Scene, opt runner.Options, wall time.Duration, into *models.Estimate) (sum *rundir.SceneSummary, err error) {
	dir, err := os.MkdirTemp("", "simd-estimate-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r, err := runner.Start(p, runner.Options{
		Dir: filepath.Join(dir, "run"), Scenes: []string{def.Definition.ID}, Clock: agenda.Virtual, Agents: opt.Agents, Model: opt.Model, Seed: opt.Seed, For: opt.For, Ticks: opt.Ticks, Until: opt.Until,
		Durability: persistence.Memory, Endpoints: opt.Endpoints, Tools: opt.Tools, Estimate: into, Version: opt.Version, Log: slog.New(slog.DiscardHandler), ProjectDir: opt.ProjectDir,
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, wall)
	defer stop()
	defer context.AfterFunc(ctx, r.Interrupt)()
	s, err := r.Wait()
	if err != nil {
		return nil, err
	}
	return s.SceneSummary, nil
}

// planned is for how many seconds of scene time a run goes on; 0 = nobody knows.
func planned(def *project.Scene, opt runner.Options) float64 {
	stop := def.Definition.Simulation.Stop
	tick := cmp.Or(def.Definition.Simulation.Tick.Std(), time.Second)
	length := cmp.Or(opt.For, stop.After.Std())
	if ticks := cmp.Or(opt.Ticks, stop.Ticks); ticks > 0 && (length == 0 || ticks < int64(length/tick)) {
		length = time.Duration(ticks) * tick
	}
	return length.Seconds()
}

// total computes the whole of what the agents asked: those of a profile stand for all
// of it.
func total(played []models.Played, whole, some map[string]int, longer float64) []Model {
	list := []Model{}
	for len(played) > 0 {
		n := slices.IndexFunc(played, func(x models.Played) bool { return x.Name != played[0].Name })
		if n < 0 {
			n = len(played)
		}
		list = append(list, one(played[:n], whole, some, longer))
		played = played[n:]
	}
	return list
}

func one(played []models.Played, whole, some map[string]int, longer float64) Model {
	first := &played[0]
	m := Model{Model: first.Name, Endpoint: first.Endpoint, Asked: first.Model, Price: first.Said, Priced: first.Priced}
	var calls, in, out, maxIn, maxOut, cost, worst, variance float64
	for len(played) > 0 {
		profile := played[0].Profile
		n, all := float64(max(some[profile], 1)), float64(max(whole[profile], 1))
		by := all / n * longer
		var sum, squares float64
		for len(played) > 0 && played[0].Profile == profile {
			x := &played[0]
			calls, in, out = calls+by*float64(x.Calls), in+by*float64(x.Input), out+by*float64(x.Output)
			maxIn, maxOut, worst = maxIn+by*float64(x.MaxInput), maxOut+by*float64(x.MaxOutput), worst+by*float64(x.MaxCost)
			sum, squares = sum+float64(x.Cost), squares+float64(x.Cost)*float64(x.Cost)
			played = played[1:]
		}
		cost += by * sum
		spread := sum * sum // of one agent nothing is known but its cost
		if n > 1 {
			spread = max(squares-sum*sum/n, 0) / (n - 1)
		}
		if all > n {
			variance += all * all * (1 - n/all) * spread / n * longer * longer
		}
	}
	m.Calls, m.Input, m.Output, m.MaxInput, m.MaxOutput = whole64(calls), whole64(in), whole64(out), whole64(maxIn), whole64(maxOut)
	m.Cost, m.Worst = whole64(cost), whole64(worst)
	m.Low, m.High = whole64(cost-2*math.Sqrt(variance)), min(whole64(cost+2*math.Sqrt(variance)), max(m.Worst, m.Cost))
	return m
}

func whole64(f float64) int64 {
	switch {
	case f <= 0:
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	}
	return int64(math.Round(f))
}
