package main

import (
	"os"

	"tavernsim/llm/endpoint"
)

// openEndpoints reads the user's file of endpoints, or the one that is looked for without
// a name. Without a file there are none.
func openEndpoints(file string) (to map[string]*endpoint.Endpoint, stop func(), err error) {
	if file == "" {
		dir, _ := os.UserConfigDir() // without a home there is no default file
		file = endpoint.DefaultFile(os.Getenv, dir)
	}
	if file == "" {
		return nil, func() {}, nil
	}
	to, err = endpoint.Load(file, os.Getenv)
	return to, func() {
		for _, e := range to {
			_ = e.Close() // it closes idle connections and cannot fail
		}
	}, err
}
