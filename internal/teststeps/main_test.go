package main

import (
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	packages, err := read("testdata/tree")
	if err != nil {
		t.Fatal(err)
	}
	order := []string{"whole", "loud", "quiet", "ahead", "suite", "suited", "scenes/scenestest", "played", "tools/run"}
	for _, c := range []struct {
		step      string
		got, want string
	}{
		// TestDouble of quiet would be left out if loud had none of that name.
		{"race", raceStep(packages, order), "-skip ^(FuzzDouble|TestAloneBySuite)$ ./whole ./loud ./quiet ./ahead ./suited ./tools/run"},
		// TestDouble of loud would be left out if quiet had none of that name; TestStart is of tools, and init of ahead asks Short.
		{"plain", plainStep(packages, order), "-skip ^(TestSend)$ ./loud ./quiet ./ahead ./suite ./suited ./scenes/scenestest ./played ./tools/run"},
	} {
		if c.got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.step, c.got, c.want)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Chdir("testdata/tree")
	for want, args := range map[string][]string{
		"expected race or plain":           {"rice"},
		"expected race or plain, then":     nil,
		"package lound takes longest, and": {"race", "lound"},
	} {
		if err := run(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
