// Package minds holds the rules of the fields of profiles about motivation, memory and
// reflection (agent architecture §2.1.3, §2.1.5). Package project checks the references of
// motivation.
package minds

import (
	"maps"
	"slices"

	"tavernsim/engine/agent/memory"
	"tavernsim/engine/agent/profile"
	"tavernsim/engine/budget"
	"tavernsim/engine/goal"
	"tavernsim/internal/source"
	"tavernsim/protocol"
)

func between(low, high float64) *source.Range { return &source.Range{Min: low, Max: high} }

// span is the range of a time that is more than none.
func span() *source.Range { return &source.Range{Max: goal.MaxSpan.Seconds(), Open: true} }

// Rules are those of these fields.
func Rules() source.Rules {
	return source.Rules{
		"profile.Profile.motivation":           {Section: "§2.1.3", Doc: "How its agents weigh their [goals](goals.md). Default: no rules, unless an initial goal has a field that needs them; then those of an empty object."},
		"profile.Motivation.drives":            {Section: "§2.1.3", MaxItems: goal.MaxDrives, Doc: "Needs that grow by themselves."},
		"profile.Motivation.max_active":        {Section: "§2.1.3", Range: between(1, 10_000), Default: int64(goal.DefaultMaxActive), Doc: "Goals that are active at once; those with `completes_by` are not counted."},
		"profile.Motivation.patience":          {Section: "§2.1.3", Range: span(), Strict: true, Doc: "After this time without progress the rank of an active goal halves, and again after the next. Default: never."},
		"profile.Motivation.forget_below":      {Section: "§2.1.3", Range: between(0, 1), Default: 0.0, Doc: "An active goal whose rank has decayed below is abandoned. Needs `patience`."},
		"profile.Profile.memory":               {Section: "§2.1.5", Doc: "What its agents [remember](memory.md) of their own turns. Default: nothing."},
		"profile.Memory.episodes":              {Section: "§2.1.5", Doc: "One [episode](memory.md#episodes) for each turn that did something; `{}` takes the defaults."},
		"profile.Episodes.keep":                {Section: "§2.1.5", Range: between(1, profile.MaxEpisodes), Default: int64(profile.MaxEpisodes), Doc: "Most episodes of an agent; beyond it the one of the lowest rank goes."},
		"profile.Episodes.recall":              {Section: "§2.1.5", Range: between(0, profile.MaxEpisodesShown), Default: int64(profile.DefaultRecall), Doc: "Most episodes that a turn is shown."},
		"profile.Episodes.half_life":           {Section: "§2.1.5", Range: span(), Strict: true, Doc: "Age, in scene time, at which recency counts half. Default: 24h."},
		"profile.Episodes.consolidate":         {Section: "§2.1.5", Range: between(0, profile.MaxEpisodes), Default: int64(0), Doc: "So many like episodes get one [note](memory.md#notes) before the agent sleeps, once; 15 is a good number. 0: none do."},
		"profile.Memory.summary":               {Section: "§2.1.5", Doc: "A [running summary](memory.md#summary) of what the history has lost; `{}` takes the defaults."},
		"profile.Summary.tokens":               {Section: "§2.1.5", Range: between(1, profile.MaxSummary), Default: int64(profile.DefaultSummary), Doc: "Most tokens of it."},
		"profile.Summary.half_life":            {Section: "§2.1.5", Range: span(), Strict: true, Doc: "Age, in scene time, at which recency counts half. Default: 24h."},
		"profile.Summary.by":                   {Section: "§2.1.5", Default: "extract", Enum: []string{profile.ByExtract, profile.ByModel}, Doc: "What makes it: `extract` takes sentences as they were said; `model` asks a [model](memory.md#summaries-by-a-model), and needs `history`."},
		"profile.Summary.model":                {Section: "§2.1.5", Doc: "Name of the model that makes it, a file in `models/`. Default: that of the profile, which may [choose](providers.md#routes) by the purpose `summarise`."},
		"profile.Memory.history":               {Section: "§2.1.1", Doc: "Keeps the history [by partners](memory.md#history-by-partners), in tokens; `{}` takes the defaults. Default: the last `max_history` utterances."},
		"profile.History.tokens":               {Section: "§2.1.1", Range: between(1, profile.MaxTalk), Default: int64(profile.DefaultTalk), Doc: "Most tokens with each partner. The newest words with a partner stay."},
		"profile.History.partners":             {Section: "§2.1.1", Range: between(1, profile.MaxPartners), Default: int64(profile.DefaultPartners), Doc: "Partners: those with whom the agent spoke last."},
		"profile.Profile.reflection":           {Section: "§2.1.5", Doc: "When its agents [reflect](memory.md#reflection) without being asked; `{}` takes the defaults. Needs `memory.episodes` and a reflection workflow. Default: never."},
		"profile.Reflection.goal_ended":        {Section: "§2.1.5", Default: true, Doc: "When a goal is completed or has failed."},
		"profile.Reflection.failures":          {Section: "§2.1.5", Range: between(0, 1_000), Default: int64(profile.DefaultFailures), Doc: "After so many turns in a row in which something failed; 0: never."},
		"profile.Reflection.importance":        {Section: "§2.1.5", Range: between(0, 1_000_000), Default: int64(profile.DefaultImportance), Doc: "When the importance of the episodes since the last reflection has this sum; 0: never."},
		"profile.Reflection.every":             {Section: "§2.1.5", Range: between(0, 1_000_000), Default: int64(0), Doc: "After so many turns; 0: never."},
		"profile.Reflection.before_sleep":      {Section: "§2.1.5", Default: false, Doc: "In each turn that calls `SleepTool`."},
		"profile.Reflection.min_interval":      {Section: "§2.1.5", Range: between(0, goal.MaxSpan.Seconds()), Doc: "Scene time between two reflections, at least, whoever asks. Default: 10m."},
		"profile.Reflection.max_per_day":       {Section: "§2.1.5", Range: between(1, 100_000), Default: int64(profile.DefaultMaxPerDay), Doc: "Most reflections in a day of the scene (UTC), whoever asks."},
		"profile.Reflection.writes":            {Section: "§2.1.5", Doc: "Base of the entries that a reflection writes and that name none, by their type: an alias or id of the profile's bases; `*` is every other type. Default: the first base that it may write, or suggest to."},
		"profile.Profile.idle":                 {Section: "§2.3.3", Doc: "The pause between two turns of the floor frequency [grows](sleep.md#idle) while the agent does nothing; `{}` takes the defaults. Default: it stays."},
		"profile.Idle.turns":                   {Section: "§2.3.3", Range: between(1, profile.MaxIdleTurns), Default: int64(profile.DefaultIdleTurns), Doc: "From so many turns in a row that did nothing on, the pause grows with each."},
		"profile.Idle.factor":                  {Section: "§2.3.3", Range: between(1, profile.MaxIdleFactor), Default: float64(profile.DefaultIdleFactor), Doc: "By which it grows."},
		"profile.Idle.max_seconds":             {Section: "§2.3.3", Range: between(0.001, profile.MaxIdleSeconds), Default: float64(profile.DefaultIdleSeconds), Doc: "Longest pause, in scene time. One that is longer already stays."},
		"profile.Profile.ceilings":             {Section: "§3.2", Doc: "What each of its agents does and takes [at most](sleep.md#ceilings). Default: no ceilings."},
		"profile.Ceilings.max_deliberation_hz": {Section: "§3.2", Range: between(0.0000001, 1e6), Doc: "Turns in a second of scene time, at most: nothing wakes the agent before, and one turn perceives all that it heard. Default: no ceiling."},
		"profile.Ceilings.tokens_per_hour":     {Section: "§3.2", Range: between(1, budget.MaxTokens), Doc: "Tokens of an agent in each hour of scene time (UTC); then it rests until an hour that has some left. Default: no ceiling."},
		"profile.Ceilings.dollars_per_day":     {Section: "§3.2", Range: between(0.000000001, budget.MaxDollars), Doc: "Dollars of an agent on each day of scene time (UTC); then it rests until a day that has some left. Default: no ceiling."},
		"profile.Ceilings.share":               {Section: "§3.2", Range: &source.Range{Max: 1, Open: true}, Strict: true, Doc: "Share of the places of an endpoint, `max_concurrency`, that requests of all its agents in the scene have at once, at most; one at least. Default: no ceiling."},
		"profile.Drive.id":                     {Required: true, Section: "§2.1.3", Doc: "Identifies the drive in the profile."},
		"profile.Drive.path":                   {Required: true, Section: "§2.1.3", Doc: "Place in the private state. Its value, 0 to 1, is the level of the drive at the time of its last change; whatever writes there meets the drive."},
		"profile.Drive.grows_per_hour":         {Required: true, Section: "§2.1.3", Range: between(0, profile.MaxGrowth), Doc: "How much the level grows in an hour of scene time, up to 1."},
		"profile.Drive.serves":                 {Section: "§2.1.3", MaxItems: goal.MaxServes, Doc: "Ids of goals: their need is the level of their strongest drive."},
		"profile.Drive.wakes_at":               {Section: "§2.1.3", Range: between(0, 1), Default: 1.0, Doc: "Level at which the agent is woken, once until the drive is met."},
	}
}

// Remembers reports whether agents of a profile keep episodes.
func Remembers(p *profile.Profile) bool { return p.Memory != nil && p.Memory.Episodes != nil }

// Shown are the inputs that prompts of the profile get beside those of its workflows.
func Shown(p *profile.Profile) []string {
	var list []string
	if Remembers(p) {
		list = append(list, memory.Base)
	}
	if p.Memory != nil && p.Memory.Summary != nil {
		list = append(list, memory.Summary)
	}
	return list
}

func writes(p *profile.Profile, base string) bool {
	return slices.ContainsFunc(p.KnowledgeBaseReferences, func(k profile.KnowledgeReference) bool {
		a := k.Access()
		return (a.Alias == base || a.ID == base) && (a.Write || a.Suggest)
	})
}

// Settings are those of the prompts of a profile, with what its memory adds: tokens bound a history
// by partners, not its number of messages.
func Settings(p *profile.Profile, given map[string]any) map[string]any {
	if p.Memory == nil || p.Memory.History == nil {
		return given
	}
	out := maps.Clone(given)
	if out == nil {
		out = map[string]any{}
	}
	sections, _ := out["sections"].(map[string]any)
	sections = maps.Clone(sections)
	if sections == nil {
		sections = map[string]any{}
	}
	history, _ := sections["history"].(map[string]any)
	history = maps.Clone(history)
	if history == nil {
		history = map[string]any{}
	}
	if history["units"] == nil {
		history["units"] = allUnits
	}
	sections["history"], out["sections"] = history, sections
	return out
}

// allUnits are more messages than a history has.
const allUnits = 1_000_000

// Check tells what is wrong with memory and reflection of a profile whose references are
// resolved.
func Check(p *profile.Profile, fault func(path []any, suggestion, format string, args ...any)) {
	if p.Memory != nil && p.Memory.Summary != nil {
		switch s := p.Memory.Summary; {
		case s.By == profile.ByModel && p.Memory.History == nil:
			fault([]any{"memory", "summary", "by"}, "give memory: {history: {}}", "a model summarises what was said with one partner, and the history is not kept by partners")
		case s.By != profile.ByModel && s.Model != "":
			fault([]any{"memory", "summary", "model"}, "write by: model, or leave it out", "no model is asked")
		}
	}
	if Remembers(p) {
		for i := range p.KnowledgeBaseReferences {
			if a := p.KnowledgeBaseReferences[i].Access(); a.Alias == memory.Base || a.ID == memory.Base {
				fault([]any{"knowledge_base_references", i}, "give the base another id and alias", "with memory.episodes, %q is the agent's own base", memory.Base)
			}
		}
	}
	if c := p.Ceilings; c != nil {
		if *c == (profile.Ceilings{}) {
			fault([]any{"ceilings"}, "give max_deliberation_hz, tokens_per_hour, dollars_per_day or share", "there is no ceiling in it")
		}
	}
	r := p.Reflection
	if r == nil {
		return
	}
	for _, name := range protocol.SortedKeys(r.Writes) {
		if !writes(p, r.Writes[name]) {
			fault([]any{"reflection", "writes", name}, "name an alias or id of knowledge_base_references with write_caiu or suggest_edits", "%q is no base that the profile may write", r.Writes[name])
		}
	}
	if !Remembers(p) {
		fault([]any{"reflection"}, "give memory: {episodes: {}}", "a reflection is about episodes, and the profile keeps none")
	}
	if p.ReflectionWorkflowID == "" {
		fault([]any{"reflection"}, "name one in reflection_workflow_id, such as std/reflect", "the profile has no reflection workflow")
	}
}
