package runner

import (
	"reflect"
	"slices"
	"testing"

	"tavernsim/persistence/pebbledb"
	"tavernsim/scenes/run/rundir"
)

// Whoever goes on with a run gives every option again, but for those that its directory has.
func TestOptionsOfResumed(t *testing.T) {
	kept := []string{
		"Scenes", "Dir", "Seed", "Seeds", "Clock", "Agents", "For", "Ticks", "Until", "Args", "Model", "Endpoints",
		"Answers", "OnMiss", "Tools", "ToolAnswers", "Interactive", "Estimate", "had", "raised",
	}
	var now Options
	v := reflect.ValueOf(&now).Elem()
	for _, f := range v.Fields() {
		if f.CanSet() {
			fill(f)
		}
	}
	now.FS = struct{ pebbledb.FS }{}
	again := reflect.ValueOf(optionsOf(&rundir.Manifest{}, now))
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, again.Field(i)
		if slices.Contains(kept, name) && !field.IsZero() && name != "Tools" {
			t.Errorf("%s does not come from the run directory", name)
		}
		if v.Type().Field(i).IsExported() && !slices.Contains(kept, name) && field.IsZero() {
			t.Errorf("%s is lost", name)
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
