package runner_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tavernsim/persistence"
	"tavernsim/scenes/run/runner"
)

// A Go program runs a scene without the command line. A project that is compiled
// into the program (embed.FS) is read with LoadFS instead of Load.
func ExampleStart() {
	dir, err := os.MkdirTemp("", "host-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	p, err := runner.Load("../../examples/herbalist", false)
	if err != nil {
		panic(err) // names every fault of the project, with file and place
	}
	seed := uint64(1)
	run, err := runner.Start(p, runner.Options{
		Dir: filepath.Join(dir, "run"), Seed: &seed, Durability: persistence.Process,
	})
	if err != nil {
		panic(err)
	}
	sum, err := run.Wait() // returns when the scene has ended, and closes the run
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d agents, stopped by %s after %s\n", sum.Agents, sum.StoppedBy, sum.VirtualTime)
	for _, v := range sum.Report[:3] { // paths of the world that the scene names
		fmt.Printf("%s = %v\n", v.Path, v.Value)
	}
	// Output:
	// 4 agents, stopped by time after 16h40m0s
	// economy.shop.coins = 30
	// economy.player.coins = 58
	// economy.forager.coins = 20
}

// A host has several runs at once. Here two runs of one project go on side by side.
func ExampleHost() {
	dir, err := os.MkdirTemp("", "host-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	p, err := runner.Load("../../examples/hello", false)
	if err != nil {
		panic(err)
	}
	host := runner.NewHost(runner.HostOptions{})
	defer host.Close()
	seed := uint64(1)
	var runs []*runner.Runner
	for _, name := range []string{"a", "b"} {
		run, err := host.Add(p, runner.Options{Dir: filepath.Join(dir, name), Seed: &seed})
		if err != nil {
			panic(err)
		}
		runs = append(runs, run)
	}
	a, errA := runs[0].Wait()
	b, errB := host.Remove(runs[1]) // stops it, if it has not ended, and forgets its metrics
	if err := errors.Join(errA, errB); err != nil {
		panic(err)
	}
	fmt.Println(a.Ended, b.RunDir == filepath.Join(dir, "b"))
	// Output:
	// true true
}
