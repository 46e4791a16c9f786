package bench

import (
	"strings"
	"testing"
)

// Every workload does its work, and does the same again; RunWorkload itself holds the numbers.
func TestWorkloads(t *testing.T) {
	for _, name := range Workloads() {
		t.Run(name, func(t *testing.T) {
			var runs [2]Workload
			for i := range runs {
				w, err := RunWorkload(WorkloadOptions{Name: name, Agents: 40, Dir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				runs[i] = w
			}
			w := runs[0]
			if w.Digest == "" || w.Digest != runs[1].Digest || w.Agents != 40 || w.Facts < w.Deliberations {
				t.Errorf("%+v and %+v", w, runs[1])
			}
			switch name {
			case Third: // with equally many of each number of steps, the mean falls to 0.6 of itself in a round
				if w.Mean < 5 || w.Mean > 20 {
					t.Errorf("the mean is %v", w.Mean)
				}
			case PHOLD: // a job takes 1.6 seconds, and a process does those that wait at once
				if w.Jobs < 40*15 {
					t.Errorf("%d jobs in a minute", w.Jobs)
				}
			}
			if text := WorkloadText(&w); !strings.Contains(text, name+": 40 agents") {
				t.Error(text)
			}
		})
	}
}

func TestWrongWorkload(t *testing.T) {
	if _, err := RunWorkload(WorkloadOptions{Name: "chess", Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "chess") {
		t.Error(err)
	}
}
