package metrics

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"tavernsim/engine/budget"
	"tavernsim/engine/bus/delivery"
	"tavernsim/internal/metrics/disk"
	"tavernsim/llm/gate"
	"tavernsim/llm/limit"
	"tavernsim/persistence"
)

// Sources are read at each scrape, from the goroutine of the scrape. Any of
// them may be nil. None may block, or call the Set.
type Sources struct {
	Mailboxes MailboxSource
	Agents    AgentSource
	Seats     SeatSource
	Models    ModelSource
	Budgets   BudgetSource
	Tasks     TaskSource
	People    PeopleSource
	World     WorldSource
	Journal   JournalSource
	Store     StoreSource
	Plugins   func() map[string]int // how many plugins are in which state
	Dir       string                // simd_disk_free_bytes tells how full its file system is
}

// MailboxSource says how many envelopes wait, by kind of actor and lane. It may
// yield the same pair often: the numbers are added up.
type MailboxSource interface {
	MailboxDepths(yield func(kind, lane string, n int))
}

// AgentSource says how many agents are in which state. [AgentTable] is one.
type AgentSource interface {
	AgentStates(yield func(profile, state string, n int))
}

// SeatSource says how many agents have an actor, how many are passive, and how many bytes those keep.
type SeatSource interface {
	Seats() (seated, passive int, bytes int64)
}

// ModelSource gives the gates that model requests pass. Several sources may have the
// same gate; it is counted once.
type ModelSource interface {
	ModelGates() []*gate.Gate
}

// BudgetSource gives the budgets of a scene that are not of profiles and agents.
type BudgetSource interface{ WideBudgets() []budget.Line }

// TaskSource says how many tasks of tools are in which state, of [TaskStates].
type TaskSource interface {
	TaskStates(yield func(state string, n int))
}

// PeopleSource says how many questions to people are open, and how many agents people play.
type PeopleSource interface {
	People() (questions, played int)
}

// WorldSource says how large the world is, in bytes.
type WorldSource interface{ WorldBytes() int }

// JournalSource is a *persistence.Journal.
type JournalSource interface{ Pending() uint64 }

// StoreSource is a *persistence.Store.
type StoreSource interface{ Metrics() persistence.Metrics }

// watched collects from all sources.
type watched struct {
	set      *Set
	agents   *prometheus.Desc
	seated   *prometheus.Desc
	passive  *prometheus.Desc
	kept     *prometheus.Desc
	mailbox  *prometheus.Desc
	inflight *prometheus.Desc
	queued   *prometheus.Desc
	atOnce   *prometheus.Desc
	circuit  *prometheus.Desc
	rate     *prometheus.Desc
	left     [5]*prometheus.Desc // by unit
	used     *prometheus.Desc
	tasks    *prometheus.Desc
	asked    *prometheus.Desc
	played   *prometheus.Desc
	plugins  *prometheus.Desc
	world    *prometheus.Desc
	pending  *prometheus.Desc
	free     *prometheus.Desc
	store    storeDescs

	mu      sync.Mutex // held while a scrape reads, so that stop waits for it
	sources []*Sources
	retired persistence.Metrics // counters of the stores that are gone
}

func (s *Set) makeWatched() *watched {
	w := &watched{set: s}
	s.area = "agents"
	w.agents = s.desc("agents", "gauge", "Agents by state: idle, deliberating, asleep, restarting, given_up, away.", "profile", "state")
	w.seated = s.desc("agents_seated", "gauge", "Agents that have an actor, with the scenes' own.")
	w.passive = s.desc("agents_passive", "gauge", "Agents of a scene that have no actor until they are told something.")
	w.kept = s.desc("agent_passive_bytes", "gauge", "What passive agents keep that are not as their scene declares them.")
	w.mailbox = s.desc("mailbox_messages", "gauge", "Envelopes that wait in mailboxes.", "kind", "lane")
	s.area = "models"
	w.inflight = s.desc("llm_inflight_requests", "gauge", "Model requests that are out.", "provider")
	w.queued = s.desc("llm_queue_length", "gauge", "Model requests that wait at the gate of their endpoint.", "provider", "class")
	w.atOnce = s.desc("llm_concurrency_limit", "gauge", "Model requests that may be out at once now.", "provider")
	w.circuit = s.desc("llm_circuit_open", "gauge", "1 while the gate of an endpoint lets nothing through: it failed 5 times in a row, or refused the key or the quota.", "provider")
	w.rate = s.desc("llm_rate_limit_per_minute", "gauge", "What may leave for an endpoint in a minute, by its limits or what it said; 0 is no limit.", "provider", "unit")
	for i, unit := range budgetUnits() {
		w.left[i] = s.desc("budget_left_"+unit, "gauge", "What is left of budgets in this unit, without what requests hold that are out. Scenes of one run have shares.", "scope", "provider")
	}
	w.used = s.desc("budget_used_ratio", "gauge", "Share of budgets that is used or held, of the unit of which most is.", "scope", "provider")
	s.area = "tools"
	w.tasks = s.desc("tool_tasks", "gauge", "Open tasks of tools, by what they wait for.", "state")
	w.plugins = s.desc("plugins", "gauge", "Plugins of the runs under way: on, denied (the operator has not granted what they ask for), broken.", "state")
	s.area = "plays"
	w.asked = s.desc("questions_open", "gauge", "Questions to people that wait for an answer.")
	w.played = s.desc("agents_played", "gauge", "Agents that people play.")
	s.area = "world state"
	w.world = s.desc("world_state_bytes", "gauge", "Size of the world documents of all scenes.")
	s.area = "journal"
	w.pending = s.desc("journal_pending_events", "gauge", "Facts handed over for writing and not durable yet.")
	w.free = s.desc("disk_free_bytes", "gauge", "Free space of the file system that holds the run directory.")
	s.area = "database"
	w.store = s.makeStore()
	s.Registry.MustRegister(w)
	return w
}

func (s *Set) desc(name, kind, help string, labels ...string) *prometheus.Desc {
	s.note(name, kind, help, labels)
	d := prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	s.descs = append(s.descs, d)
	return d
}

// Watch reads the sources at each scrape until stop, which waits for a scrape
// under way. Several may be watched at once: numbers are added up.
func (s *Set) Watch(src Sources) (stop func()) {
	w, own := s.watched, &src
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sources = append(w.sources, own)
	return sync.OnceFunc(func() { w.remove(own) })
}

func (w *watched) remove(own *Sources) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range w.sources {
		if s == own {
			w.sources = append(w.sources[:i:i], w.sources[i+1:]...)
		}
	}
	if own.Store != nil {
		addCounters(&w.retired, own.Store.Metrics())
	}
}

// Describe implements prometheus.Collector.
func (w *watched) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range w.set.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (w *watched) Collect(ch chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.collectMailboxes(ch)
	w.collectAgents(ch)
	w.collectSeats(ch)
	w.collectModels(ch)
	w.collectBudgets(ch)
	w.collectTasks(ch)
	w.collectPlugins(ch)
	w.collectStore(ch)
	var bytes, pending float64
	var asked, played int
	for _, s := range w.sources {
		if s.World != nil {
			bytes += float64(s.World.WorldBytes())
		}
		if s.People != nil {
			n, m := s.People.People()
			asked, played = asked+n, played+m
		}
		if s.Journal != nil {
			pending += float64(s.Journal.Pending())
		}
	}
	gauge(ch, w.world, bytes)
	gauge(ch, w.asked, asked)
	gauge(ch, w.played, played)
	gauge(ch, w.pending, pending)
	if free, ok := w.diskFree(); ok {
		gauge(ch, w.free, free)
	}
}

func gauge[N int | int64 | uint64 | float64](ch chan<- prometheus.Metric, d *prometheus.Desc, n N, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
}

// diskFree is that of the fullest file system.
func (w *watched) diskFree() (least float64, ok bool) {
	for _, s := range w.sources {
		if s.Dir == "" {
			continue
		}
		if free, _, known := disk.Space(s.Dir); known && (!ok || float64(free) < least) {
			least, ok = float64(free), true
		}
	}
	return least, ok
}

// sums adds up pairs of label values.
type sums map[[2]string]int

func (m sums) emit(ch chan<- prometheus.Metric, d *prometheus.Desc) {
	for k, n := range m {
		gauge(ch, d, n, k[:]...)
	}
}

// sumsOf holds 0 for every pair of known values.
func sumsOf(first, second []string) sums {
	m := sums{}
	for _, a := range first {
		for _, b := range second {
			m[[2]string{a, b}] = 0
		}
	}
	return m
}

// namesOf are the names of numbered constants, up to one before end.
func namesOf[T ~uint8](first, end T, name func(T) string) (out []string) {
	for v := first; v < end; v++ {
		out = append(out, name(v))
	}
	return out
}

func lanes() []string { return namesOf(delivery.Control, delivery.Last+1, delivery.Lane.String) }

func (w *watched) collectMailboxes(ch chan<- prometheus.Metric) {
	m := sumsOf(append(slices.Collect(w.set.agents.actors.keys()), KindAgent), lanes())
	for _, s := range w.sources {
		if s.Mailboxes == nil {
			continue
		}
		s.Mailboxes.MailboxDepths(func(kind, lane string, n int) {
			key := [2]string{kind, lane}
			if _, known := m[key]; !known {
				key = [2]string{overflowed, overflowed}
			}
			m[key] += n
		})
	}
	m.emit(ch, w.mailbox)
}

func (w *watched) collectAgents(ch chan<- prometheus.Metric) {
	m, known := sums{}, sumsOf([]string{""}, agentStateNames())
	for _, s := range w.sources {
		if s.Agents == nil {
			continue
		}
		s.Agents.AgentStates(func(profile, state string, n int) {
			if _, ok := known[[2]string{"", state}]; !ok {
				state = overflowed
			}
			m[[2]string{w.set.Profile(profile).label, state}] += n
		})
	}
	m.emit(ch, w.agents)
}

func (w *watched) collectSeats(ch chan<- prometheus.Metric) {
	var seated, passive, bytes float64
	for _, s := range w.sources {
		if s.Seats != nil {
			n, m, b := s.Seats.Seats()
			seated, passive, bytes = seated+float64(n), passive+float64(m), bytes+float64(b)
		}
	}
	gauge(ch, w.seated, seated)
	gauge(ch, w.passive, passive)
	gauge(ch, w.kept, bytes)
}

func (w *watched) collectModels(ch chan<- prometheus.Metric) {
	seen, loads, rates := map[*gate.Gate]bool{}, map[string]*limit.Load{}, map[string]*[2]int64{}
	for _, s := range w.sources {
		if s.Models == nil {
			continue
		}
		for _, g := range s.Models.ModelGates() {
			if seen[g] {
				continue
			}
			seen[g] = true
			name := g.Name()
			if loads[name] == nil && len(loads) >= MaxValues {
				name = overflowed
			}
			if loads[name] == nil {
				loads[name], rates[name] = &limit.Load{}, &[2]int64{}
			}
			requests, tokens := g.Rates()
			rates[name][0] += requests
			rates[name][1] += tokens
			loads[name].Add(g.Load())
		}
	}
	for name, l := range loads {
		gauge(ch, w.inflight, l.Out, name)
		gauge(ch, w.atOnce, l.Limit, name)
		gauge(ch, w.circuit, min(l.Shut, 1), name)
		gauge(ch, w.rate, int(rates[name][0]), name, "requests")
		gauge(ch, w.rate, int(rates[name][1]), name, "tokens")
		for i, c := range limit.Classes() {
			gauge(ch, w.queued, l.Waiting[i], name, c.String())
		}
	}
}

// AgentState is what an agent is doing.
type AgentState uint8

const (
	AgentIdle         AgentState = iota // until its schedule or an event wakes it
	AgentDeliberating                   // from its wake to its last fact
	AgentAsleep                         // because it said so
	AgentRestarting                     // its actor failed and waits for its next life
	AgentGivenUp                        // its actor failed once too often
	AgentAway                           // it is not in the scene now
	agentStates
)

func (s AgentState) String() string {
	return [...]string{"idle", "deliberating", "asleep", "restarting", "given_up", "away"}[s]
}

func agentStateNames() []string { return namesOf(AgentIdle, agentStates, AgentState.String) }

// AgentTable counts agents by profile and state. One writer or many may change
// it while a scrape reads it.
type AgentTable struct {
	profiles []string
	counts   [][agentStates]atomic.Int64 // in place of the idle ones, all agents of the profile
}

// NewAgentTable makes a table of profiles, which are addressed by their index.
func NewAgentTable(profiles []string) *AgentTable {
	return &AgentTable{profiles: profiles, counts: make([][agentStates]atomic.Int64, len(profiles))}
}

// Add adds n agents, in a state.
func (t *AgentTable) Add(profile int, st AgentState, n int) {
	t.counts[profile][AgentIdle].Add(int64(n))
	t.Move(profile, AgentIdle, st, n)
}

// Move lets n agents change their state.
func (t *AgentTable) Move(profile int, from, to AgentState, n int) {
	if from != AgentIdle {
		t.counts[profile][from].Add(int64(-n))
	}
	if to != AgentIdle {
		t.counts[profile][to].Add(int64(n))
	}
}

// AgentStates implements AgentSource. A scrape during a Move may count an agent in
// either state or as idle; it counts every agent once.
func (t *AgentTable) AgentStates(yield func(profile, state string, n int)) {
	for i := range t.counts {
		idle := t.counts[i][AgentIdle].Load()
		for st := AgentIdle + 1; st < agentStates; st++ {
			n := min(max(0, t.counts[i][st].Load()), idle)
			idle -= n
			yield(t.profiles[i], st.String(), int(n))
		}
		yield(t.profiles[i], AgentIdle.String(), int(idle))
	}
}
