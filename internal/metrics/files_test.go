package metrics

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"gopkg.in/yaml.v3"
)

// go test ./internal/metrics -run Docs -update rewrites the tables of docs/metrics.md.
var update = flag.Bool("update", false, "rewrite the tables of docs/metrics.md")

const (
	docsFile  = "../../docs/metrics.md"
	rulesFile = "../../deploy/prometheus/rules.yml"
	testsFile = "../../deploy/prometheus/rules_test.yml"
	dashboard = "../../deploy/grafana/*.json"

	begin = "<!-- metrics:begin -->\n"
	end   = "<!-- metrics:end -->\n"
)

// tables is the list of docs/metrics.md, one table for each area.
func tables(catalog []definition) string {
	var b strings.Builder
	var areas []string
	for _, d := range catalog {
		if !slices.Contains(areas, d.area) {
			areas = append(areas, d.area)
		}
	}
	slices.Sort(areas)
	for _, area := range areas {
		fmt.Fprintf(&b, "### %s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", strings.ToUpper(area[:1])+area[1:])
		for _, d := range catalog {
			if d.area == area {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.name, d.kind, strings.Join(d.labels, ", "), d.help)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// docs/metrics.md lists exactly what is registered.
func TestDocs(t *testing.T) {
	raw, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(raw), begin)
	listed, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s lacks %q or %q", docsFile, begin, end)
	}
	want := tables(New().catalog)
	for _, l := range unexplained(New().catalog, tail) {
		t.Errorf("%s: the table of label values lacks %s; add its values, or if they are ids, names or numbers the label to open", docsFile, l)
	}
	if made := unexplained([]definition{{labels: []string{"made", "tool"}}}, tail); len(made) != 1 {
		t.Errorf("a label without values was not seen: %v", made)
	}
	if listed == want {
		return
	}
	if !*update {
		t.Fatalf("%s is not what is registered; run: go test ./internal/metrics -run Docs -update", docsFile)
	}
	if err := os.WriteFile(docsFile, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unexplained are labels of a catalog that have a fixed set of values and are in no first cell of a page.
func unexplained(catalog []definition, page string) (list []string) {
	open := strings.Fields("run scene profile event_type tool kb provider model level label version revision goversion")
	for _, d := range catalog {
		for _, l := range d.labels {
			if row := regexp.MustCompile("(?m)^\\| [^|]*`" + l + "`[^|]* \\|"); !slices.Contains(open, l) && !slices.Contains(list, l) && !row.MatchString(page) {
				list = append(list, l)
			}
		}
	}
	return list
}

// promtool runs the Prometheus tool, or skips the test.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: apt-get install prometheus)")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// "promtool check metrics" is clean.
func TestPromtoolMetrics(t *testing.T) {
	s := New()
	exercise(t, s)
	families, err := s.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var own strings.Builder
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), namespace+"_") { // go_gc_duration_seconds and its like are the Go client's
			continue
		}
		if _, err := expfmt.MetricFamilyToText(&own, f); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(own.String(), "# TYPE") != len(s.catalog) {
		t.Fatalf("%d metrics are shown, the catalog has %d", strings.Count(own.String(), "# TYPE"), len(s.catalog))
	}
	promtool(t, own.String(), "check", "metrics")
}

func TestPromtoolRules(t *testing.T) {
	promtool(t, "", "check", "rules", "--lint-fatal", rulesFile)
	promtool(t, "", "test", "rules", testsFile)
}

// rule is one alert of rules.yml.
type rule struct {
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

func rules(t *testing.T) []rule {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	load(t, rulesFile, &file)
	var out []rule
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) == 0 {
		t.Fatal("rules.yml holds no rule")
	}
	return out
}

func load(t *testing.T, file string, v any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// Every alert says how bad it is and what it means, is in docs/metrics.md, and
// has a case that fires and one that does not.
func TestAlerts(t *testing.T) {
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	load(t, testsFile, &file)
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, a := range test.AlertRuleTest {
			if len(a.ExpAlerts) > 0 {
				fires[a.Alertname] = true
			} else {
				quiet[a.Alertname] = true
			}
		}
	}
	docs, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules(t) {
		switch {
		case !fires[r.Alert] || !quiet[r.Alert]:
			t.Errorf("%s: rules_test.yml has no case that fires, or none that does not", r.Alert)
		case !slices.Contains([]string{"info", "warning", "critical"}, r.Labels["severity"]):
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		case r.Annotations["summary"] == "" || r.Annotations["description"] == "":
			t.Errorf("%s: no summary or description", r.Alert)
		case !strings.Contains(string(docs), "| `"+r.Alert+"` |"):
			t.Errorf("%s is not in docs/metrics.md", r.Alert)
		}
		known(t, r.Alert, r.Expr)
	}
}

// registered are the labels by the names that a query may use: those of a
// histogram with their suffixes.
func registered(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	s := New()
	for _, d := range s.catalog {
		if d.kind != "histogram" {
			out[d.name] = d.labels
			continue
		}
		out[d.name+"_bucket"] = append(slices.Clone(d.labels), "le")
		out[d.name+"_count"], out[d.name+"_sum"] = d.labels, d.labels
	}
	families, err := s.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families { // go_* and process_*
		if !strings.HasPrefix(f.GetName(), namespace) {
			out[f.GetName()] = nil
		}
	}
	return out
}

// metricName finds metrics in a query, selector finds the matchers behind one,
// grouping the labels that are grouped by.
func metricName() *regexp.Regexp { return regexp.MustCompile(`\b(?:simd|go|process)_\w+`) }
func selector() *regexp.Regexp   { return regexp.MustCompile(`\b((?:simd|go|process)_\w+)\{([^}]*)\}`) }
func matcher() *regexp.Regexp    { return regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`) }
func grouping() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:by|without|ignoring|on)\s*\(([^)]*)\)`)
}

// known reports metrics that are not registered and matchers on labels that
// they do not have. It returns the labels that are used.
func known(t *testing.T, where, expr string) []string {
	t.Helper()
	all, used := registered(t), map[string]bool{}
	for _, name := range metricName().FindAllString(expr, -1) {
		if _, ok := all[name]; !ok {
			t.Errorf("%s: %s is not registered", where, name)
		}
	}
	for _, m := range selector().FindAllStringSubmatch(expr, -1) {
		for _, l := range matcher().FindAllStringSubmatch(m[2], -1) {
			used[l[1]] = true
			if !slices.Contains(append([]string{"job", "instance"}, all[m[1]]...), l[1]) {
				t.Errorf("%s: %s has no label %s", where, m[1], l[1])
			}
		}
	}
	for _, g := range grouping().FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(g[1], ",") {
			used[strings.TrimSpace(l)] = true
		}
	}
	delete(used, "le")
	delete(used, "")
	return slices.Sorted(maps.Keys(used))
}

// board is what the tests look at of a dashboard.
type board struct {
	UID        string
	Title      string
	Templating struct {
		List []struct {
			Name, Type, Definition string
			Query                  any // of the data source: a text; of the others: what Grafana asks
		}
	}
	Panels []panel
}

type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource source
	GridPos    struct{ H, W, X, Y int }
	Targets    []struct {
		Expr         string
		LegendFormat string
		Datasource   source
	}
}

type source struct{ UID string }

func boards(t *testing.T) map[string]*board {
	t.Helper()
	files, err := filepath.Glob(dashboard)
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboard: %v", err)
	}
	out := map[string]*board{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b := &board{}
		if err := json.Unmarshal(raw, b); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[filepath.Base(file)] = b
	}
	return out
}

// Every dashboard loads, and every one of its queries is about what is there.
func TestDashboards(t *testing.T) {
	uids := map[string]bool{}
	for file, b := range boards(t) {
		t.Run(file, func(t *testing.T) {
			if b.UID == "" || b.Title == "" || uids[b.UID] {
				t.Errorf("uid %q or title %q is empty or taken", b.UID, b.Title)
			}
			uids[b.UID] = true
			b.checkLayout(t)
			b.checkVariables(t)
		})
	}
}

func (b *board) checkLayout(t *testing.T) {
	t.Helper()
	ids, cells := map[int]string{}, map[[2]int]string{}
	for _, p := range b.Panels {
		if p.ID <= 0 || ids[p.ID] != "" {
			t.Errorf("panel %q: id %d is taken by %q", p.Title, p.ID, ids[p.ID])
		}
		ids[p.ID] = p.Title
		if p.GridPos.X+p.GridPos.W > 24 || p.GridPos.W <= 0 || p.GridPos.H <= 0 {
			t.Errorf("panel %q: at %+v", p.Title, p.GridPos)
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken {
					t.Fatalf("panel %q lies on %q", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && (len(p.Targets) == 0 || p.Datasource.UID != "${datasource}") {
			t.Errorf("panel %q: %d queries of data source %q", p.Title, len(p.Targets), p.Datasource.UID)
		}
	}
}

// checkVariables: a data source, and one variable for each label that the
// queries match or group by, used in every query that could.
func (b *board) checkVariables(t *testing.T) {
	t.Helper()
	all, variables, used := registered(t), map[string]bool{}, map[string]bool{}
	for _, v := range b.Templating.List {
		if v.Type == "datasource" {
			variables["datasource"] = true
			continue
		}
		variables[v.Name] = true
		known(t, "variable "+v.Name, v.Definition)
		if q, _ := v.Query.(map[string]any); q["query"] != v.Definition {
			t.Errorf("variable %s: it asks %v and shows %s", v.Name, v.Query, v.Definition)
		}
		if !strings.HasSuffix(v.Definition, ", "+v.Name+")") {
			t.Errorf("variable %s asks for something else: %s", v.Name, v.Definition)
		}
	}
	if !variables["datasource"] {
		t.Error("no variable for the data source")
	}
	for _, p := range b.Panels {
		for _, q := range p.Targets {
			for _, l := range known(t, p.Title, q.Expr) {
				used[l] = true
				if !variables[l] {
					t.Errorf("panel %q uses label %s, which has no variable", p.Title, l)
				}
			}
			for _, m := range selector().FindAllStringSubmatch(q.Expr, -1) {
				for _, l := range append([]string{"job", "instance"}, all[m[1]]...) {
					if variables[l] && !regexp.MustCompile(`\b`+l+`\s*[=!]`).MatchString(m[2]) {
						t.Errorf("panel %q: %s does not heed variable %s", p.Title, m[1], l)
					}
				}
			}
			if q.Datasource.UID != "${datasource}" {
				t.Errorf("panel %q: a query goes to %q", p.Title, q.Datasource.UID)
			}
		}
	}
	for v := range variables {
		if v != "datasource" && !used[v] {
			t.Errorf("variable %s is used by no query", v)
		}
	}
}

// Every query is one to Prometheus: as rules, promtool reads them all.
func TestPromtoolDashboards(t *testing.T) {
	type recording struct {
		Record string
		Expr   string
	}
	var queries []recording
	for _, b := range boards(t) {
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				expr := regexp.MustCompile(`"\$\w+"`).ReplaceAllString(strings.ReplaceAll(q.Expr, "$__rate_interval", "5m"), `".*"`)
				queries = append(queries, recording{fmt.Sprintf("query:%d", len(queries)), expr})
			}
		}
	}
	if len(queries) < 50 {
		t.Fatalf("found %d queries", len(queries))
	}
	raw, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": queries}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dashboards.yml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "rules", file)
}

// Every metric is seen by somebody: it is in a dashboard or an alert.
func TestEveryMetricIsShown(t *testing.T) {
	shown := map[string]bool{}
	note := func(expr string) {
		for _, n := range metricName().FindAllString(expr, -1) {
			shown[n] = true
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				shown[strings.TrimSuffix(n, suffix)] = true
			}
		}
	}
	for _, r := range rules(t) {
		note(r.Expr)
	}
	for _, b := range boards(t) {
		for _, v := range b.Templating.List {
			note(v.Definition)
		}
		for _, p := range b.Panels {
			for _, q := range p.Targets {
				note(q.Expr)
			}
		}
	}
	for _, d := range New().catalog {
		if !shown[d.name] {
			t.Errorf("%s is in no dashboard and no alert; add a panel or an alert in deploy", d.name)
		}
	}
}
