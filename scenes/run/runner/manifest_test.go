package runner

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tavernsim/persistence"
	"tavernsim/persistence/pebbledb"
	"tavernsim/scenes/run/rundir"
	"tavernsim/scenes/scenestest"
	"tavernsim/scenes/tooling"
	"tavernsim/tools/plugin"
)

// A run that goes on has each option from its manifest, or from the rest of its directory, or whoever goes on gives it
// again. An option that is in no list would be forgotten.
func TestOptionsOfResumed(t *testing.T) {
	manifest := strings.Fields("Scenes Agents For Ticks Until Model OnMiss Tools Interactive")
	choice := strings.Fields("Snapshots Durability BatchFacts Keep") // in the manifest, and whoever goes on may choose anew
	directory := strings.Fields("Dir Seed Seeds Clock Args Endpoints Answers ToolAnswers Estimate")
	again := strings.Fields("ProjectDir Schedule Version Workers Metrics Log Budget Store External Executors Services Sandbox Secrets Grants Config Leave Wait Orders " +
		"ColdWakes Serial Control Middleware Crashes Restarted Finish Reread FS Recovering")
	var now Options
	v := reflect.ValueOf(&now).Elem()
	for _, f := range v.Fields() {
		if f.CanSet() {
			fill(f)
		}
	}
	now.FS = struct{ pebbledb.FS }{}
	given := reflect.ValueOf(optionsOf(&rundir.Manifest{}, now))
	now.Durability, now.Tools = persistence.Memory, tooling.Mock
	now.Config, now.Endpoints, now.Grants, now.Estimate = plugin.Sources{}, nil, nil, nil
	p := scenestest.Town(t)
	defs, err := pick(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newManifest(p, defs, now)
	if err != nil {
		t.Fatal(err)
	}
	kept := reflect.ValueOf(optionsOf(m, Options{}))
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !v.Type().Field(i).IsExported() {
			continue
		}
		found := 0
		for _, list := range [][]string{manifest, choice, directory, again} {
			if slices.Contains(list, name) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%s is in %d lists: if a run depends on it, it stands in the manifest (newManifest, optionsOf) and in manifest; else whoever resumes a run gives it again", name, found)
		}
		fromNow, fromManifest := !given.Field(i).IsZero(), !kept.Field(i).IsZero()
		if want := slices.Contains(choice, name) || slices.Contains(again, name); fromNow != want && name != "Tools" {
			t.Errorf("%s of whoever resumes a run counts: %t, want %t", name, fromNow, want)
		}
		if want := slices.Contains(choice, name) || slices.Contains(manifest, name); fromManifest != want {
			t.Errorf("%s is read from the manifest: %t, want %t", name, fromManifest, want)
		}
	}
}

// fill makes a value another than its zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), nil))
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field)
			}
		}
	}
}
