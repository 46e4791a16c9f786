package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"

	"tavernsim/scenes/runner"
)

func main() {
	p, err := runner.Load(os.Args[1], true)
	if err != nil {
		panic(err)
	}
	n, _ := strconv.Atoi(os.Args[2])
	ticks, _ := strconv.Atoi(os.Args[3])
	dir := "/tmp/prof-run"
	os.RemoveAll(dir)
	f, _ := os.Create("/tmp/cpu.prof")
	r, err := runner.Start(p, runner.Options{Dir: dir, Agents: n, Ticks: int64(ticks)})
	if err != nil {
		panic(err)
	}
	pprof.StartCPUProfile(f)
	go func() {
		for {
			time.Sleep(2 * time.Second)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Println("heap", m.HeapAlloc>>20, "MiB inuse", m.HeapInuse>>20, "stack", m.StackInuse>>20)
		}
	}()
	s, err := r.Wait()
	pprof.StopCPUProfile()
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Deliberations, s.WallSeconds)
}
