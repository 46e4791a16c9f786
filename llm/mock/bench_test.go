package mock

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// blank is a ResponseWriter that keeps nothing.
type blank struct{ header http.Header }

func (b *blank) Header() http.Header         { return b.header }
func (b *blank) Write(p []byte) (int, error) { return len(p), nil }
func (b *blank) WriteHeader(int)             {}

// BenchmarkAnswer is what an answer costs beside net/http, for questions that
// are all different.
func BenchmarkAnswer(b *testing.B) {
	for _, c := range []struct {
		path   string
		size   int
		stream bool
	}{{"chat/completions", 200, false}, {"chat/completions", 2000, false}, {"chat/completions", 2000, true}, {"messages", 2000, false}} {
		b.Run(fmt.Sprintf("path=%s/size=%d/stream=%v", c.path, c.size, c.stream), func(b *testing.B) {
			s := serve(b, Options{Seed: 7, Model: script(b, "otherwise: I wait and see.")})
			r, w := httptest.NewRequest("POST", "/v1/"+c.path, nil), &blank{http.Header{}}
			head := fmt.Sprintf(`{"model":"m","max_tokens":256,"temperature":0.7,"stream":%v,"messages":[{"role":"user","content":"%s\nagent `, c.stream, strings.Repeat("You are a trader. ", c.size/18))
			body := &again{}
			r.Body = body
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				body.Reset(head + fmt.Sprint(n) + `"}]}`)
				clear(w.header)
				s.ServeHTTP(w, r)
			}
		})
	}
}

type again struct{ strings.Reader }

func (*again) Close() error { return nil }
