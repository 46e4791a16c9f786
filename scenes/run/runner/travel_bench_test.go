package runner

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tavernsim/scenes/scenestest"
)

// A crowd of 500, that does nothing else, goes to another scene and back again and again; beside it,
// as the limit, one that is removed from its scene and spawned there again.
const crowdGoes = `
-- agent_profiles/quiet.yaml --
id: quiet
name: Quiet
version: "1.0.0"
schema_version: "1.0"
core_deliberation_workflow_id: think
initial_private_state_values: {coins: 3}
custom_runtime_config: {wake_on_start: false}
-- models/voices.yaml --
otherwise: ""
-- scenes/town.yaml --
id: town
name: Town
schema_version: "1.0"
links: [{to: inn, travel: 2s}]
simulation: {stop: {after: 402s}}
agent_instances: [{instance_id: "p_{n}", profile_id: quiet, count: 500}]
script: {states: [{id: all}], schedules: [{id: go, every: 10s, do: [{travel: {agents: "*", to: inn}}]}]}
-- scenes/inn.yaml --
id: inn
name: Inn
schema_version: "1.0"
links: [{to: town, travel: 2s}]
simulation: {stop: {after: 402s}}
agent_instances: [{instance_id: "p_{n}", profile_id: quiet, count: 500, spawnable: true}]
script: {states: [{id: all}], schedules: [{id: back, cron: "5/10 * * * * *", do: [{travel: {agents: "*", to: town}}]}]}
-- scenes/limit.yaml --
id: limit
name: Limit
schema_version: "1.0"
simulation: {stop: {after: 402s}}
agent_instances: [{instance_id: host, profile_id: quiet}, {instance_id: "p_{n}", profile_id: quiet, count: 500, spawnable: true, roles: [crowd]}]
script:
  states: [{id: all}]
  schedules:
    - {id: come, every: 5s, do: [{spawn: {profile: quiet, count: 500}}]}
    - {id: go, cron: "3/5 * * * * *", do: [{remove: {agents: "role:crowd"}}]}
`

// BenchmarkTrips measures the processor time of a trip: departure, arrival and the answer.
func BenchmarkTrips(b *testing.B) {
	for name, scenes := range map[string][]string{"travel": {"town", "inn"}, "limit": {"limit"}} {
		b.Run(name, func(b *testing.B) {
			const trips = 500 * 79
			for b.Loop() {
				p, err := LoadFS(scenestest.Files(scenestest.Base(), txtar.Parse([]byte(crowdGoes))), "crowd", true)
				if err != nil {
					b.Fatal(err)
				}
				seed := uint64(1)
				before := cpu(b)
				sum := run(b, p, Options{Dir: filepath.Join(b.TempDir(), "run"), Scenes: scenes, Seed: &seed, Workers: 2})
				b.ReportMetric((cpu(b)-before).Seconds()*1e6/trips, "cpu-µs/trip")
				b.Log(sum.Digests())
			}
		})
	}
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
