package trips_test

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tavernsim/protocol"
	"tavernsim/scenes/view/inspect"
	"tavernsim/scenes/view/trips"
)

// Trips come in the order in which they began, each with its end as far as the span goes. The
// run is that of scenes/testdata/script/travel.txtar, as it was recorded.
func TestTrips(t *testing.T) {
	archive, err := zip.OpenReader("../../testdata/histories/good/travel.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	dir := t.TempDir()
	if err := os.CopyFS(dir, archive); err != nil {
		t.Fatal(err)
	}
	run, err := inspect.Open(filepath.Join(dir, "travel"))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	away := "the scene inn has no place for smith: no entry of its agent_instances has this id"
	full := "the scene town has an agent bard already"
	for _, c := range []struct {
		scene string
		query trips.Query
		want  []string
	}{
		{"town", trips.Query{}, []string{
			"00 smith town-1>inn returned 06 turns 1 tasks 0 by gm: the smith is thirsty" + away,
			"05 bard town-2>inn arrived 11 turns 3 tasks 1 by $script: ",
			"10 bard inn-1>town turned_away  turns 0 tasks 0 by : " + full,
			"17 bard inn-2>town arrived  turns 5 tasks 0 by : ",
			"24 bard town-3>inn arrived 30 turns 7 tasks 0 by $order: ",
			"36 smith town-4>inn on_the_way  turns 4 tasks 0 by $order: ",
		}},
		{"town", trips.Query{Agent: "smith", Limit: 1}, []string{"00 smith town-1>inn returned 06 turns 1 tasks 0 by gm: the smith is thirsty" + away}},
		{"town", trips.Query{Span: inspect.Span{Since: "1s", Until: "10s"}}, []string{
			"05 bard town-2>inn on_the_way  turns 3 tasks 1 by $script: ",
			"10 bard inn-1>town turned_away  turns 0 tasks 0 by : " + full,
		}},
		{"inn", trips.Query{Agent: "bard", Span: inspect.Span{Until: "16s"}}, []string{
			"08 bard town-2>inn arrived  turns 3 tasks 0 by : ",
			"09 bard inn-1>town returned 11 turns 3 tasks 0 by $order: the beds are full" + full,
			"16 bard inn-2>town on_the_way  turns 5 tasks 0 by $order: ",
		}},
	} {
		scene, err := run.Scene(c.scene)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := trips.List(scene, c.query, func(x trips.Trip) error {
			got = append(got, fmt.Sprintf("%s %s %s-%d>%s %s %s turns %d tasks %d by %s: %s%s", seconds(x.Time), x.Agent, x.From, x.Number, x.To, x.State, seconds(x.Closed), x.Turns, x.Tasks, x.By, x.Reason, x.Error))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s %+v:\n%s\nwant\n%s", c.scene, c.query, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		if err := trips.List(scene, trips.Query{Agent: "brad"}, nil); protocol.KindOf(err) != protocol.KindNotFound || !strings.Contains(err.Error(), "bard") {
			t.Error(err)
		}
	}
}

// seconds of a time of the first minute.
func seconds(text string) string {
	if text == "" {
		return ""
	}
	return text[len(text)-3 : len(text)-1]
}
