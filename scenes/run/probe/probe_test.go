package probe_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tavernsim/llm/endpoint"
	"tavernsim/scenes/run/probe"
)

// A server without a list of models is sound if its model answers. One that lists none for
// another reason, or whose model does not answer, is not.
func TestNoList(t *testing.T) {
	for _, c := range []struct {
		list    int
		vectors bool
		sound   bool
	}{{404, true, true}, {405, true, true}, {404, false, false}, {500, true, false}, {401, true, false}, {200, true, true}} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/models") && c.list != 200:
				w.WriteHeader(c.list)
			case strings.HasSuffix(r.URL.Path, "/models"):
				_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
			case c.vectors:
				_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[2,1]}],"usage":{"prompt_tokens":3,"total_tokens":3}}`)
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		}))
		e, err := endpoint.New("local", endpoint.Definition{Preset: "vllm", BaseURL: s.URL + "/v1", Embed: "v"}, "", func(string) string { return "" })
		if err != nil {
			t.Fatal(err)
		}
		all := probe.Endpoints(context.Background(), map[string]*endpoint.Endpoint{"local": e})
		probe.Settle(all)
		failed := 0
		for _, x := range all {
			if x.Error != "" {
				failed++
			}
		}
		if (failed == 0) != c.sound || (all[0].Note != "") != (c.sound && c.list != 200) {
			t.Errorf("%+v: %+v", c, all)
		}
		_ = e.Close()
		s.Close()
	}
}
