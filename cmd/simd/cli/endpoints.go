package cli

import (
	"os"

	"tavernsim/llm/endpoint"
)

// EndpointsFile is the user's file of endpoints: the given one, or the one that is looked
// for without a name; "" = there is none.
func EndpointsFile(given string) string {
	if given != "" {
		return given
	}
	dir, _ := os.UserConfigDir() // without a home there is no default file
	return endpoint.DefaultFile(os.Getenv, dir)
}

// OpenEndpoints reads the user's file of endpoints. Without a file there are none.
func OpenEndpoints(given string) (to map[string]*endpoint.Endpoint, stop func(), err error) {
	file := EndpointsFile(given)
	if file == "" {
		return nil, func() {}, nil
	}
	to, err = endpoint.Load(file, os.Getenv)
	return to, func() { endpoint.CloseAll(to) }, err
}
