package project

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tavernsim/tools/plugin"
)

// 1,000 manifests and definitions that were hit by chance give faults with their places, or
// are still sound, and nothing panics. The seed that is printed goes into SIMD_TEST_SEED.
func TestDamagedPlugins(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("SIMD_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		if p := recover(); p != nil || t.Failed() {
			t.Errorf("repeat with SIMD_TEST_SEED=%d: %v", seed, p)
		}
	}()
	chance := rand.New(rand.NewPCG(seed, 1))
	files := []string{"plugins/weather/plugin.yaml", "plugins/weather/tools/now.tool.yaml", "plugins/weather/nodes/now.node.yaml", "plugins/weather/mcp/s.yaml", "plugins/weather/mcp/s.pin.json", "plugins/weather/tools/mock.yaml"}
	good := weather(map[string]string{
		"project.json":                         `{"id": "p", "plugins": ["weather"]}`,
		"scenes/main.yaml":                     "{id: main, name: Main, agent_instances: []}",
		"scenes/quiet.yaml":                    "",
		"agent_profiles/walker.yaml":           "",
		"plugins/weather/mcp/s.yaml":           "id: s\ncommand: python3 ./s.py\n",
		"plugins/weather/mcp/s.pin.json":       `{"server": "s", "tools": [{"name": "x", "inputSchema": {"type": "object"}}]}`,
		"plugins/weather/tools/mock.yaml":      "rules: [{match: {tool: 'weather:now'}, answer: {output: {text: \"{{.params.a}}\"}}}]\n",
		"plugins/weather/tools/http.tool.yaml": "{id: 'weather:http', implementation: {type: http, url: 'https://x.org/{/a}', headers: {X: '$CONFIG{units}'}}, parameters: {properties: {a: {type: string}}}}",
	})
	if p, err := Load(good, Options{Kinds: testKinds()}); err != nil || p.Plugins()["weather"].Broken() {
		t.Fatal(err, p.Plugins()["weather"].Faults)
	}
	broken, times := 0, 200
	if os.Getenv("SIMD_TEST_LONG") != "" {
		times = 1000
	}
	for i := range times {
		fsys := maps.Clone(good)
		file := files[chance.IntN(len(files))]
		fsys[file] = &fstest.MapFile{Data: damaged(chance, good[file].Data)}
		p, err := Load(fsys, Options{Kinds: testKinds()})
		var faults []Fault
		switch w := (*Plugin)(nil); {
		case err != nil:
			t.Fatalf("%d: a plugin stops the project: %v\n%q", i, err, fsys[file].Data)
		default:
			if w = p.Plugins()["weather"]; w.Broken() {
				broken++
				faults = w.Faults
				if len(faults) == 0 {
					t.Fatalf("%d: broken without a fault", i)
				}
			}
		}
		for _, f := range faults {
			whole := strings.Contains(f.Message, "has more than") || f.Line == 0 && strings.Contains(f.Message, "the file")
			if !strings.HasPrefix(f.File, "plugins/weather") || (f.Line < 1 || f.Column < 1) && !whole {
				t.Fatalf("%d: a fault without its place: %s\n%q", i, f, fsys[file].Data)
			}
		}
	}
	t.Logf("seed %d: %d of %d were broken", seed, broken, times)
	if broken < times/5 {
		t.Errorf("only %d were broken", broken)
	}
}

// damaged flips bits, cuts, doubles or replaces parts of a file.
func damaged(chance *rand.Rand, data []byte) []byte {
	out := bytes.Clone(data)
	switch chance.IntN(5) {
	case 0:
		for range 1 + chance.IntN(8) {
			out[chance.IntN(len(out))] ^= 1 << chance.IntN(8)
		}
	case 1:
		out = out[:chance.IntN(len(out))]
	case 2:
		i := chance.IntN(len(out))
		out = append(out[:i:i], data[chance.IntN(len(data)):]...)
	case 3:
		out = make([]byte, chance.IntN(400))
		for i := range out {
			out[i] = byte(chance.Uint32())
		}
	default:
		i := chance.IntN(len(out))
		out = append(append(out[:i:i], []string{"{", "]", "\x00", ": ", "&a [*a]", "!!binary x", "\u202e", "1e999", "'", "\n- "}[chance.IntN(10)]...), data[i:]...)
	}
	return out
}

// many is a project with 200 plugins of ten tools each.
func many(tb testing.TB) (fs.FS, int) {
	fsys := fstest.MapFS{"scenes/main.yaml": {Data: []byte("{id: main, name: Main, agent_instances: []}")}}
	var names []string
	for i := range 200 {
		name := fmt.Sprintf("p%03d", i)
		files, err := plugin.New(name, "script")
		if err != nil {
			tb.Fatal(err)
		}
		names = append(names, strconv.Quote(name))
		hello := files["tools/hello.tool.yaml"]
		for k := range 9 {
			files[fmt.Sprintf("tools/more%d.tool.yaml", k)] = bytes.Replace(hello, []byte(name+":hello"), fmt.Appendf(nil, "%s:more%d", name, k), 1)
		}
		for file, data := range files {
			fsys[path.Join("plugins", name, file)] = &fstest.MapFile{Data: data}
		}
	}
	fsys["project.json"] = &fstest.MapFile{Data: fmt.Appendf(nil, `{"id": "many", "plugins": [%s]}`, strings.Join(names, ", "))}
	dir := tb.TempDir()
	if err := os.CopyFS(dir, fsys); err != nil {
		tb.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = root.Close() })
	return root.FS(), len(fsys)
}

// BenchmarkPlugins loads 200 plugins with 2,000 tools; the limit is reading the same files.
func BenchmarkPlugins(b *testing.B) {
	fsys, files := many(b)
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			p, err := Load(fsys, Options{Tools: []string{}})
			if err != nil || len(p.ToolIDs()) != 2000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("limit=read", func(b *testing.B) {
		for b.Loop() {
			n := 0
			err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					n++
					_, err = fs.ReadFile(fsys, p)
				}
				return err
			})
			if err != nil || n != files {
				b.Fatal(err, n)
			}
		}
	})
}
