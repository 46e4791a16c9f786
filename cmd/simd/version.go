package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"tavernsim/internal/show"

	"github.com/spf13/cobra"
)

// versionInfo is what `simd version --json` prints.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// version reads what the build recorded.
func version() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func newVersion(e *env) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Long:  "Print the version of the program.\n\nExit codes: 0 printed, 2 usage.",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := version()
			if asJSON {
				return show.JSON(e.out, v)
			}
			_, err := fmt.Fprintf(e.out, "simd %s %s %s %s\n", v.Version, v.Revision, v.Go, v.Platform)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return c
}
