package export

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"tavernsim/engine/agent/agentfact"
	"tavernsim/internal/metrics"
	"tavernsim/internal/metrics/scrape"
	"tavernsim/internal/show"
	"tavernsim/persistence"
	"tavernsim/protocol"
	"tavernsim/scenes/run/runner"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/view/audit"
	"tavernsim/scenes/view/chart"
	"tavernsim/scenes/view/deadletters"
	"tavernsim/scenes/view/inspect"
	"tavernsim/scenes/view/learnt"
	"tavernsim/scenes/view/memories"
	"tavernsim/scenes/view/plot"
	"tavernsim/scenes/view/trips"
)

// hoarder has a secret in every place where a value can stand: the world, a
// private state, an event that is routed and one that is refused, parameters of
// calls that fail and that are denied, knowledge, goals, speech, what a model
// says, and requests of a turn that ends later.
const hoarder = `
-- agent_profiles/keeper.yaml --
id: keeper
name: Keeper
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
knowledge_base_references: [{source_id: notes, access_permissions: [write_caiu]}]
subscribed_event_types: [told]
tool_ids_inventory: [UpdatePrivateStateTool, RequestWorldStateUpdateTool, PublishEventTool, UpdateGoalTool, WriteToKnowledgeBaseTool, SayTool, MoveTool]
memory: {episodes: {}}
-- knowledgebases/notes.yaml --
id: notes
schema_version: "1.0"
-- scenes/s.yaml --
id: s
name: Hoard
schema_version: "1.0"
agent_instances: [{instance_id: kim, profile_id: keeper}, {instance_id: lea, profile_id: keeper}]
space: {grid: {width: 4, height: 4}, places: {well: {at: [0, 0]}, inn: {at: [3, 3]}}}
script: {variables: {api_key: hunter2-variable, door: {password: shut}}, states: [{id: dark, context: "password: hunter2-context", on_enter: [{set: {door: {password: hunter2-entered}}}]}]}
initial_world_state: {vault: {password: hunter2-init, list: [{api_key: hunter2-list}]}, door: {pin: {password: 20482048}}, shed: {note: "password: hunter2-note", pin: {password: 20482048}}}
simulation: {stop: {ticks: 5}, report: [vault, vault.password, vault.list, shed.note, shed.pin.password, door.pin.password]}
-- models/voices.yaml --
rules:
  - match: {agent: kim, variables: {turn: 1}}
    answer:
      text: "the password: hunter2-text and {\"api_key\": \"hunter2-json\"}"
      calls:
        - {tool: RequestWorldStateUpdateTool, params: {path: vault.password, op: set, value: hunter2-set}}
        - {tool: RequestWorldStateUpdateTool, params: {path: vault, op: merge, value: {secret_key: hunter2-merge, n: 1}}}
        - {tool: RequestWorldStateUpdateTool, params: {path: vault.password.deep, op: push, value: hunter2-refused}}
        - {tool: UpdatePrivateStateTool, params: {path: safe.access_token, op: set, value: hunter2-private}}
        - {tool: UpdatePrivateStateTool, params: {path: safe.password.x, op: set, value: hunter2-fails}}
        - {tool: PublishEventTool, params: {type: told, payload: {who: kim, apiKey: hunter2-event}}}
        - {tool: PublishEventTool, params: {type: told, target_agent_instance_id: ghost, payload: {password: {deep: hunter2-dead}}}}
        - {tool: UpdateGoalTool, params: {goal_id: g, description: hide, details: {password: hunter2-goal}}}
        - {tool: WriteToKnowledgeBaseTool, params: {entry: {entry_type: note, content: "api_key=hunter2-note", metadata: {password: hunter2-meta}}}}
        - {tool: NoSuchTool, params: {password: hunter2-denied}}
        - {tool: SayTool, params: {text: "password: hunter2-said"}}
  - match: {agent: lea, variables: {turn: 1}}
    latency: {fixed: 2s}
    answer:
      calls:
        - {tool: RequestWorldStateUpdateTool, params: {commands: {set: [{key: world.door, value: {password: hunter2-in-value}, options: {reason: "api_key: hunter2-why"}}]}}}
        - {tool: MoveTool, params: {to: "password:hunter2-to"}}
        - {tool: PublishEventTool, params: {type: told, payload: {api_key: hunter2-late}}}
otherwise: {text: ""}
`

// What stands under the name of a secret is in no table and no view of a run.
func TestSecrets(t *testing.T) {
	p, err := runner.LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(hoarder))), "hoard", true)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	var log bytes.Buffer
	counts := metrics.New()
	r, err := runner.Start(p, runner.Options{Dir: dir, Metrics: counts, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	summary, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	s := openRun(t, dir)
	mustHide(t, "summary", summary)
	var shown bytes.Buffer
	if err := show.Run(&shown, summary, false); err != nil || !strings.Contains(shown.String(), "shed.note = password: [redacted]") {
		t.Errorf("%v: %s", err, shown.String())
	}
	mustHide(t, "the shown summary", shown.String())
	for _, text := range []string{fmt.Sprintf("%+v", summary.Report), shown.String()} {
		if strings.Contains(text, "2048") {
			t.Errorf("the summary shows a number at the path of a secret, or a series of it: %s", text)
		}
	}
	mustHide(t, "log", log.String())
	page := httptest.NewRecorder()
	scrape.Handler(counts, scrape.Options{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	mustHide(t, "metrics", page.Body.String())
	for _, table := range Tables() {
		if table.Name == "artifacts" { // no call left one
			continue
		}
		for _, f := range []Format{JSONL, CSV} {
			data := string(written(t, s, table.Name, f, Options{Paths: pathsOf(table.Name)}))
			mustHide(t, table.Name, data)
			if !strings.Contains(data, "[redacted]") {
				t.Errorf("%s as %s: nothing is redacted:\n%s", table.Name, f, data)
			}
		}
	}
	views(t, s)
	held := 0
	err = s.Journal().Scan(persistence.Query{}, func(r protocol.Record) error {
		n := strings.Count(string(r.Data), "hunter2")
		if held += n; n > 0 && r.Kind == agentfact.FactCallMade {
			t.Errorf("the fact of a call holds a secret: %q", r.Data)
		}
		return nil
	})
	if err != nil || held < 10 {
		t.Errorf("%v; the journal holds %d secrets: the test does not test much", err, held)
	}
}

// Every view is read by TestSecrets, or named here with the reason: a new one does not
// show secrets without a word.
func TestSecretsReadsEveryView(t *testing.T) {
	unread := map[string]string{
		"artifacts": "it shows names of files, and the bytes that somebody asks for",
		"compare":   "its values are those of inspect and of factjson",
		"export":    "it is this package",
		"factjson":  "it hides them for the others",
		"follow":    "it hands on what inspect shows",
		"verify":    "its facts are those of factjson",
	}
	own, err := os.ReadFile("secrets_test.go")
	if err != nil {
		t.Fatal(err)
	}
	views, err := filepath.Glob("../*")
	if err != nil || len(views) <= len(unread) {
		t.Fatal(views, err)
	}
	for _, dir := range views {
		name := filepath.Base(dir)
		read := strings.Contains(string(own), "\t\"tavernsim/scenes/view/"+name+"\"\n")
		if why := unread[name]; read == (why != "") {
			t.Errorf("scenes/view/%s: TestSecrets reads it (in views: %v), or a line of unread says why not (%q), and not both", name, read, why)
		}
	}
}

func pathsOf(table string) []string {
	if table == "facts" || table == "events" {
		return nil
	}
	return []string{"**"}
}

func views(t *testing.T, s *inspect.Scene) {
	t.Helper()
	collect := func(name string, read func() (any, error)) {
		v, err := read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		mustHide(t, name, v)
	}
	for _, path := range []string{"", "vault", "vault.password", "vault.*", "vault.list[0].api_key", "**"} {
		collect("world "+path, func() (any, error) { return s.World(path, "", false) })
	}
	collect("agent", func() (any, error) { return s.Agent("kim", "") })
	collect("deliberation", func() (any, error) { return s.Deliberation("kim/1") })
	collect("diff", func() (any, error) { return s.Diff("", "wave:0", "end") })
	collect("diff of a secret", func() (any, error) { return s.Diff("vault.password", "wave:0", "end") })
	collect("trace", func() (any, error) { return s.Trace("kim/1.e1", inspect.TraceOptions{}) })
	collect("inspect summary", func() (any, error) { return s.Summary(0) })
	collect("groups", func() (any, error) { return s.GroupDeadLetters(inspect.DeadLetterQuery{}, inspect.BySource) })
	collect("events", func() (any, error) {
		return all(func(y func(inspect.EventLine) error) error { return s.Events(inspect.EventQuery{}, y) })
	})
	collect("facts", func() (any, error) {
		return all(func(y func(inspect.FactLine) error) error { return s.Facts(inspect.FactQuery{}, y) })
	})
	collect("audit", func() (any, error) {
		return all(func(y func(inspect.Change) error) error { return audit.List(s, audit.Query{}, y) })
	})
	collect("memory", func() (any, error) {
		a, err := s.Agent("kim", "")
		if err != nil {
			return nil, err
		}
		page := a.Memory.Parts(func(at string) string { return at })
		if !slices.ContainsFunc(page, func(p memories.Part) bool { return strings.Contains(fmt.Sprint(p.Lines), "you said: ") }) {
			t.Errorf("kim remembers nothing: %v", page)
		}
		return page, nil
	})
	collect("learnt", func() (any, error) {
		list, err := learnt.Suggestions(s, "")
		if err != nil {
			return nil, err
		}
		state, err := s.Fold(s.Journal().Durable().Number)
		if err != nil {
			return nil, err
		}
		all := []any{list}
		for _, id := range state.Knowledge().IDs() {
			def, err := learnt.Base(s, learnt.Query{Base: id})
			if err != nil {
				return nil, err
			}
			all = append(all, def)
		}
		return all, nil
	})
	collect("space", func() (any, error) {
		v, err := chart.Of(s, "", true)
		if protocol.KindOf(err) == protocol.KindNotFound {
			return nil, nil // the scene has no space
		}
		return v, err
	})
	collect("trips", func() (any, error) {
		return all(func(y func(trips.Trip) error) error { return trips.List(s, trips.Query{}, y) })
	})
	collect("script", func() (any, error) { return plot.Of(s) })
	collect("letters", func() (any, error) {
		return all(func(y func(deadletters.Letter) error) error { return s.DeadLetters(inspect.DeadLetterQuery{}, y) })
	})
}

func all[T any](read func(func(T) error) error) (list []T, err error) {
	err = read(func(one T) error {
		list = append(list, one)
		return nil
	})
	return list, err
}

func mustHide(t *testing.T, where string, v any) {
	t.Helper()
	text, ok := v.(string)
	if !ok {
		raw, err := stdjson.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		text = string(raw)
	}
	for line := range strings.Lines(text) {
		if at := strings.Index(line, "hunter2"); at >= 0 {
			t.Errorf("%s shows %s", where, line[max(0, at-120):min(len(line), at+40)])
		}
	}
}
