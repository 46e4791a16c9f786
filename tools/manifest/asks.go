package manifest

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"tavernsim/protocol"
)

// Asks are the permissions that nobody has without an operator's grant, sorted: the needs
// of the tool, and the server that its type names (typeRow).
func (t *Tool) Asks() []string {
	list := asked(t.Needs)
	if of := typeOf(t.Implementation.Type).server; of != nil {
		if server := of(t); server != "" {
			list = append(list, "net:"+Host(server))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Servers are the servers that a program of the tool may reach, "host:port", sorted.
func (t *Tool) Servers() (list []string) {
	for _, need := range asked(t.Needs) {
		if server, ok := strings.CutPrefix(need, "net:"); ok {
			list = append(list, server)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// CheckServers finds what is wrong with the needs of a program that stays.
func CheckServers(needs []string) []Fault {
	c := checker{tool: &Tool{}}
	c.program(needs)
	return c.faults
}

// program checks the needs of a program that stays: servers, and to be run at all.
func (c *checker) program(needs []string) {
	for i, need := range needs {
		switch {
		case need == Exec:
		case !strings.HasPrefix(need, "net:"):
			c.fault(at("needs", strconv.Itoa(i)), "remove it", "%q: a program in the sandbox may need servers, net:HOST:PORT, and leave to run, exec", protocol.Short(need, 80))
		default:
			c.need(strconv.Itoa(i), need)
		}
	}
}

// Asks are those of a server.
func (s *Server) Asks() []string {
	list := asked(s.Needs)
	if u, err := url.Parse(s.URL); err == nil && s.URL != "" {
		list = append(list, "net:"+Host(hostPort(u)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func asked(needs []string) (list []string) {
	for _, need := range needs {
		if server, ok := strings.CutPrefix(need, "net:"); ok {
			need = "net:" + Host(server)
		}
		if !strings.HasPrefix(need, callsTool) { // it bounds what the workflow may do anyway
			list = append(list, need)
		}
	}
	return list
}

// Host writes a host, perhaps with a port, in the one way in which hosts are compared.
func Host(text string) string {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return strings.TrimSuffix(strings.ToLower(text), ".")
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return net.JoinHostPort(a.Unmap().String(), port)
	}
	return net.JoinHostPort(strings.TrimSuffix(strings.ToLower(host), "."), port)
}

// names reports whether needs have a server, "host:port".
func names(needs []string, server string) bool {
	return slices.ContainsFunc(needs, func(need string) bool {
		written, ok := strings.CutPrefix(need, "net:")
		return ok && Host(written) == Host(server)
	})
}

// hostPort is the server of an address, with the port that its scheme stands for.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}
