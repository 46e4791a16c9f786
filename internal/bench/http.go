package bench

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"tavernsim/llm/endpoint"
	"tavernsim/protocol"
)

// MockScript is the script of the server that the deliberations over HTTP ask: what the
// bench's own model says, without chance.
const MockScript = `schema_version: "1.0"
name: bench
rules:
  - answer:
      calls:
        - { tool: UpdatePrivateStateTool, params: { path: count, op: add, value: 1 } }
        - { tool: RequestWorldStateUpdateTool, params: { path: stock.wood, op: add, value: 1 } }
`

// OverHTTP says where the model of the bench is.
type OverHTTP struct {
	URL     string        // up to the version: http://127.0.0.1:8080/v1
	Latency time.Duration // of the server, to compare with
	AtOnce  int           // most requests in flight
}

// HTTP is what the requests of a run over HTTP cost, and a bare client of the same server.
type HTTP struct {
	AtOnce        int     `json:"at_once"`
	Latency       float64 `json:"latency_seconds"`          // of the server
	Stretch       float64 `json:"stretch"`                  // wall time of the whole run to that of the server's latencies alone; 0 without latency
	Resident      int64   `json:"resident_bytes"`           // of the process at its peak
	BarePerSecond float64 `json:"bare_requests_per_second"` // net/http with the same body: 64 at once, or as many as the run had with latency
	BareStretch   float64 `json:"bare_stretch"`             // of the bare client; 0 without latency
	BareCPUNsPer  float64 `json:"bare_cpu_ns_per_request"`  // of this process
	CPUToBare     float64 `json:"cpu_per_deliberation_to_bare"`
}

// spareFiles are those that a run has open beside its connections: of the journal and of its directory.
const spareFiles = 200

// fits refuses more connections than a process may open files; 0 = that is not known. The server has the same limit.
func (o *OverHTTP) fits(agents int, files uint64) error {
	n := min(agents, o.AtOnce)
	if files == 0 || uint64(n)+spareFiles <= files {
		return nil
	}
	return protocol.Errorf(protocol.KindInvalid, "%d requests at once need as many connections and %d files, and this process may open %d: raise its hard limit (ulimit -Hn), or give fewer --agents or a smaller --at-once", n, spareFiles, files)
}

// endpoint makes the endpoint that the bench's model file names. The caller closes it.
func (o *OverHTTP) endpoint() (map[string]*endpoint.Endpoint, error) {
	slots := o.AtOnce + o.AtOnce/19 // one of twenty is kept for people, of whom the bench has none
	e, err := endpoint.New("bench", endpoint.Definition{Preset: "vllm", BaseURL: o.URL, Limits: endpoint.Limits{MaxConcurrency: slots}}, "", func(string) string { return "" })
	return map[string]*endpoint.Endpoint{"bench": e}, err
}

// measure completes what a run over HTTP cost.
func (o *OverHTTP) measure(d *Deliberation, ticks int64) error {
	h := &HTTP{AtOnce: o.AtOnce, Latency: o.Latency.Seconds(), Resident: peakResident()}
	d.HTTP = h
	atOnce := 64
	n := int(min(20_000, max(d.Deliberations, int64(atOnce))))
	if o.Latency > 0 {
		atOnce = min(d.Agents, o.AtOnce)
		n = int(d.Deliberations) / atOnce * atOnce
	}
	var err error
	if h.BarePerSecond, h.BareCPUNsPer, err = bareHTTP(o.URL, n, atOnce); err != nil {
		return err
	}
	if o.Latency > 0 {
		h.Stretch = d.WallSeconds / (float64(rounds(d.Agents, o.AtOnce, ticks)) * h.Latency)
		h.BareStretch = float64(atOnce) / h.BarePerSecond / h.Latency // it waits for no wave
	}
	h.CPUToBare = over(d.CPUNsPer, h.BareCPUNsPer)
	return nil
}

// rounds is how often a latency passes: a wave has every agent once, and waits for the last.
func rounds(agents, atOnce int, ticks int64) int64 {
	return ticks * int64((agents+atOnce-1)/atOnce)
}

// bareHTTP asks a server n times, so many times at once, with Go's client alone.
func bareHTTP(url string, n, atOnce int) (perSecond, cpuNs float64, err error) {
	body := []byte(`{"model":"bench","messages":[{"role":"user","content":"You are worker_1 and made 3 deliveries of wood. The store holds 100 wood. What now?"}],"max_tokens":1024}`)
	transport := &http.Transport{MaxIdleConns: atOnce, MaxIdleConnsPerHost: atOnce}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var left, failed atomic.Int64
	left.Store(int64(n))
	cpu, start := cpuTime(), time.Now()
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				resp, err := client.Post(url+"/chat/completions", "application/json", bytes.NewReader(body))
				if err != nil {
					failed.Add(1)
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body) // a cut body is told by the status of no request
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	if f := failed.Load(); f > 0 {
		return 0, 0, protocol.Errorf(protocol.KindTransient, "bench: %d of %d requests of the bare client failed at %s", f, n, url)
	}
	return float64(n) / time.Since(start).Seconds(), float64(cpuTime()-cpu) / float64(n), nil
}
